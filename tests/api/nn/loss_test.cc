// Values of torch.nn.functional 1.13 for ramps, and their gradients.
#include <oarlock/nn/loss.h>

#include "api/nn/ramp.h"

namespace oarlock::nn {
namespace {

Tensor weights() { return Tensor::of<double>({0.5, 1, 2, 0.25}, {4}); }
void expect_loss(Loss&& loss, const Tensor& label, const std::vector<double>& want, const std::vector<double>& dx,
                 Tensor x = ramp({3, 4})) {
  SCOPED_TRACE(loss.to_string());
  x.set_requires_grad();
  Tensor y = loss(x, label);
  expect_near(y, want, 1e-9);
  sum(y).backward();
  expect_near(x.grad(), dx, 1e-9);
}
TEST(Losses, CrossEntropyEqualsTorch) {
  Tensor label = Tensor::of<int64_t>({1, -100, 3}, {3});
  expect_loss(CrossEntropyLoss(), label, {1.10856621},
              {0.05181130522, -0.2018465243, 0.109684534, 0.04035068508, 0, 0, 0, 0, 0.1172695821, 0.04314106832,
               0.2482597072, -0.4086703576});
  expect_loss(CrossEntropyLoss({.weight = weights(), .label_smoothing = 0.1}), label, {0.8845486186},
              {0.0723799753, -0.2659359737, 0.1343984091, 0.05915758928, 0, 0, 0, 0, 0.04980748686, 0.002001944846,
               0.08661245069, -0.1384218824});
  expect_loss(CrossEntropyLoss({.reduction = "none"}), label, {0.5169997254, 0, 1.700132694},
              {0.1036226104, -0.4036930486, 0.219369068, 0.08070137016, 0, 0, 0, 0, 0.2345391642, 0.08628213665,
               0.4965194145, -0.8173407153});
  expect_loss(CrossEntropyLoss({.weight = weights(), .soft_label = true, .label_smoothing = 0.2}),
              softmax(ramp({3, 4}, 5)), {1.23825605},
              {0.002994417133, 0.02805314589, -0.02601539483, -0.0050321682, 0.09347016424, -0.08960220073,
               -0.069298378, 0.06543041449, 0.01185431423, -0.01404344755, -0.05176878606, 0.05395791938});
  CrossEntropyLoss along({.axis = 1});
  expect_near(along(ramp({1, 3, 2}), Tensor::of<int64_t>({2, 0}, {1, 2})), {0.4399638038}, 1e-9);
  expect_near(along(ramp({1, 3, 2}), Tensor::of<int64_t>({2, 0}, {1, 1, 2})), {0.4399638038}, 1e-9);
}
TEST(Losses, OthersEqualTorch) {
  expect_loss(NLLLoss(weights()), Tensor::of<int64_t>({1, 2, 3}, {3}), {0.2692307692},
              {0, -0.3076923077, 0, 0, 0, 0, -0.6153846154, 0, 0, 0, 0, -0.07692307692});
  Tensor t = ramp({3, 4}, 5);
  expect_loss(MSELoss(), t, {0.9166666667},
              {0, 0.08333333333, 0.1666666667, -0.2083333333, 0.3333333333, -0.04166666667, 0.04166666667, 0.125, -0.25,
               -0.1666666667, -0.08333333333, 0});
  expect_loss(L1Loss("sum"), t, {9}, {0, 1, 1, -1, 1, -1, 1, 1, -1, -1, -1, 0});
  expect_loss(SmoothL1Loss("mean", 0.5), t, {0.2760416667},
              {0, 0.04166666667, 0.04166666667, -0.04166666667, 0.04166666667, -0.02083333333, 0.02083333333,
               0.04166666667, -0.04166666667, -0.04166666667, -0.04166666667, 0});
  Tensor b = cast(greater(t, full({}, 0, DType::f64)), DType::f64), p = sigmoid(ramp({3, 4}));
  expect_near(BCELoss()(p, b), {0.6809483769}, 1e-9);
  expect_near(BCELoss(weights())(p, b), {0.5347629434}, 1e-9);
  expect_near(BCEWithLogitsLoss()(ramp({3, 4}), b), {0.6809483769}, 1e-9);
  expect_near(BCEWithLogitsLoss(weights(), "mean", weights() + weights())(ramp({3, 4}), b), {0.8387153844}, 1e-9);
  Tensor soft = softmax(ramp({3, 4}, 5)), log_x = log_softmax(ramp({3, 4}));
  expect_near(KLDivLoss("batchmean")(log_x, soft), {0.256235962}, 1e-9);
  expect_near(KLDivLoss("mean", true)(log_x, log(soft)), {0.06405899051}, 1e-9);
}
TEST(Losses, WrongUseIsRefused) {
  EXPECT_ERROR(MSELoss("median"), "reduction is \"median\"");
  EXPECT_ERROR(KLDivLoss("median"), "batchmean");
  EXPECT_ERROR(CrossEntropyLoss({.label_smoothing = 2}), "label_smoothing is 2");
  EXPECT_ERROR(SmoothL1Loss("mean", 0), "delta is 0");
  Tensor x = full({2, 3}, 0);
  EXPECT_ERROR(MSELoss()(x), "MSELoss: takes input and label, given 1 tensors");
  EXPECT_ERROR(CrossEntropyLoss({.axis = 2})(x, Tensor::of<int64_t>({0, 1}, {2})), "axis 2 is out of range");
  EXPECT_ERROR(CrossEntropyLoss({.soft_label = true})(x, full({2, 2}, 0)),
               "soft labels have shape [2, 2], the input [2, 3]");
  EXPECT_TRUE(CrossEntropyLoss({.weight = weights()}).state_dict().empty());
  CrossEntropyLoss moved({.weight = weights()});
  moved.to(DType::f32);
  EXPECT_EQ(moved.buffers()[0].dtype(), DType::f32);
}

}  // namespace
}  // namespace oarlock::nn
