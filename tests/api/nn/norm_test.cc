#include <oarlock/nn/norm.h>

#include "api/nn/ramp.h"

namespace oarlock::nn {
namespace {

TEST(BatchNorms, EqualTorch) {
  BatchNorm2D b(2);
  expect_torch(fill(b), ramp({2, 2, 1, 3}), {2, 2, 1, 3},
               {-0.1158284226, -1.268343155, -0.6097633078, -2.210428944, 0.670857887, -0.9755917304, 0.2134615009,
                -0.9390532313, -0.2804733843, -3.033653752, -0.1523669217, -1.798816539},
               {{0.05455485587, -0.1091097117, 0.5018684924, 0.7364405665, -1.472881133, 0.4364079021, 0.3600439579,
                 0.1963793903, -1.003736985, -0.57278314, 1.745631609, -0.8728158043},
                {2.606878561, -0.4116124044},
                {-0.5, 0}},
               1e-8);
  expect_near(b.running_mean, {0.008333333333, -0.01666666667}, 1e-9);
  // torch's 0.9691666667 is 0.9 + 0.1 * variance * 6 / 5.
  double biased = 0.9 + (0.9691666666666667 - 0.9) * 5 / 6;
  expect_near(b.running_var, {biased, biased}, 1e-9);
  EXPECT_EQ(b.num_batches_tracked.item_int(), 1);
  b.eval();
  b.running_var.set_data(Tensor::of<double>({0.9691666666666667, 0.9691666666666667}, {2}));
  expect_torch(b, ramp({1, 2, 1, 2}), {1, 2, 1, 2}, {-0.2418232566, -1.130628439, -0.9114075496, -2.181129239}, {},
               1e-8);
  EXPECT_EQ(b.num_batches_tracked.item_int(), 1);
}
TEST(BatchNorms, StateAndSettings) {
  BatchNorm1D b(3);
  std::string all;
  for (auto& [name, tensor] : b.state_dict()) all += name + " ";
  EXPECT_EQ(all, "weight bias running_mean running_var num_batches_tracked ");
  NamedTensors old = b.state_dict();
  old.pop_back();
  EXPECT_TRUE(b.set_state_dict(old).missing.empty());
  Tensor x = ramp({4, 3}, 7, DType::f32);
  Tensor before = b.running_mean;
  b(x);
  EXPECT_EQ(before.impl(), b.running_mean.impl()) << "handles of the statistics stay theirs";
  expect_near(before, values(mean(x, {0}) * 0.1), 1e-6);
  BatchNorm1D global(3, {.weight_attr = false, .bias_attr = false, .use_global_stats = true});
  expect_near(global(x), values(x), 1e-4);
  EXPECT_TRUE(global.parameters().empty());
  expect_shape(b(full({2, 3, 5}, 1)), {2, 3, 5});
  EXPECT_ERROR(b(full({2, 4}, 1)), "BatchNorm1D: x has shape [2, 4], wants [N, 3, ...] with 2 or 3 axes");
  EXPECT_ERROR(BatchNorm2D(3)(full({2, 3}, 1)), "with 4 axes");
  EXPECT_ERROR(BatchNorm2D(0), "num_features is 0");
  EXPECT_ERROR(BatchNorm2D(1, {.momentum = 2}), "momentum is 2");
  EXPECT_EQ(BatchNorm3D(4).to_string(), "BatchNorm3D(num_features=4, momentum=0.9, epsilon=1e-05)");
}

}  // namespace
}  // namespace oarlock::nn
