// Networks' ops: published examples, closed forms, extremes, and small inputs on which other runtimes went wrong.
#include <gtest/gtest.h>

#include <cmath>

#include <oarlock/base/autograd.h>
#include <oarlock/base/op.h>
#include <oarlock/base/ops.h>

namespace oarlock {
namespace {

constexpr double kNan = NAN, kInf = INFINITY;
using Values = std::vector<double>;

Values numbers(const Tensor& t) {
  Values out(size_t(t.element_count()));
  if (!out.empty()) cast(t, DType::f64).copy_to_host(out.data());
  return out;
}
std::string text(const Tensor& t) { return to_string(t.shape()); }
Tensor count_up(const Shape& s, double first = 0) {
  return add(reshape(arange(count(s), DType::f64), s), full({}, first, DType::f64));
}
Tensor ones(const Shape& s) { return full(s, 1, DType::f64); }
Tensor f64(const Values& v, const Shape& s) { return Tensor::from_host(v.data(), s, DType::f64); }
Tensor row(const Values& v) { return f64(v, {int64_t(v.size())}); }
void expect(const Tensor& t, const Shape& shape, const Values& want, double within = 0) {
  EXPECT_EQ(text(t), to_string(shape));
  Values got = numbers(t);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else if (std::isinf(want[i]) || within == 0) EXPECT_EQ(got[i], want[i]) << i;
    else EXPECT_NEAR(got[i], want[i], within) << i;
  }
}
std::string complaint(auto f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}
bool says(const std::string& all, std::string_view part) { return all.find(part) != all.npos; }

// ---- convolution: the examples of the ONNX operator document
TEST(Conv, ExamplesOfOnnx) {
  Tensor x = count_up({1, 1, 5, 5}), w = ones({1, 1, 3, 3});
  expect(conv(x, w, {}, {}, {1, 1, 1, 1}), {1, 1, 5, 5},
         {12, 21, 27, 33, 24, 33, 54, 63, 72, 51, 63, 99, 108, 117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84});
  expect(conv(x, w), {1, 1, 3, 3}, {54, 63, 72, 99, 108, 117, 144, 153, 162});
  Tensor tall = count_up({1, 1, 7, 5});
  expect(conv(tall, w, {}, {2}, {1}), {1, 1, 4, 3}, {12, 27, 24, 63, 108, 81, 123, 198, 141, 112, 177, 124});
  expect(conv(tall, w, {}, {2}, {1, 0, 1, 0}), {1, 1, 4, 2}, {21, 33, 99, 117, 189, 207, 171, 183});
}

TEST(Conv, TransposedExamplesOfOnnx) {
  Tensor x = count_up({1, 1, 3, 3}), w = ones({1, 2, 3, 3});
  Values one = {0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8}, both = one;
  both.insert(both.end(), one.begin(), one.end());
  expect(conv_transpose(x, w), {1, 2, 5, 5}, both);
  expect(conv_transpose(count_up({1, 1, 3}), ones({1, 2, 3})), {1, 2, 5}, {0, 1, 3, 3, 2, 0, 1, 3, 3, 2});
  Tensor y = f64({3, 8, 1, 9, 5, 7, 3, 2, 6}, {1, 1, 3, 3}), v = f64({7, 2, 1, 9}, {1, 1, 2, 2});
  expect(conv_transpose(y, v, {}, {}, {}, {2}), {1, 1, 5, 5},
         {21, 56, 13, 16, 2, 63, 35, 67, 10, 14, 24, 22, 76, 76, 21, 9, 5, 88, 45, 63, 3, 2, 33, 18, 54});
  EXPECT_EQ(text(conv_transpose(ones({1, 1, 3, 3}), w, {}, {3, 2}, {}, {}, 1, {1, 1})), "[1, 2, 10, 8]");
  EXPECT_EQ(text(conv_transpose(ones({1, 1, 3, 3}), w, {}, {3, 2}, {1, 2, 1, 2})), "[1, 2, 7, 3]");
}

TEST(Conv, ChannelsAndImagesKeepApart) {
  Tensor x = f64({1, 2, 3, 10, 20, 30}, {1, 2, 3}), w = f64({1, 1, 1, -1}, {2, 1, 2});
  expect(conv(x, w, {}, {}, {}, {}, 2), {1, 2, 2}, {3, 5, -10, -10});
  expect(conv(x, f64({1, 0, 0, 1}, {1, 2, 2}), row({0.5})), {1, 1, 2}, {21.5, 32.5});
  Tensor half = cast(x, DType::f16);
  EXPECT_EQ(conv(half, cast(w, DType::f16), {}, {}, {}, {}, 2).dtype(), DType::f16);
}

TEST(Conv, AnyStrides) {
  Tensor x = count_up({2, 5, 6, 3}), w = count_up({2, 2, 4, 3});  // channels last
  Tensor turned = permute(x, {0, 3, 1, 2}), kernel = permute(w, {2, 3, 0, 1});
  expect(conv(turned, kernel, {}, {1, 2}, {1}), {2, 4, 6, 4},
         numbers(conv(turned.contiguous(), kernel.contiguous(), {}, {1, 2}, {1})));
}

TEST(Conv, OfNothing) {
  Tensor bias = row({1, 2, 3});
  expect(conv(ones({0, 2, 4}), ones({3, 2, 2}), bias), {0, 3, 3}, {});
  expect(conv(ones({1, 0, 3}), ones({3, 0, 2}), bias), {1, 3, 2}, {1, 1, 2, 2, 3, 3});
  expect(conv(ones({1, 2, 3}), ones({0, 2, 2})), {1, 0, 2}, {});
  expect(conv(ones({1, 2, 0}), ones({3, 2, 2}), bias), {1, 3, 0}, {});
  expect(conv(ones({1, 2, 0}), ones({3, 2, 2}), bias, {}, {1}), {1, 3, 1}, {1, 2, 3});
  expect(conv_transpose(ones({1, 2, 0}), ones({2, 3, 2}), bias), {1, 3, 0}, {});
  expect(conv_transpose(ones({1, 0, 2}), ones({0, 3, 2}), bias), {1, 3, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3});
}

TEST(Conv, Complaints) {
  auto wrong = [](const Shape& x, const Shape& w, Integers padding = {}, int64_t groups = 1) {
    return complaint([&] { conv(full(x, 1), full(w, 1), {}, {}, padding, {}, groups); });
  };
  EXPECT_TRUE(says(wrong({1, 3, 4, 4}, {2, 2, 3, 3}), "C/groups disagrees: x is [1, 3, 4, 4]"));
  EXPECT_TRUE(
      says(wrong({1, 4, 4}, {3, 2, 1}, {}, 2), "O is not a multiple of groups: w is [3, 2, 1] (O=3), groups=2"));
  EXPECT_TRUE(says(wrong({1, 1, 2, 9}, {1, 1, 3, 3}), "a window of 3 does not fit into 2 along axis 2: x is"));
  EXPECT_TRUE(says(wrong({1, 1, 4}, {1, 1, 3, 3}), "rank disagrees"));
  EXPECT_TRUE(says(wrong({1, 1, 4, 4}, {1, 1, 3, 3}, {1, 1, 1}), "Give 1 or 2, or 4 for beginnings and ends"));
  EXPECT_TRUE(says(wrong({1, 1, 4}, {1, 1, 0}), "no taps"));
  EXPECT_TRUE(says(complaint([] {
                     conv_input_gradient(full({1, 1, 4}, 1), full({1, 1, 2}, 1), {6});
                   }),
                   "number of windows along axis 2 disagrees"));
  EXPECT_TRUE(says(complaint([] {
                     conv_transpose(full({1, 1, 4}, 1), full({1, 1, 2}, 1), {}, {}, {}, {}, 1, {1});
                   }),
                   "output_padding 1 is less than neither stride 1 nor dilation 1"));
}

// ---- pooling
TEST(Pool, AWindowThatStartsBehindIsDropped) {
  EXPECT_EQ(text(max_pool(ones({1, 2, 3, 6, 5}), {3}, {3}, {1}, {}, true)), "[1, 2, 2, 3, 2]");
  EXPECT_EQ(text(max_pool(ones({1, 3, 2, 2}), {3}, {3}, {1}, {}, true)), "[1, 3, 1, 1]");
  EXPECT_EQ(text(avg_pool(ones({1, 1, 6, 7}), {1}, {2}, {}, {}, true)), "[1, 1, 3, 4]");
}

TEST(Pool, WhatReachesOverThePaddingIsNotCounted) {
  Tensor x = count_up({1, 1, 4, 4}, 1);
  expect(avg_pool(x, {3}, {2}, {1}, {}, true, true), {1, 1, 3, 3},
         {14.0 / 9, 30.0 / 9, 2, 57.0 / 9, 11, 6, 4.5, 7.5, 4}, 1e-15);
  expect(avg_pool(x, {3}, {2}, {1}, {}, true, false), {1, 1, 3, 3}, {3.5, 5, 6, 9.5, 11, 12, 13.5, 15, 16});
}

TEST(Pool, PaddedAtTheEndOnly) {
  Tensor x = count_up({1, 1, 3, 3}, 1);
  expect(avg_pool(x, {2}, {2}, {0, 0, 1, 1}), {1, 1, 2, 2}, {3, 4.5, 7.5, 9});
  expect(avg_pool(x, {2}, {2}, {0, 0, 1, 1}, {}, false, true), {1, 1, 2, 2}, {3, 2.25, 3.75, 2.25});
  expect(max_pool(x, {2}, {2}, {0, 0, 1, 1}), {1, 1, 2, 2}, {5, 6, 8, 9});
}

TEST(Pool, ExamplesOfOnnx) {
  Tensor x = count_up({1, 1, 5, 5}, 1);
  expect(max_pool(x, {5}, {1}, {2}), {1, 1, 5, 5},
         {13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25});
  expect(max_pool(x, {2}, {2}), {1, 1, 2, 2}, {7, 9, 17, 19});
  expect(max_pool(count_up({1, 1, 4, 4}, 1), {2}, {1}, {}, {2}), {1, 1, 2, 2}, {11, 12, 15, 16});
  expect(avg_pool(x, {5}, {1}, {2}), {1, 1, 5, 5},
         {7,    7.5, 8,    8.5, 9,    9.5, 10,   10.5, 11,   11.5, 12,   12.5, 13,
          13.5, 14,  14.5, 15,  15.5, 16,  16.5, 17,   17.5, 18,   18.5, 19});
}

TEST(Pool, MaximaOfEveryKind) {
  expect(max_pool(f64({1, kNan, 3, 4, 5}, {1, 1, 5}), {2}), {1, 1, 4}, {kNan, kNan, 4, 5});
  expect(max_pool(f64({kNan, kNan, -kInf}, {1, 1, 3}), {3}), {1, 1, 1}, {kNan});
  expect(max_pool(f64({-kInf, -kInf}, {1, 1, 2}), {2}), {1, 1, 1}, {-kInf});
  Tensor bytes = Tensor::of<int8_t>({-128, -3, 127, 5}, {1, 1, 4});
  expect(max_pool(bytes, {2}, {2}, {1}), {1, 1, 3}, {-128, 127, 5});
  expect(max_pool(ones({1, 1, 1}), {2}, {1}, {1}, {2}), {1, 1, 1}, {-kInf});  // both taps in the padding
  expect(avg_pool(ones({1, 1, 1}), {2}, {1}, {1}, {2}), {1, 1, 1}, {0});
}

TEST(Pool, TheFirstOfEqualsGetsTheGradient) {
  Tensor x = f64({2, 2, 1, 2, 0, -1, kNan, kNan}, {1, 1, 8}).set_requires_grad();
  sum(max_pool(x, {4}, {4})).backward();
  expect(x.grad(), {1, 1, 8}, {1, 0, 0, 0, 0, 0, 1, 0});
  Tensor alone = ones({1, 1, 1}).set_requires_grad();  // a window of padding alone has no element to give it to
  sum(max_pool(alone, {2}, {1}, {1}, {2})).backward();
  expect(alone.grad(), {1, 1, 1}, {0});
}

TEST(Pool, Adaptive) {
  Tensor x = count_up({1, 1, 7});
  expect(adaptive_avg_pool(x, {3}), {1, 1, 3}, {1, 3, 5});
  expect(adaptive_max_pool(x, {3}), {1, 1, 3}, {2, 4, 6});
  expect(adaptive_avg_pool(x, {1}), {1, 1, 1}, {3});
  expect(adaptive_max_pool(f64({1, kInf, 2, kNan, 3}, {1, 1, 5}), {2}), {1, 1, 2}, {kInf, kNan});
  expect(adaptive_avg_pool(f64({1, kInf, 2, 4}, {1, 1, 4}), {3}), {1, 1, 3}, {kInf, kInf, 3});  // infinity stays inside
  EXPECT_EQ(text(adaptive_avg_pool(ones({2, 3, 5, 4}), {2, 0})), "[2, 3, 2, 0]");
  expect(adaptive_avg_pool(ones({1, 1, 0}), {2}), {1, 1, 2}, {0, 0});
  expect(adaptive_max_pool(ones({1, 1, 0}), {2}), {1, 1, 2}, {-kInf, -kInf});
}

TEST(Pool, Complaints) {
  EXPECT_TRUE(says(complaint([] { max_pool(full({1, 1, 2, 2}, 1), {3}); }), "a window of 3 does not fit into 2"));
  EXPECT_TRUE(says(complaint([] { avg_pool(full({1, 1, 2, 2}, 1), {1, 1, 1}); }), "kernel has 3 entries"));
  EXPECT_TRUE(says(complaint([] { max_pool(full({1, 1, 2}, 1), {}); }), "kernel has 0 entries"));
  EXPECT_TRUE(says(complaint([] { max_pool(full({1, 1, 2}, 1), {0}); }), "kernel"));
  EXPECT_TRUE(says(complaint([] { adaptive_avg_pool(full({1, 1, 2, 2}, 1), {1}); }), "size has 1 entries"));
}

// ---- normalisation
TEST(Norm, BatchStatistics) {
  Tensor x = f64({1, 2, 3, 4, 10, 30}, {3, 2});  // channel 0: 1 3 10, channel 1: 2 4 30
  auto r = batch_norm(x, row({0, 100}), row({1, 1}), {}, {}, true, 0.5, 0);
  expect(r.new_mean, {2}, {7.0 / 3, 56}, 1e-14);
  expect(r.new_var, {2}, {(1 + 134.0 / 9) / 2, (1 + 488.0 / 3) / 2}, 1e-13);
  double s = std::sqrt(134.0 / 9);
  EXPECT_NEAR(numbers(r.out)[0], (1 - 14.0 / 3) / s, 1e-14);
  auto fixed = batch_norm(x, row({1, 2}), row({4, 9}), row({2, 3}), row({0.5, 0}), false, 0.9, 0);
  expect(fixed.out, {3, 2}, {0.5, 0, 2.5, 2, 9.5, 28});
  expect(fixed.new_mean, {2}, {1, 2});
  expect(fixed.new_var, {2}, {4, 9});
}

TEST(Norm, WithoutElementsStatisticsStay) {
  auto r = batch_norm(ones({0, 2, 3}), row({1, 2}), row({3, 4}));
  expect(r.out, {0, 2, 3}, {});
  expect(r.new_mean, {2}, {1, 2});
  expect(r.new_var, {2}, {3, 4});
}

TEST(Norm, HalfPrecisionKeepsItsStatisticsInFull) {
  // 2049 and 2051 are 2048 and 2052 in f16; a mean in f16 would be off by more than their deviation.
  Tensor x = Tensor::of<float>({2048, 2050, 2052, 2046}, {1, 4});
  Tensor out = layer_norm(cast(x, DType::f16));
  EXPECT_EQ(out.dtype(), DType::f16);
  double s = std::sqrt(5);
  expect(out, {1, 4}, {-1 / s, 1 / s, 3 / s, -3 / s}, 1e-3);
  Tensor large = layer_norm(cast(Tensor::of<float>({60000, -60000}, {2}), DType::f16));  // squares are above 65504
  expect(large, {2}, {1, -1});
  expect(rms_norm(cast(Tensor::of<float>({60000, -60000}, {2}), DType::f16)), {2}, {1, -1});
  Tensor weights = Tensor::of<float>({2, 2}, {2});  // a scale of another float dtype
  EXPECT_EQ(layer_norm(cast(weights, DType::bf16), weights).dtype(), DType::bf16);
}

TEST(Norm, OfEqualElements) {
  expect(layer_norm(full({2, 3}, 7, DType::f64), row({1, 2, 3}), row({4, 5, 6})), {2, 3}, {4, 5, 6, 4, 5, 6});
  expect(rms_norm(full({2, 2}, 0, DType::f64)), {2, 2}, {0, 0, 0, 0});
  expect(group_norm(full({1, 4}, 3, DType::f64), 2), {1, 4}, {0, 0, 0, 0});
  EXPECT_TRUE(says(complaint([] { group_norm(full({1, 4}, 3), 3); }), "C is not a multiple of groups"));
}

// ---- attention
TEST(Attention, ARowThatLooksNowhereIsZero) {
  for (bool causal : {false, true})
    for (bool numbers_as_mask : {false, true}) {
      Tensor q = count_up({2, 2, 3}).set_requires_grad(), k = count_up({2, 2, 3}, 1).set_requires_grad(),
             v = count_up({2, 2, 2}, 2).set_requires_grad();
      Tensor may = Tensor::of<bool>({false, false, true, true}, {2, 2}), mask = may;
      if (numbers_as_mask) mask = where(may, full({}, 0, DType::f64), full({}, -kInf, DType::f64));
      Tensor out = attention(q, k, v, mask, causal);
      Values got = numbers(out);
      for (size_t i : {0, 1, 4, 5}) EXPECT_EQ(got[i], 0) << i;
      for (double x : got) EXPECT_TRUE(std::isfinite(x));
      sum(out).backward();
      for (const Tensor& t : {q, k, v})
        for (double x : numbers(t.grad())) EXPECT_TRUE(std::isfinite(x)) << causal << numbers_as_mask;
      EXPECT_EQ(numbers(q.grad())[0], 0);
    }
  Tensor bare = softmax(row({-kInf, -kInf}));
  expect(bare, {2}, {kNan, kNan});
}

TEST(Attention, OfNothing) {
  expect(attention(ones({2, 3}), ones({0, 3}), ones({0, 2})), {2, 2}, {0, 0, 0, 0});
  expect(attention(ones({2, 0}), ones({2, 0}), f64({1, 3}, {2, 1})), {2, 1}, {2, 2});
  EXPECT_EQ(text(attention(ones({0, 3}), ones({2, 3}), ones({2, 5}))), "[0, 5]");
}

TEST(Attention, ValuesBroadcastOverHeads) {
  Tensor q = count_up({2, 3, 2, 4}), k = count_up({1, 1, 5, 4}), v = count_up({2, 1, 5, 2});
  Tensor scale = full({}, 0.01, DType::f64);
  Tensor want = attention(multiply(q, scale), expand(k, {2, 3, 5, 4}), expand(v, {2, 3, 5, 2}));
  expect(attention(multiply(q, scale), k, v), {2, 3, 2, 2}, numbers(want));
}

TEST(Attention, LargeScores) {
  Tensor q = full({1, 1}, 1000, DType::f64), k = f64({1000, 0}, {2, 1}), v = f64({3, 5}, {2, 1});
  expect(attention(q, k, v), {1, 1}, {3});
  Tensor h = cast(full({1, 1}, 200), DType::f16);
  expect(attention(h, cast(f64({200, 0}, {2, 1}), DType::f16), cast(v, DType::f16)), {1, 1}, {3});
}

// ---- activations far from 0, forward and backward
TEST(Activation, FarFromZero) {
  struct Far {
    const char* op;
    double low, high, slope_low, slope_high;  // at -1000 and at 1000
  };
  const double selu_low = -1.0507009873554805 * 1.6732632423543772;
  for (DType t : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (Far f : {Far{"sigmoid", 0, 1, 0, 0}, Far{"log_sigmoid", -1000, 0, 1, 0}, Far{"silu", 0, 1000, 0, 1},
                  Far{"gelu", 0, 1000, 0, 1}, Far{"elu", -1, 1000, 0, 1}, Far{"celu", -1, 1000, 0, 1},
                  Far{"selu", selu_low, 1050.7009873554805, 0, 1.0507009873554805}, Far{"softplus", 0, 1000, 0, 1},
                  Far{"softsign", -1000.0 / 1001, 1000.0 / 1001, 1 / 1002001.0, 1 / 1002001.0},
                  Far{"mish", 0, 1000, 0, 1}, Far{"hard_sigmoid", 0, 1, 0, 0}, Far{"hard_swish", 0, 1000, 0, 1},
                  Far{"hard_tanh", -1, 1, 0, 0}, Far{"relu6", 0, 6, 0, 0}, Far{"leaky_relu", -10, 1000, 0.01, 1}}) {
      Tensor x = cast(row({-1000, 1000}), t).set_requires_grad();
      Tensor out = call_op(f.op, std::vector<Tensor>{x})[0];
      double eps = t == DType::f64 ? 1e-15 : t == DType::f32 ? 1e-6 : t == DType::f16 ? 2e-3 : 1e-2;
      Values got = numbers(out);
      EXPECT_NEAR(got[0], f.low, eps * (std::fabs(f.low) + 1e-9)) << f.op;
      EXPECT_NEAR(got[1], f.high, eps * std::fabs(f.high)) << f.op;
      sum(out).backward();
      Values slope = numbers(x.grad());
      EXPECT_NEAR(slope[0], f.slope_low, eps * (1e-5 + f.slope_low)) << f.op;
      EXPECT_NEAR(slope[1], f.slope_high, eps * (1e-5 + f.slope_high)) << f.op;
    }
  Tensor x = cast(row({-1000, 1000}), DType::f16).set_requires_grad();  // whose square is no f16
  Tensor out = gelu(x, "tanh");
  expect(out, {2}, {0, 1000});
  sum(out).backward();
  expect(x.grad(), {2}, {0, 1});
}

TEST(Activation, SmallNumbersKeepTheirDigits) {
  EXPECT_DOUBLE_EQ(sigmoid(row({-50})).item(), std::exp(-50) / (1 + std::exp(-50)));
  EXPECT_DOUBLE_EQ(softplus(row({-50})).item(), std::log1p(std::exp(-50)));
  EXPECT_DOUBLE_EQ(log_sigmoid(row({50})).item(), -std::log1p(std::exp(-50)));
  EXPECT_DOUBLE_EQ(elu(row({-1e-12})).item(), std::expm1(-1e-12));
}

TEST(Activation, NanStays) {
  for (const char* op : {"sigmoid", "log_sigmoid", "silu", "gelu", "elu", "celu", "selu", "softplus", "softsign",
                         "mish", "hard_sigmoid", "hard_swish", "hard_tanh", "relu6", "leaky_relu", "thresholded_relu"})
    EXPECT_TRUE(std::isnan(call_op(op, std::vector<Tensor>{row({kNan})})[0].item())) << op;
}

TEST(Activation, GluHalvesItsAxis) {
  expect(glu(f64({1, 2, 0, 0, 3, 4, 1000, -1000}, {2, 4})), {2, 2}, {0.5, 1, 3, 0});
  EXPECT_EQ(text(glu(ones({4, 3}), 0)), "[2, 3]");
  EXPECT_TRUE(says(complaint([] { glu(full({3}, 1)); }), "3"));
}

// ---- losses
TEST(Loss, Reductions) {
  Tensor x = row({1, 2, 4}), t = row({1, 0, 1});
  expect(mse_loss(x, t, "none"), {3}, {0, 4, 9});
  expect(mse_loss(x, t), {}, {13.0 / 3});
  expect(l1_loss(x, t, "sum"), {}, {5});
  expect(smooth_l1_loss(x, t, 1, "none"), {3}, {0, 1.5, 2.5});
  expect(smooth_l1_loss(x, t, 0, "none"), {3}, {0, 2, 3});
  expect(huber_loss(x, t, 2, "none"), {3}, {0, 2, 4});
  EXPECT_TRUE(says(complaint([&] { mse_loss(x, t, "max"); }), "mean|none|sum"));
  EXPECT_TRUE(std::isnan(mse_loss(ones({0}), ones({0})).item()));
  EXPECT_EQ(mse_loss(ones({0}), ones({0}), "sum").item(), 0);
}

TEST(Loss, BinaryCrossEntropyOfCertainty) {
  Tensor x = row({0, 1, 0, 1}).set_requires_grad(), t = row({0, 1, 1, 0});
  expect(binary_cross_entropy(x, t, "none"), {4}, {0, 0, 100, 100});
  sum(binary_cross_entropy(x, t, "none")).backward();
  for (double d : numbers(x.grad())) EXPECT_TRUE(std::isfinite(d));
  Tensor z = row({1000, -1000, 1000, -1000}).set_requires_grad();
  Tensor loss = binary_cross_entropy_with_logits(z, row({1, 0, 0, 1}), {}, "none");
  expect(loss, {4}, {0, 0, 1000, 1000});
  sum(loss).backward();
  expect(z.grad(), {4}, {0, 0, 1, -1});
}

TEST(Loss, KlOfEqualsIsZero) {
  Tensor p = row({0.25, 0.75, 0});
  expect(kl_div(row({std::log(0.25), std::log(0.75), -5}), p, false, "none"), {3}, {0, 0, 0});
  EXPECT_DOUBLE_EQ(kl_div(full({2, 1}, 0, DType::f64), full({2, 1}, 1, DType::f64), true, "batchmean").item(),
                   std::exp(1));
}

TEST(Loss, OfLabels) {
  Tensor even = full({2, 3, 2}, 0.5, DType::f64), labels = Tensor::of<int64_t>({0, -100, 2, 1}, {2, 2});
  double l = std::log(3);
  expect(cross_entropy_loss(even, labels, {}, 1, -100, 0, "none"), {2, 2}, {l, 0, l, l}, 1e-15);
  EXPECT_NEAR(cross_entropy_loss(even, labels, {}, 1).item(), l, 1e-15);
  EXPECT_NEAR(cross_entropy_loss(even, labels, {}, 1, -100, 0.5).item(), l, 1e-15);  // of even logits: the same
  Tensor ignored = Tensor::of<int32_t>({7, 7}, {2});
  EXPECT_EQ(cross_entropy_loss(ones({2, 3}), ignored, {}, -1, 7, 0, "sum").item(), 0);
  EXPECT_TRUE(std::isnan(cross_entropy_loss(ones({2, 3}), ignored, {}, -1, 7).item()));
  EXPECT_TRUE(says(complaint([&] { cross_entropy_loss(ones({2, 3}), ignored); }), "out of range"));
  EXPECT_TRUE(says(complaint([&] { cross_entropy_loss(ones({2, 3}), labels); }), "rank disagrees"));
  EXPECT_TRUE(says(complaint([&] { nll_loss(ones({2, 3}), ignored, ones({4})); }), "number of classes"));
  EXPECT_EQ(text(nll_loss(ones({0, 3}), Tensor::of<int64_t>({}, {0}), {}, -1, -100, "none")), "[0]");
}

// ---- resizing
TEST(Resize, ExamplesOfOnnx) {
  Tensor x = f64({1, 2, 3, 4}, {1, 1, 2, 2});
  expect(resize(x, {4, 6}, "nearest"), {1, 1, 4, 6},
         {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  expect(resize(x, {4, 4}, "linear"), {1, 1, 4, 4},
         {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  Values corners = numbers(resize(x, {4, 4}, "linear", "align_corners"));
  EXPECT_NEAR(corners[1], 4.0 / 3, 1e-15);
  EXPECT_NEAR(corners[5], 2, 1e-15);
  EXPECT_EQ(corners[15], 4);
  Tensor four = count_up({1, 1, 4, 4}, 1);
  Values cubic = numbers(resize(four, {8, 8}, "cubic"));
  EXPECT_NEAR(cubic[0], 0.47265625, 1e-14);
  EXPECT_NEAR(cubic[1], 0.76953125, 1e-14);
  EXPECT_NEAR(cubic[63], 16.52734375, 1e-13);
}

TEST(Resize, NearestPixelsAreExact) {
  Values got = numbers(resize(count_up({1, 1, 26}), {64}, "nearest", "half_pixel", "round_prefer_ceil"));
  EXPECT_EQ(Values(got.begin() + 30, got.begin() + 35), (Values{12, 12, 13, 13, 14}));
  Values floors = numbers(resize(count_up({1, 1, 3}), {7}, "nearest", "asymmetric", "floor"));
  EXPECT_EQ(floors, (Values{0, 0, 0, 1, 1, 2, 2}));
}

TEST(Resize, ToOne) {
  Tensor x = count_up({1, 1, 4});
  expect(resize(x, {1}, "cubic", "pytorch_half_pixel"), {1, 1, 1}, {0});
  expect(resize(x, {1}, "linear"), {1, 1, 1}, {1.5});
  expect(resize(f64({1, kInf}, {1, 1, 2}), {4}, "nearest"), {1, 1, 4}, {1, 1, kInf, kInf});
  expect(resize(f64({1, kInf, 2}, {1, 1, 3}), {3}, "linear"), {1, 1, 3}, {1, kInf, 2});
  EXPECT_TRUE(says(complaint([] { resize(full({1, 1, 0}, 1), {2}); }), "nothing can't be resized"));
}

TEST(Embedding, PaddingIsZeroAndGetsNoGradient) {
  Tensor w = count_up({3, 2}).set_requires_grad(), index = Tensor::of<int64_t>({2, 0, -1, 1}, {2, 2});
  expect(embedding(index, w), {2, 2, 2}, {4, 5, 0, 1, 4, 5, 2, 3});
  Tensor out = embedding(index, w, -1);
  expect(out, {2, 2, 2}, {0, 0, 0, 1, 0, 0, 2, 3});
  sum(out).backward();
  expect(w.grad(), {3, 2}, {1, 1, 1, 1, 0, 0});
  EXPECT_TRUE(says(complaint([&] { embedding(index, w, 3); }), "padding_index 3 is none of the rows"));
}

}  // namespace
}  // namespace oarlock
