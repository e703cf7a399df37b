// Values against closed forms and published results, and small inputs on which other runtimes went wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <oarlock/base/autograd.h>
#include <oarlock/base/op.h>
#include <oarlock/base/ops.h>

#include "core/op/attrs.h"

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
Tensor f32(std::initializer_list<float> v) { return Tensor::of<float>(v, {int64_t(v.size())}); }
Tensor f64(std::initializer_list<double> v) { return Tensor::of<double>(v, {int64_t(v.size())}); }
Tensor i32(std::initializer_list<int32_t> v) { return Tensor::of<int32_t>(v, {int64_t(v.size())}); }
Tensor i64(std::initializer_list<int64_t> v) { return Tensor::of<int64_t>(v, {int64_t(v.size())}); }
Tensor count_up(const Shape& s, DType t = DType::f64) { return reshape(arange(count(s), t), s); }

// NaN equals NaN here.
void expect_values(const Tensor& t, const Values& want) {
  Values got = numbers(t);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << i;
    else EXPECT_EQ(got[i], want[i]) << i;
  }
}
std::string complaint(auto f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

// ---- arithmetic
TEST(Values, ArithmeticBroadcasts) {
  Tensor a = reshape(f64({1, 2, 3}), {3, 1}), b = f64({10, 20});
  expect_values(add(a, b), {11, 21, 12, 22, 13, 23});
  expect_values(subtract(a, b), {-9, -19, -8, -18, -7, -17});
  expect_values(multiply(a, b), {10, 20, 20, 40, 30, 60});
  expect_values(divide(b, a), {10, 20, 5, 10, 10.0 / 3, 20.0 / 3});
}

TEST(Values, IntegersWrap) {
  expect_values(add(Tensor::of<int8_t>({127}, {1}), Tensor::of<int8_t>({1}, {1})), {-128});
  expect_values(multiply(i32({INT32_MIN}), i32({-1})), {double(INT32_MIN)});
  expect_values(subtract(Tensor::of<uint8_t>({0}, {1}), Tensor::of<uint8_t>({1}, {1})), {255});
  expect_values(negative(i32({INT32_MIN, 5})), {double(INT32_MIN), -5});
  expect_values(negative(Tensor::of<uint8_t>({1, 0}, {2})), {255, 0});
  EXPECT_EQ(multiply(i64({INT64_MAX}), i64({2})).item_int(), -2);
}

TEST(Values, DivisionOfIntegersIsThatOfFloats) {
  Tensor q = divide(i32({7, -7, 1, 0}), i32({2, 2, 0, 0}));
  EXPECT_EQ(q.dtype(), DType::f32);
  expect_values(q, {3.5, -3.5, kInf, kNan});
}

TEST(Values, FunctionsHaveTheirClosedForms) {
  expect_values(exp(f64({0, 1, -kInf, kInf})), {1, std::numbers::e, 0, kInf});
  expect_values(log(f64({1, 0, -1, kInf})), {0, -kInf, kNan, kInf});
  expect_values(sqrt(f64({4, 2, -1, 0})), {2, std::numbers::sqrt2, kNan, 0});
  expect_values(tanh(f64({0, kInf, -kInf})), {0, 1, -1});
  EXPECT_NEAR(tanh(f64({1})).item(), 0.7615941559557649, 1e-16);  // (e^2-1)/(e^2+1)
  EXPECT_NEAR(erf(f64({1})).item(), 0.8427007929497149, 1e-15);   // Abramowitz and Stegun, table 7.1
  EXPECT_NEAR(erf(f64({0.5})).item(), 0.5204998778130465, 1e-15);
  EXPECT_TRUE(std::signbit(numbers(negative(f64({0})))[0]));
  EXPECT_EQ(exp(cast(f64({1}), DType::f16)).item(), 2.71875);  // e in 11 bits
}

TEST(Values, ComparisonsWithNan) {
  Tensor a = f64({1, 2, kNan, kNan}), b = f64({2, 2, 1, kNan});
  expect_values(equal(a, b), {0, 1, 0, 0});
  expect_values(not_equal(a, b), {1, 0, 1, 1});
  expect_values(less(a, b), {1, 0, 0, 0});
  expect_values(less_equal(a, b), {1, 1, 0, 0});
  expect_values(greater(b, a), {1, 0, 0, 0});
  expect_values(greater_equal(b, a), {1, 1, 0, 0});
  EXPECT_EQ(less(a, b).dtype(), DType::boolean);
}

TEST(Values, MaximumAndMinimumLetNanThrough) {
  Tensor a = f64({kNan, 1, 2, -kInf}), b = f64({1, kNan, 3, kInf});
  expect_values(maximum(a, b), {kNan, kNan, 3, kInf});
  expect_values(minimum(a, b), {kNan, kNan, 2, -kInf});
  expect_values(minimum(i32({INT32_MIN, 4}), i32({3, 2})), {double(INT32_MIN), 2});
  expect_values(relu(f64({-1, 0, 2, kNan, -kInf})), {0, 0, 2, kNan, 0});
}

// A NaN at any place of a row of any length.
TEST(Values, MaxFindsNanAnywhere) {
  expect_values(max(f32({NAN, NAN, NAN, 42})), {kNan});
  for (int n = 1; n <= 33; ++n)
    for (int at = 0; at < n; ++at) {
      std::vector<float> row(size_t(n), 1.0f);
      row[size_t(at)] = NAN;
      ASSERT_TRUE(std::isnan(max(Tensor::from_host(row.data(), {n}, DType::f32)).item())) << n << " " << at;
    }
}

// ---- casts
TEST(Values, CastsTruncateAndSaturate) {
  expect_values(cast(f32({-0.5f, -1.5f, 0.7f}), DType::u32), {0, 0, 0});
  expect_values(cast(f64({1e10, -1e10, kNan, -1.9, kInf}), DType::i32), {2147483647, -2147483648.0, 0, -1, 2147483647});
  expect_values(cast(i32({300, -1}), DType::u8), {44, 255});
  expect_values(cast(f64({0, 0.1, kNan}), DType::boolean), {0, 1, 1});
  expect_values(cast(Tensor::of<bool>({true, false}, {2}), DType::f32), {1, 0});
  expect_values(cast(cast(f64({3.7, -9, 12}), DType::i4), DType::i32), {3, -8, 7});
  expect_values(cast(cast(f64({0.3, 500, -1e9}), DType::f8_e4m3), DType::f32), {0.3125, 448, -448});
}

// ---- reductions
TEST(Values, SumsAndMaximaOverEmptyAxes) {
  Tensor x = full({3, 0, 4}, 1);
  EXPECT_EQ(text(sum(x, {1}, true)), "[3, 1, 4]");
  EXPECT_EQ(text(sum(x, {1})), "[3, 4]");
  expect_values(sum(x, {1}), Values(12, 0));
  expect_values(max(x, {1}), Values(12, -kInf));
  expect_values(sum(full({0, 0}, 1), {0}), {});
  EXPECT_EQ(text(sum(full({0, 0}, 1), {0}, true)), "[1, 0]");
  expect_values(max(full({0}, 1, DType::i16)), {-32768});
  expect_values(max(full({0}, 1, DType::i64)), {-0x1p63});
  expect_values(max(full({0}, 1, DType::u8)), {0});
  expect_values(sum(f64({1, 2, 3}), std::vector<int64_t>{}), {1, 2, 3});  // over no axis
}

TEST(Values, MeansOfEmptyTensorsAreNan) {
  Tensor x = full({2, 0, 4}, 1);
  EXPECT_EQ(text(mean(x, {-1})), "[2, 0]");
  expect_values(mean(x, {1}), Values(8, kNan));
  expect_values(mean(x), {kNan});
  expect_values(mean(count_up({2, 3}), {1}), {1, 4});
}

TEST(Values, ReductionsTakeAnyAxes) {
  Tensor x = count_up({2, 3, 4});
  expect_values(sum(x, {0, 2}), {60, 92, 124});
  expect_values(sum(permute(x, {2, 0, 1}), {0, 1}), {60, 92, 124});
  expect_values(max(x, {1}), {8, 9, 10, 11, 20, 21, 22, 23});
  expect_values(sum_to(x, {3, 1}), {60, 92, 124});
  expect_values(sum(Tensor::of<uint8_t>({200, 100}, {2})), {44});
}

// The reference keeps a double: a million times 0.1f is off by far more in f32.
TEST(Values, LongSumsDoNotDrift) { EXPECT_NEAR(sum(full({1000000}, 0.1f)).item(), 100000.0015, 0.01); }

// ---- shapes
TEST(Values, ReshapeTakesRestAndZero) {
  Tensor x = full({0, 8, 2}, 1);
  EXPECT_EQ(text(reshape(reshape(x, {4, 2, 0}), {0, 0, 4})), "[0, 0, 4]");
  EXPECT_EQ(text(reshape(count_up({4, 6}), {2, -1, 3})), "[2, 4, 3]");
  EXPECT_EQ(complaint([&] {
              reshape(x, {0, -1});
            }),
            "reshape: -1 could be anything beside a size of 0: x is [0, 8, 2] (0 elements), shape is [0, -1]. Give the "
            "size.");
  EXPECT_EQ(complaint([] {
              reshape(count_up({2, 3}), {4, 2});
            }),
            "reshape: shape disagrees: x is [2, 3] (6 elements), shape is [4, 2] (8). Give sizes whose product is 6, "
            "or one -1.");
  EXPECT_EQ(complaint([] {
              reshape(count_up({2, 3}), {4, -1});
            }),
            "reshape: shape disagrees: x is [2, 3] (6 elements), shape is [4, -1], and 6 is not a multiple of 4. Give "
            "sizes that "
            "divide it.");
  EXPECT_NE(complaint([] { reshape(count_up({2, 3}), {-1, -1}); }), "");
}

TEST(Values, ReshapeSharesElementsWhereStridesAllowIt) {
  Tensor x = count_up({2, 3, 4});
  EXPECT_EQ(reshape(x, {6, 4}).data(), x.data());
  Tensor p = permute(x, {1, 0, 2});
  EXPECT_EQ(reshape(p, {3, 2, 2, 2}).data(), x.data());
  Tensor copied = reshape(p, {6, 4});
  EXPECT_NE(copied.data(), x.data());
  expect_values(copied, numbers(p));
  expect_values(reshape(p, {24}), numbers(p));
}

TEST(Values, Views) {
  Tensor x = count_up({2, 3});
  expect_values(permute(x, {1, 0}), {0, 3, 1, 4, 2, 5});
  expect_values(matrix_transpose(x), {0, 3, 1, 4, 2, 5});
  expect_values(expand(f64({1, 2}), {2, 2}), {1, 2, 1, 2});
  expect_values(slice(x, {0, 1}, {2, 2}), {1, 2, 4, 5});
  expect_values(diagonal(count_up({3, 4}), 1), {1, 6, 11});
  expect_values(diagonal(count_up({3, 4}), -1), {4, 9});
  expect_values(windows(count_up({4}), 2), {0, 1, 1, 2, 2, 3});
  expect_values(windows(count_up({6}), 2, 0, 2, 3), {0, 3, 2, 5});
  EXPECT_EQ(text(windows(count_up({2}), 3)), "[0, 3]");
  EXPECT_EQ(slice(x, {1, 1}, {1, 1}).data(), static_cast<double*>(x.data()) + 4);
  EXPECT_EQ(complaint([&] {
              slice(x, {0, 2}, {2, 2});
            }),
            "slice: axis 1 has 3 elements, but starts=2, sizes=2, steps=1: x is [2, 3]. Stay inside it.");
  EXPECT_EQ(
      complaint([&] {
        expand(x, {4, 3});
      }),
      "expand: shape disagrees: x is [2, 3], shape is [4, 3] (2 against 4). Only axes of size 1 can be repeated.");
  EXPECT_EQ(complaint([&] { permute(x, {0}); }),
            "permute: axes has 1 entries, x is [2, 3]. Give all 2 axes in their new order.");
  EXPECT_NE(complaint([&] { permute(x, {0, 0}); }), "");
}

TEST(Values, SlicesWalkBackwards) {
  Tensor x = count_up({2, 5});
  expect_values(slice(x, {1, 4}, {2, 3}, {-1, -2}), {9, 7, 5, 4, 2, 0});
  expect_values(strided_slice(count_up({5}), {-1}, {INT32_MAX}, {}, {-1}), {});
  expect_values(strided_slice(count_up({5}), {-1}, {INT64_MIN}, {}, {-1}), {4, 3, 2, 1, 0});
  EXPECT_EQ(text(strided_slice(count_up({10}), {0}, {5}, {}, {-1})), "[0]");
  expect_values(strided_slice(count_up({10}), {-3}, {100}, {}, {2}), {7, 9});
  expect_values(strided_slice(x, {-100}, {2}, {1}), {0, 1, 5, 6});
  expect_values(strided_slice(count_up({3}), {0}, {3}, {}, {INT64_MAX}), {0});
  expect_values(strided_slice(count_up({3}), {2}, {INT64_MIN}, {}, {INT64_MIN}), {2});
}

TEST(Values, ConcatAndPad) {
  expect_values(concat({full({0}, 1), f32({1, 2})}), {1, 2});
  expect_values(concat({count_up({2, 1}), count_up({2, 2})}, 1), {0, 0, 1, 1, 2, 3});
  EXPECT_EQ(concat({f32({1}), f64({2})}).dtype(), DType::f64);
  expect_values(pad(f64({1, 2}), {1}, {2}, {1}, 9), {9, 1, 9, 2, 9, 9});
  EXPECT_EQ(text(pad(full({0, 2}, 1), {1, 1}, {2, 0}, {3})), "[3, 6]");
  EXPECT_EQ(complaint([] {
              concat({count_up({2, 1}), count_up({3, 2})}, 1);
            }),
            "concat: axis 0 disagrees: xs is [2, 1], operand 1 is [3, 2]. Only axis 1 may differ; expects xs [*_].");
  EXPECT_NE(complaint([] { concat({}); }), "");
}

TEST(Values, SqueezeAndUnsqueeze) {
  Tensor x = count_up({1, 3, 1});
  EXPECT_EQ(text(squeeze(x, {0, -1})), "[3]");
  EXPECT_EQ(text(unsqueeze(x, {0, -1})), "[1, 1, 3, 1, 1]");
  EXPECT_EQ(squeeze(x, {0}).data(), x.data());
  EXPECT_EQ(complaint([&] { squeeze(x, {1}); }),
            "squeeze: size of axis 1 disagrees: x is [1, 3, 1] (size of axis 1=3), not 1; expects x [*S].");
}

// ---- matrices
TEST(Values, Matmul) {
  Tensor a = count_up({2, 3}), b = count_up({3, 2});
  expect_values(matmul(a, b), {10, 13, 28, 40});
  expect_values(matmul(cast(a, DType::i32), cast(b, DType::i32)), {10, 13, 28, 40});
  expect_values(matmul(cast(a, DType::bf16), cast(b, DType::bf16)), {10, 13, 28, 40});
  expect_values(matmul(matrix_transpose(b), matrix_transpose(a)), {10, 28, 13, 40});
  expect_values(matmul(full({2, 0}, 1), full({0, 3}, 1)), Values(6, 0));
  EXPECT_EQ(text(matmul(full({5, 1, 2, 3}, 1), full({4, 3, 0}, 1))), "[5, 4, 2, 0]");
  Tensor c = matmul(count_up({2, 1, 1, 2}), count_up({3, 2, 1}));
  expect_values(c, {1, 3, 5, 3, 13, 23});
  EXPECT_EQ(complaint([] {
              matmul(full({2, 3, 4}, 1), full({5, 6}, 1));
            }),
            "matmul: K disagrees: a is [2, 3, 4] (K=4), b is [5, 6] (K=5); expects a [..., M, K], b [..., K, N].");
}

// ---- indices
TEST(Values, GatherTakesIndicesOfAnyRank) {
  Tensor table = count_up({4, 2});
  Tensor ids = Tensor::of<int64_t>({0, -1, 2, 3}, {2, 2});
  EXPECT_EQ(text(gather(table, ids)), "[2, 2, 2]");
  expect_values(gather(table, ids), {0, 1, 6, 7, 4, 5, 6, 7});
  expect_values(gather(i64({5, 6, 7}), Tensor::of<int32_t>({-1}, {})), {7});
  EXPECT_EQ(complaint([&] {
              gather(table, Tensor::of<int64_t>({0, 1, -5, 0}, {2, 2}));
            }),
            "gather: index -5 at position [1, 0] is out of range: axis 0 of x has 4 elements. Give -4 to 3.");
  EXPECT_NE(complaint([&] { gather(table, i64({4})); }), "");
  EXPECT_NE(complaint([&] { gather(full({0, 2}, 1), i64({0})); }), "");
  EXPECT_NE(complaint([&] { gather(table, Tensor::of<uint64_t>({UINT64_MAX}, {1})); }), "");
}

TEST(Values, ScatterAddCombinesRowsThatMeet) {
  Tensor x = full({3, 2}, 10, DType::f64), updates = count_up({4, 2});
  expect_values(scatter_add(x, i64({2, 0, 2, -1}), updates), {12, 13, 10, 10, 20, 23});
  EXPECT_NE(complaint([&] { scatter_add(x, i64({3, 0, 0, 0}), updates); }), "");
  EXPECT_EQ(
      complaint([&] { scatter_add(x, i64({0}), updates); }),
      "scatter_add: axis 0 of updates disagrees: index is [1] (axis 0 of updates=1), updates is [4, 2] (axis 0 of "
      "updates=4); expects x [V, *R], index I[*J], updates [*_].");
}

TEST(Values, OneHot) {
  expect_values(one_hot(i64({1, -1, 3, 0}), 3), {0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
  Tensor wide = one_hot(Tensor::of<uint8_t>({44}, {1}), 400);  // 300 would wrap to 44 in u8
  EXPECT_EQ(sum(wide).item(), 1);
}

// ---- networks
TEST(Values, SoftmaxIsStable) {
  expect_values(softmax(f64({1000, 1000})), {0.5, 0.5});
  Values got = numbers(log_softmax(f64({0, 1000})));
  EXPECT_EQ(got[0], -1000);
  EXPECT_EQ(got[1], 0);
  expect_values(softmax(f64({-kInf, -kInf})), {kNan, kNan});
  EXPECT_NEAR(numbers(softmax(f64({0, std::log(3.0)})))[1], 0.75, 1e-15);
}

TEST(Values, CrossEntropyOfEqualLogitsIsLogOfTheClasses) {
  Tensor loss = cross_entropy(full({2, 5}, 3, DType::f64), i64({0, 4}));
  EXPECT_NEAR(numbers(loss)[0], std::log(5.0), 1e-15);
  EXPECT_EQ(text(cross_entropy(full({0, 3}, 1), i64({}))), "[0]");
  EXPECT_EQ(text(cross_entropy(full({3}, 1), Tensor::of<int64_t>({1}, {}))), "[]");
  for (int64_t bad : {-1, 5, -100}) {  // never the neighbour's row
    std::string says = complaint([&] { cross_entropy(full({2, 5}, 3), i64({1, bad})); });
    EXPECT_NE(says.find("out of range"), std::string::npos) << bad << ": " << says;
  }
  EXPECT_EQ(call_op("cross_entropy", std::vector<Tensor>{full({2, 5}, 3), i64({0, 1})}).size(), 1u)
      << "hidden outputs stay inside";
}

TEST(Values, DropoutKeepsTheMean) {
  Tensor x = full({20000}, 1), seed = i64({7, 0});
  Tensor y = dropout(x, seed, 0.25);
  EXPECT_NEAR(mean(y).item(), 1, 0.02);
  expect_values(max(y), {double(float(1 / 0.75))});
  expect_values(y, numbers(dropout(x, seed, 0.25)));
  EXPECT_NE(numbers(y), numbers(dropout(x, i64({7, 1}), 0.25)));
  expect_values(dropout(x, seed, 1), Values(20000, 0));
  expect_values(dropout(x, seed, 0), Values(20000, 1));
}

// ---- random numbers: Random123's known answers for philox4x32-10, key and counter all 0 and all ones
TEST(Values, RandomUniformIsPhilox) {
  auto unit = [](uint32_t word) { return double(word >> 8) * 0x1p-24; };
  expect_values(random_uniform(i64({0, 0}), {4}),
                {unit(0x6627e8d5), unit(0xe169c58d), unit(0xbc57ac4c), unit(0x9b00dbd8)});
  // counter (1, 0): the next block of the same stream is not that of the next offset
  Values eight = numbers(random_uniform(i64({0, 0}), {8})), next = numbers(random_uniform(i64({0, 1}), {4}));
  EXPECT_NE(Values(eight.begin() + 4, eight.end()), next);
  Tensor wide = random_uniform(i64({0, 0}), {1}, DType::f64);
  EXPECT_EQ(wide.item(), double((uint64_t(0xe169c58d) << 32 | 0x6627e8d5) >> 11) * 0x1p-53);
  Tensor many = random_uniform(i64({3, 4}), {100000});
  EXPECT_NEAR(mean(many).item(), 0.5, 0.005);
  EXPECT_LT(max(many).item(), 1);
  EXPECT_NE(complaint([] { random_uniform(i64({0, 0}), {4}, DType::i32); }), "");
}

TEST(Values, FullAndArange) {
  expect_values(full({}, 2.5), {2.5});
  expect_values(full({2}, -1, DType::u8), {0, 0});
  expect_values(full_like(i32({1, 2}), 7), {7, 7});
  expect_values(arange(4, DType::f32), {0, 1, 2, 3});
  expect_values(dim_value(17, DType::f32), {17});
}

// ---- writing
TEST(Values, AssignWritesThroughViews) {
  Tensor x = full({8, 6}, 0);
  assign(slice(x, {0, 0}, {8, 4}), full({8, 4}, 1));
  EXPECT_EQ(sum(x).item(), 32);
  EXPECT_EQ(sum(slice(x, {0, 4}, {8, 2})).item(), 0);
}

TEST(Values, AssignOfOverlappingPartsReadsFirst) {
  Tensor x = count_up({5});
  assign(slice(x, {1}, {4}), slice(x, {0}, {4}));
  expect_values(x, {0, 0, 1, 2, 3});
}

TEST(Values, SgdTakesTheStepsOfItsFormula) {
  Tensor p = f64({1, 2}), g = f64({0.5, -1}), m = f64({0.1, 0}), rate = Tensor::scalar(0.1, DType::f64);
  sgd_update(p, g, rate);
  expect_values(p, {1 - 0.5 * 0.1, 2 + 1 * 0.1});
  p = f64({1, 2});
  sgd_update(p, g, rate, m, 0.9);
  double m0 = 0.1 * 0.9 + 0.5;
  expect_values(m, {m0, -1});
  expect_values(p, {1 - m0 * 0.1, 2.1});
  p = f64({1});
  m = f64({1});
  sgd_update(p, f64({2}), rate, m, 0.5, 0.25, true);
  double d = 2 + 0.25, v = 0.5 + d;
  expect_values(m, {v});
  expect_values(p, {1 - (d + v * 0.5) * 0.1});
}

// ---- every op with size 0, forward and backward
TEST(Values, SizeZeroEverywhere) {
  Tensor x = full({0, 3}, 1, DType::f64).set_requires_grad(), y = full({0, 3}, 2, DType::f64).set_requires_grad();
  Tensor total = sum(add(subtract(multiply(x, y), divide(x, y)), maximum(exp(x), minimum(tanh(y), erf(x)))));
  total = add(total, sum(softmax(x)));
  total = add(total, sum(cross_entropy(x, i64({}))));
  total = add(total, sum(matmul(x, permute(y, {1, 0}))));
  total = add(total, sum(gather(x, i64({}))));
  total = add(total, sum(pad(slice(x, {0, 1}, {0, 2}), {0, 1}, {0, 0})));
  total = add(total, sum(windows(x, 2)));
  total = add(total, sum(where(less(x, y), relu(x), sqrt(y))));
  EXPECT_EQ(total.item(), 0);
  total.backward();
  EXPECT_EQ(text(x.grad()), "[0, 3]");
  EXPECT_EQ(text(y.grad()), "[0, 3]");
}

TEST(Values, RankSixteenIsPossibleAndSeventeenAnError) {
  Shape deep;
  for (int i = 0; i < kMaxRank; ++i) deep.push(1);
  Tensor x = full(deep, 3);
  EXPECT_EQ(add(x, x).item(), 6);
  EXPECT_EQ(sum(x).item(), 3);
  EXPECT_NE(complaint([&] { unsqueeze(x, {0}); }), "");
  EXPECT_NE(complaint([&] { windows(x, 1); }), "");
}

// The decomposition of an op that also is a view says the same.
TEST(Values, SliceByItsDecomposition) {
  Tensor x = count_up({4, 5});
  Shape starts{3, 1}, sizes{2, 3};
  int64_t steps[] = {-2, 1};
  std::vector<oar_attr_t> attrs = {op::attr_dims(starts), op::attr_dims(sizes), op::attr_integers(steps)};
  auto by = [&](Route route) {
    return call_op("slice", std::vector<Tensor>{x}, attrs, CallOptions{.route = route})[0];
  };
  expect_values(by(Route::decomposition), {16, 17, 18, 6, 7, 8});
  steps[0] = 1;
  starts = {1, 1};
  attrs = {op::attr_dims(starts), op::attr_dims(sizes), op::attr_integers(steps)};
  expect_values(by(Route::decomposition), {6, 7, 8, 11, 12, 13});
}

}  // namespace
}  // namespace oarlock
