#include <oarlock/nn/conv.h>

#include <oarlock/nn/padding.h>

#include "api/src/nn/ramp.h"

namespace oarlock::nn {
namespace {

TEST(Convolutions, EqualTorch) {
  Conv1D one(2, 2, 3, {.stride = 2, .padding = 1});
  expect_torch(fill(one), ramp({1, 2, 5}), {1, 2, 3}, {-0.8125, 0.5, 0.0625, -1.4375, -0.375, -0.0625},
               {{-0.25, 0.375, 0.1875, 0.5625, -0.75, -0.25, 0.4375, 0.25, 0.75, -0.625},
                {1.5, -0.3125, -1.1875, -0.5625, 1.5, 0.3125, -1.4375, -0.25, 1.375, 0.9375, -1.0625, -0.25},
                {-0.5, -0.25}});
  Conv2D groups(2, 4, {2, 1}, {.padding = {1, 0}, .dilation = {2, 1}, .groups = 2});
  expect_torch(fill(groups), ramp({1, 2, 3, 2}), {1, 4, 3, 2},
               {-0.1875, -1.4375, 1,     -1.125, -0.625, -0.125, -1.4375, -0.6875, -2.125, -0.9375, -1.1875, -1.4375,
                0.75,    0.75,    -0.25, 1.5,    0.5,    -0.5,   -0.1875, -0.9375, 1.375,  -1.125,  0.25,    1.25});
  Conv3D three(1, 1, 2);
  expect_torch(fill(three), ramp({1, 1, 2, 2, 3}), {1, 1, 1, 1, 2}, {1, -0.6875});
}
TEST(Convolutions, PaddingModesEqualTorch) {
  Conv2D same(1, 1, 2, {.padding = "same", .bias_attr = false});
  expect_torch(fill(same), ramp({1, 1, 2, 3}), {1, 1, 2, 3}, {0.875, -0.0625, -0.125, 1.625, -0.5, 0});
  Conv2D reflect(1, 1, 3, {.padding = 1, .padding_mode = "reflect", .bias_attr = false});
  expect_torch(fill(reflect), ramp({1, 1, 2, 3}), {1, 1, 2, 3}, {-4.4375, 4.75, -2.1875, -4.375, 4.8125, -2.125});
  Conv2D circular(1, 1, 3, {.padding = 1, .padding_mode = "circular", .bias_attr = false});
  expect_torch(fill(circular), ramp({1, 1, 2, 3}), {1, 1, 2, 3}, {-2.1875, 4.75, -2.1875, -2.125, 4.8125, -2.125});
}
TEST(Convolutions, TransposedEqualTorch) {
  Conv1DTranspose one(2, 2, 3, {.stride = 2, .padding = 1, .output_padding = 1});
  expect_torch(fill(one), ramp({1, 2, 3}), {1, 2, 6},
               {-1.6875, -2.0625, 1.8125, -0.5625, -0.1875, -0.4375, -2.125, -3.0625, 0.5, -1.9375, -1, -1.25},
               {{-1.6875, 0.0625, -0.25, -1.1875, -0.6875, -0.25},
                {1.0625, -0.9375, 0.3125, -0.0625, 2.4375, -0.4375, 0.75, -0.375, -0.0625, 0, 2.1875, -0.25},
                {-0.75, 0.25}});
  Conv2DTranspose two(2, 4, 2, {.stride = 2, .groups = 2});
  expect_torch(fill(two), ramp({1, 2, 1, 2}), {1, 4, 2, 4},
               {-0.25, -1.125, -1.125, 1.0625, -0.625,  -0.125,  -0.1875, -1.4375, -1.75,  -1.25, 0,
                -1.25, -0.75,  -1.625, -2.5,   -0.3125, 0.6875,  0.4375,  0.9375,  1.6875, 0.875, 0.625,
                0.375, 1.125,  0.3125, 0.0625, -0.9375, -0.1875, -0.1875, 0.25,    0.5625, -0.75});
}
TEST(Convolutions, AnImageWithoutBatch) {
  Conv2D c(1, 2, 3);
  Tensor x = ramp({1, 5, 4}, 7, DType::f32);
  Tensor y = c(x);
  expect_shape(y, {2, 3, 2});
  EXPECT_EQ(values(y), values(c(unsqueeze(x, {0}))));
  Conv3DTranspose t(1, 2, 2, {.stride = {1, 2, 3}});
  expect_shape(t(full({1, 2, 2, 2}, 1)), {2, 3, 4, 5});
}
TEST(Convolutions, Print) {
  EXPECT_EQ(Conv2D(1, 2, 3).to_string(), "Conv2D(1, 2, kernel_size=(3, 3), stride=(1, 1))");
  EXPECT_EQ(Conv2D(2, 4, {3, 5}, {.stride = 2, .padding = {1, 2}, .dilation = 2, .groups = 2, .bias_attr = false})
                .to_string(),
            "Conv2D(2, 4, kernel_size=(3, 5), stride=(2, 2), padding=(1, 2), dilation=(2, 2), groups=2, bias=False)");
  EXPECT_EQ(Conv1DTranspose(1, 2, 3, {.stride = 2, .output_padding = 1}).to_string(),
            "Conv1DTranspose(1, 2, kernel_size=(3,), stride=(2,), output_padding=(1,))");
}
TEST(Convolutions, WrongSettingsAreRefused) {
  EXPECT_ERROR(Conv2D(3, 4, 3, {.groups = 2}),
               "in_channels is 3, out_channels 4, groups 2. Groups have to divide both");
  EXPECT_ERROR(Conv2D(3, 4, {1, 2, 3}), "kernel_size has 3 sizes, there are 2 axes");
  EXPECT_ERROR(Conv2D(3, 4, 0), "kernel_size is 0");
  EXPECT_ERROR(Conv2D(1, 1, 3, {.padding = "full"}), "padding is \"full\"");
  EXPECT_ERROR(Conv2D(1, 1, 3, {.stride = 2, .padding = "same"}), "stride 2");
  EXPECT_ERROR(Conv2D(1, 1, 3, {.padding_mode = "mirror"}), "padding_mode is \"mirror\"");
  EXPECT_ERROR(Conv2D(1, 1, 3, {.weight_attr = false}), "weight_attr is false");
  EXPECT_ERROR(Conv1DTranspose(1, 1, 3, {.stride = 2, .output_padding = 2}), "output_padding is 2");
  EXPECT_ERROR(Conv2D(2, 1, 3)(full({1, 3, 4, 4}, 0)), "Conv2D: in_channels is 2, x has shape [1, 3, 4, 4]");
  EXPECT_ERROR(Conv2D(2, 1, 3)(full({4, 4}, 0)), "x has shape [4, 4], 4 axes are wanted");
}

TEST(Upsample, EqualsTorch) {
  Tensor x = Tensor::of<float>({0, 1, 4, 9, 16, 25}, {1, 1, 2, 3});
  expect_near(Upsample({.scale_factor = {2}})(x),
              {0, 0, 1, 1, 4, 4, 0, 0, 1, 1, 4, 4, 9, 9, 16, 16, 25, 25, 9, 9, 16, 16, 25, 25});
  expect_near(Upsample({.size = {3, 5}})(x), {0, 0, 1, 1, 4, 0, 0, 1, 1, 4, 9, 9, 16, 16, 25});
  expect_near(Upsample({.size = {3, 4}, .mode = "bilinear"})(x),
              {0, 0.625, 2.125, 4, 4.5, 7, 10.75, 14.5, 9, 13.375, 19.375, 25});
  expect_near(Upsample({.scale_factor = {1, 2}, .mode = "bilinear", .align_corners = true})(x),
              {0, 0.4, 0.8, 1.6, 2.8, 4, 9, 11.8, 14.6, 17.8, 21.4, 25});
  expect_near(Upsample({.size = {3, 4}, .mode = "bicubic"})(x),
              {-0.81564, -0.74712, 0.64393, 2.35503, 4.21289, 6.39941, 11.10156, 14.93066, 9.24142, 13.54595, 21.55919,
               27.5063},
              1e-5);
  expect_shape(Upsample({.scale_factor = {1.5}})(full({2, 3, 5}, 0)), {2, 3, 7});
  expect_shape(Upsample({.size = {4, 4}})(full({3, 2, 2}, 0)), {3, 4, 4});
  EXPECT_ERROR(Upsample({}), "neither size nor scale_factor");
  EXPECT_ERROR(Upsample({.size = {2}, .scale_factor = {2}}), "both size and scale_factor");
  EXPECT_ERROR(Upsample({.size = {0}}), "size is 0");
  EXPECT_ERROR(Upsample({.scale_factor = {-1}}), "scale_factor is -1");
  EXPECT_ERROR(Upsample({.size = {2}, .mode = "area"}), "mode is \"area\"");
  EXPECT_ERROR(Upsample({.size = {2, 2, 2}, .mode = "bilinear"}), "3 sizes are given, mode bilinear is for 2");
  EXPECT_ERROR(Upsample({.size = {2}, .mode = "bilinear"})(full({2, 3}, 0)), "x has shape [2, 3]");
}

TEST(Padding, EqualsTorch) {
  Pad2D reflect({1, 2, 0, 1}, "reflect");
  expect_torch(reflect, ramp({1, 1, 2, 3}), {1, 1, 3, 6},
               {1.25, -0.5, 1.25, 0.25, 1.25, -0.5, 1, -0.75, 1, 0, 1, -0.75, 1.25, -0.5, 1.25, 0.25, 1.25, -0.5},
               {{-1, -0.75, -0.5, -0.5, 1, -0.25}});
  Pad2D replicate({1, 2, 0, 1}, "replicate");
  expect_torch(replicate, ramp({1, 1, 2, 3}), {1, 1, 3, 6},
               {-0.5, -0.5, 1.25, 0.25, 0.25, 0.25, -0.75, -0.75, 1, 0, 0, 0, -0.75, -0.75, 1, 0, 0, 0},
               {{0.25, -0.75, -0.25, -1.25, 1.75, -1.75}});
  Pad1D constant({1, 2}, "constant", 0.5);
  expect_torch(constant, ramp({1, 1, 3}), {1, 1, 6}, {0.5, -0.5, 1.25, 0.25, 0.5, 0.5});
  expect_near(Pad1D({2, 1}, "circular")(Tensor::of<float>({1, 2, 3}, {1, 1, 3})), {2, 3, 1, 2, 3, 1});
  expect_shape(Pad3D({1, 0, 0, 2, 0, 3})(full({1, 1, 1, 1, 1}, 0)), {1, 1, 4, 3, 2});
  expect_shape(ZeroPad2D(1)(full({1, 2, 2}, 0)), {1, 4, 4});
  EXPECT_ERROR(Pad2D({1, 2}), "padding has 2 sizes, there are 4 axes");
  EXPECT_ERROR(Pad1D(1, "odd"), "mode is \"odd\"");
}

}  // namespace
}  // namespace oarlock::nn
