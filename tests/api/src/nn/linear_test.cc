#include <oarlock/nn/linear.h>

#include "api/near.h"

namespace oarlock::nn {
namespace {

TEST(LinearLayers, LinearOverAnyRank) {
  Linear l(2, 3);
  l.weight = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  l.bias = Tensor::of<float>({0.5, 0, -0.5}, {3});
  expect_near(l(Tensor::of<float>({1, 10}, {2})), {21.5, 43, 64.5});
  expect_shape(l(full({4, 5, 2}, 1)), {4, 5, 3});
  expect_near(l(full({1, 1, 2}, 1)), {3.5, 7, 10.5});
  EXPECT_ERROR(l(full({}, 1)), "Linear: in_features is 2, x has shape []");
  EXPECT_ERROR(Linear(0, 2), "in_features is 0");
  EXPECT_ERROR(Linear(1, 2, false), "weight_attr is false");
  Linear frozen(2, 2, ParamAttr(), [] {
    ParamAttr a(initializer::Constant{3});
    a.trainable = false;
    return a;
  }());
  EXPECT_EQ(values(frozen.bias), (std::vector<double>{3, 3}));
  EXPECT_FALSE(frozen.bias.requires_grad());
  EXPECT_TRUE(frozen.weight.requires_grad());
}
TEST(LinearLayers, EmbeddingWithPadding) {
  Embedding e(4, 2, -1);
  EXPECT_EQ(e.extra_repr(), "4, 2, padding_idx=3");
  expect_near(slice(e.weight.detach(), {3, 0}, {1, 2}), {0, 0});
  Tensor index = Tensor::of<int64_t>({0, 3, 0, 1}, {2, 2});
  Tensor y = e(index);
  expect_shape(y, {2, 2, 2});
  sum(y).backward();
  expect_near(e.weight.grad(), {2, 2, 1, 1, 0, 0, 0, 0});
  EXPECT_ERROR(Embedding(4, 2, 4), "padding_idx is 4, num_embeddings 4");
  EXPECT_ERROR(e(Tensor::of<int64_t>({4}, {1})), "4");
}
TEST(LinearLayers, FlattenAndUnflatten) {
  Tensor x = full({2, 3, 4, 5}, 1);
  expect_shape(Flatten()(x), {2, 60});
  expect_shape(Flatten(0, 1)(x), {6, 4, 5});
  expect_shape(Flatten(-2)(x), {2, 3, 20});
  expect_shape(Flatten()(full({0, 3, 4}, 1)), {0, 12});
  expect_shape(Unflatten(1, {3, -1})(full({2, 6}, 1)), {2, 3, 2});
  EXPECT_ERROR(Flatten(2, 1)(x), "comes after stop_axis");
  EXPECT_ERROR(Flatten(4)(x), "axis 4 is out of range for shape [2, 3, 4, 5]");
  EXPECT_ERROR(Unflatten(1, {4, -1})(full({2, 6}, 1)), "axis 1 has size 6");
}
TEST(LinearLayers, DropoutOnlyInTraining) {
  Generator g(1);
  Dropout drop(0.25, &g);
  Tensor x = full({10000}, 3);
  Tensor y = drop(x);
  int zeros = 0;
  for (double v : values(y)) {
    if (v == 0) ++zeros;
    else EXPECT_NEAR(v, 4, 1e-6);
  }
  EXPECT_NEAR(zeros, 2500, 5 * std::sqrt(10000 * 0.25 * 0.75));
  g.set_seed(1);
  EXPECT_EQ(values(drop(x)), values(y));
  EXPECT_NE(values(drop(x)), values(y));
  drop.eval();
  EXPECT_EQ(drop(x).impl(), x.impl());
  EXPECT_ERROR(Dropout(1.5), "p is 1.5");
}
TEST(LinearLayers, Dropout2dTakesWholeChannels) {
  Generator g(2);
  Dropout2D drop(0.5, &g);
  std::vector<double> v = values(drop(full({8, 16, 3, 3}, 1)));
  int dropped = 0;
  for (size_t c = 0; c < 8 * 16; ++c) {
    for (size_t i = 1; i < 9; ++i) EXPECT_EQ(v[c * 9 + i], v[c * 9]);
    dropped += v[c * 9] == 0;
    EXPECT_TRUE(v[c * 9] == 0 || v[c * 9] == 2);
  }
  EXPECT_NEAR(dropped, 64, 30);
}

}  // namespace
}  // namespace oarlock::nn
