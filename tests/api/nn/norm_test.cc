#include <oarlock/nn/norm.h>

#include <cmath>

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

TEST(Norms, EqualTorch) {
  LayerNorm layer({2, 3});
  expect_torch(fill(layer), ramp({2, 2, 3}), {2, 2, 3},
               {-0.01329601157, 0.5393528986, 0.7643148232, 0.9877228, 0.3379265624, 1.25, -0.01329601157, 0.5393528986,
                0.7643148232, 0.9877228, 0.3379265624, 1.25},
               {{0.5395494203, 1.212304314, -0.1782546268, -0.2804794801, -1.411392309, 0.1182726817, 0.4280356255,
                 -0.5688366687, -0.06054459997, -0.1534751051, 0.8250982007, -0.4702774524},
                {1.703463959, 1.073611739, 0.02862964638, -0.3292409333, 0, 0.07157411595},
                {-1.75, 0.75, 0.5, 0.25, 0, -0.25}},
               1e-8);
  GroupNorm group(2, 4);
  expect_torch(
      fill(group), ramp({1, 4, 2}), {1, 4, 2},
      {-0.1385542868, -1.263052061, -0.948795239, -2.555220631, 1.011044126, 0.6897590478, 1.144578092, -0.5421685698},
      {{0.08291853673, 0.458595327, -0.9379472343, 0.3964333705, 0.01035457759, -0.2927818003, 0.1269732482,
        0.1554539745},
       {1.506023805, -0.702811109, -1.104417457, 1.907630153},
       {0.25, -0.25, -0.75, -1.25}},
      1e-8);
  InstanceNorm1D instance(2);
  expect_torch(fill(instance), ramp({1, 2, 4}), {1, 2, 4},
               {-0.1385542868, -1.263052061, -0.6204819044, 0.02208825237, 0.05522063091, -1.551204761, -3.157630153,
                -0.3463857171},
               {{0.2280103058, -0.2850142089, 0.5130192084, -0.4560153054, -1.140038263, 1.282548021, -0.7125355222,
                 0.5700257646},
                {0.8032126959, 0.8032126959},
                {0, -2}},
               1e-8);
}
TEST(Norms, Rms) {  // (3, 4) has the root mean square sqrt(12.5)
  RMSNorm n(2, 0);
  double r = std::sqrt(12.5);
  expect_near(n(Tensor::of<float>({3, 4}, {1, 2})), {3 / r, 4 / r}, 1e-6);
  RMSNorm wide({2, 2}, 0);
  double w = std::sqrt(7.5);
  expect_near(wide(Tensor::of<float>({1, 2, 3, 4}, {1, 2, 2})), {1 / w, 2 / w, 3 / w, 4 / w}, 1e-6);
}
TEST(Norms, PrintAndRefuse) {
  EXPECT_EQ(LayerNorm({2, 3}).to_string(), "LayerNorm(normalized_shape=(2, 3), epsilon=1e-05)");
  EXPECT_EQ(GroupNorm(2, 4).to_string(), "GroupNorm(num_groups=2, num_channels=4, epsilon=1e-05)");
  EXPECT_TRUE(LayerNorm(3, {.weight_attr = false, .bias_attr = false}).parameters().empty());
  EXPECT_ERROR(LayerNorm({2, 3})(full({2, 2}, 1)), "normalized_shape is [2, 3], x has shape [2, 2]");
  EXPECT_ERROR(LayerNorm(3)(full({2, 2}, 1)), "normalized_shape is [3], x has shape [2, 2]");
  EXPECT_ERROR(LayerNorm(0), "normalized_shape is 0");
  EXPECT_ERROR(GroupNorm(3, 4), "num_channels is 4, num_groups 3");
  EXPECT_ERROR(GroupNorm(2, 4)(full({2, 6}, 1)), "num_channels is 4, x has shape [2, 6]");
  EXPECT_ERROR(InstanceNorm2D(3)(full({1, 2, 4, 4}, 1)), "num_features is 3, x has shape [1, 2, 4, 4]");
  expect_shape(InstanceNorm2D(3)(full({3, 4, 4}, 1)), {3, 4, 4});
}

}  // namespace
}  // namespace oarlock::nn
