#include <oarlock/nn/pooling.h>

#include "api/nn/ramp.h"

namespace oarlock::nn {
namespace {

TEST(Pooling, EqualsTorch) {
  Tensor x = ramp({1, 1, 2, 3});
  MaxPool2D greatest(2, {.stride = 1, .padding = 1});
  expect_torch(greatest, x, {1, 1, 3, 4}, {-0.5, 1.25, 1.25, 0.25, -0.5, 1.25, 1.25, 0.25, -0.75, 1, 1, 0});
  AvgPool2D exclusive(2, {.stride = 1, .padding = 1});
  expect_torch(exclusive, x, {1, 1, 3, 4}, {-0.5, 0.375, 0.75, 0.25, -0.625, 0.25, 0.625, 0.125, -0.75, 0.125, 0.5, 0});
  AvgPool2D inclusive(2, {.stride = 1, .padding = 1, .exclusive = false});
  expect_torch(inclusive, x, {1, 1, 3, 4},
               {-0.125, 0.1875, 0.375, 0.0625, -0.3125, 0.25, 0.625, 0.0625, -0.1875, 0.0625, 0.25, 0});
  expect_shape(MaxPool1D(2)(full({3, 5}, 1)), {3, 2});
  expect_shape(MaxPool1D(2, {.ceil_mode = true})(full({2, 3, 5}, 1)), {2, 3, 3});
  expect_shape(AvgPool3D({1, 2, 3})(full({1, 1, 2, 4, 6}, 1)), {1, 1, 2, 2, 2});
  EXPECT_EQ(MaxPool2D(2).to_string(), "MaxPool2D(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))");
  EXPECT_ERROR(MaxPool2D(2)(full({2}, 1)), "MaxPool2D: x has shape [2], 4 axes are wanted");
}
TEST(Pooling, AdaptiveEqualsTorch) {
  AdaptiveAvgPool2D average({2, 3});
  expect_torch(average, ramp({1, 1, 3, 4}), {1, 1, 2, 3}, {0.4375, 0.125, -0.1875, -0.125, -0.4375, -0.0625},
               {{-0.125, 0.0625, 0, -0.1875, 0, -0.0625, -0.1875, -0.125, 0.125, -0.125, -0.1875, 0.0625}});
  AdaptiveMaxPool2D greatest({2, 3});
  expect_torch(greatest, ramp({1, 1, 3, 4}), {1, 1, 2, 3}, {1.25, 1.25, 0.75, 1, 0.5, 0.75});
  Tensor x = ramp({2, 3, 4, 6});
  EXPECT_EQ(values(AdaptiveAvgPool2D({2, 3})(x)), values(AvgPool2D(2)(x)));
  expect_near(AdaptiveAvgPool2D(1)(x), values(mean(x, {2, 3})), 1e-15);
  expect_shape(AdaptiveAvgPool2D({-1, 1})(x), {2, 3, 4, 1});
  expect_near(AdaptiveMaxPool1D(1)(ramp({1, 1, 5})), {1.25});
  expect_near(AdaptiveAvgPool1D(4)(Tensor::of<float>({1, 3}, {1, 1, 2})), {1, 1, 3, 3});
  expect_shape(AdaptiveAvgPool3D(2)(full({1, 1, 3, 4, 5}, 1)), {1, 1, 2, 2, 2});
  EXPECT_EQ(AdaptiveAvgPool2D({-1, 1}).to_string(), "AdaptiveAvgPool2D(output_size=(-1, 1))");
}

}  // namespace
}  // namespace oarlock::nn
