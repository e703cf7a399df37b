// Values of reductions and scans, from NumPy 2 and SciPy.
#include "core/op/attrs.h"
#include "tests/ops/expect.h"

namespace oarlock::test {
namespace {

Tensor digits() { return shaped({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {3, 4}); }

// Sums of halves go beyond 65504, and so do counts of elements.
TEST(Reductions, MeansOfManyHalves) {
  for (DType t : {DType::f16, DType::bf16}) {
    Tensor many = full({100000}, 2, t), large = full({3000}, 100, t);
    expect_values(mean(many), {2});
    expect_values(mean(large), {100});
    expect_values(var(concat({full({3000}, 64, t), full({3000}, -64, t)})), {4096});
    many.set_requires_grad();
    mse_loss(many, full({100000}, 0, t)).backward();
    EXPECT_NEAR(max(many.grad()).item(), 4e-5, 4e-7) << to_string(t);
  }
}

TEST(Reduce, VarAndStd) {
  expect_values(var(digits(), {1}), {1.6875, 6.25, 3.1875});
  expect_values(var(digits(), {0}, false, 1), {1.3333333333333335, 17.333333333333336, 2.333333333333333, 13.0}, 1e-15);
  expect_values(std(digits()), {2.4267032964268394}, 1e-15);
  expect_values(var(f64({5}), {}, false, 1), {kNan});
  expect_values(var(add(f64({1, 2, 3}), full({}, 1e9, DType::f64))), {2.0 / 3});
  EXPECT_EQ(text(var(full({2, 0, 4}, 1), {1})), "[2, 4]");
  expect_values(var(full({2, 0}, 1), {1}), {kNan, kNan});
}

TEST(Reduce, NormsAndLogarithms) {
  expect_values(vector_norm(digits(), {1}), {5.196152422706632, 12.083045973594572, 11.090536506409418}, 1e-15);
  expect_values(vector_norm(digits(), {0}, false, 3),
                {6.518683915173769, 9.113781797995872, 5.818647867496961, 8.999999999999998}, 1e-15);
  Tensor x = f64({-3, 0, 2});
  expect_values(vector_norm(x, {}, false, kInf), {3});
  expect_values(vector_norm(x, {}, false, -kInf), {0});
  expect_values(vector_norm(x, {}, false, 0), {2});
  expect_values(vector_norm(x, {}, false, 1), {5});
  expect_values(vector_norm(cast(f32({300, 400}), DType::f16)), {500});  // its squares are no f16
  expect_values(vector_norm(full({2, 0}, 1), {1}, false, kInf), {0, 0});
  expect_values(global_norm({f64({3}), shaped({0, 4}, {1, 2}), full({0}, 1, DType::f64)}), {5});
  expect_values(logsumexp(digits(), {1}), {4.38352863876639, 9.066737279491552, 8.10103203665551}, 1e-15);
  expect_values(logsumexp(f64({1000, 1000})), {1000 + std::log(2.0)});
  expect_values(logsumexp(f64({-kInf, -kInf})), {-kInf});
  expect_values(logsumexp(f64({kInf, 1})), {kInf});
  expect_values(logsumexp(full({2, 0}, 1), {1}), {-kInf, -kInf});
  Tensor zero = f64({0, 0}).set_requires_grad();
  vector_norm(zero).backward();
  expect_values(zero.grad(), {0, 0});
}

TEST(Reduce, Median) {
  expect_values(median(digits(), 1), {2, 5.5, 5});
  expect_values(median(digits(), 0), {5, 3, 4, 6});
  expect_values(median(f64({1, kNan, 3}), 0), {kNan});
  expect_values(median(f64({1.6e308, 1.7e308})), {1.65e308}, 1e-15);
  EXPECT_TRUE(says(complaint([] { median(full({2, 0}, 1), 1); }), "median: there is none"));
}

TEST(Reduce, NanIsTheExtremeWhereverItStands) {
  for (int64_t n = 1; n <= 33; ++n)
    for (int64_t at = 0; at < n; ++at) {
      Values v(size_t(n), 42);
      v[size_t(at)] = kNan;
      Tensor x = f64(v);
      expect_values(max(x), {kNan});
      expect_values(min(x), {kNan});
      EXPECT_EQ(argmax(x).item_int(), at);
      EXPECT_EQ(argmin(x).item_int(), at);
      EXPECT_TRUE(std::isnan(numbers(cumulative_max(x).values)[size_t(n - 1)]));
    }
  expect_values(max(f64({kNan, kNan, kNan, 42})), {kNan});
  expect_values(min(f64({kNan, kNan, kNan, 42})), {kNan});
}

TEST(Reduce, OverNothing) {
  Tensor none = full({3, 0, 4}, 1), whole = full({3, 0, 4}, 1, DType::i32);
  EXPECT_EQ(text(product(none, {1}, true)), "[3, 1, 4]");
  expect_values(product(none, {1}), Values(12, 1));
  expect_values(min(none, {1}), Values(12, kInf));
  expect_values(max(none, {1}), Values(12, -kInf));
  expect_values(min(whole, {1}), Values(12, INT32_MAX));
  expect_values(max(whole, {1}), Values(12, INT32_MIN));
  expect_values(min(full({2, 0}, 1, DType::u8), {1}), {255, 255});
  expect_values(min(full({2, 0}, 1, DType::i64), {1}), {double(INT64_MAX), double(INT64_MAX)});
  expect_values(any(none, {1}), Values(12, 0));
  expect_values(all(none, Integers{1}), Values(12, 1));
  expect_values(count_nonzero(none, {1}), Values(12, 0));
  EXPECT_EQ(text(sum(full({0, 0}, 1), {0}, true)), "[1, 0]");
  EXPECT_EQ(text(sum(full({0, 0}, 1), {0})), "[0]");
  EXPECT_EQ(text(mean(full({2, 0, 4}, 1), {-1})), "[2, 0]");
  expect_values(mean(full({2, 0, 4}, 1), {1}), Values(8, kNan));
  expect_values(mean(full({2, 0, 4}, 1)), {kNan});
  EXPECT_EQ(text(argmax(none, 2)), "[3, 0]");
  EXPECT_TRUE(says(complaint([&] { argmax(none, 1); }), "argmax: there is none: x is [3, 0, 4], axis 1"));
  EXPECT_TRUE(says(complaint([&] { argmin(none); }), "argmin: there is none"));
}

TEST(Reduce, MinOfIntegersOfEverySign) {
  expect_values(min(i32({INT32_MIN, 5, INT32_MAX})), {double(INT32_MIN)});
  expect_values(min(Tensor::of<uint8_t>({7, 255, 0}, {3})), {0});
  EXPECT_EQ(min(i64({INT64_MIN, INT64_MAX})).item_int(), INT64_MIN);
  EXPECT_EQ(argmin(i64({5, INT64_MIN, INT64_MAX})).item_int(), 1);
  EXPECT_EQ(argmin(Tensor::of<uint64_t>({5, 0, UINT64_MAX}, {3})).item_int(), 1);
}

TEST(Reduce, Places) {
  expect_values(argmax(digits(), 1), {2, 1, 3});
  expect_values(argmax(digits(), 0, true), {1, 1, 2, 2});
  EXPECT_EQ(text(argmax(digits(), 0, true)), "[1, 4]");
  EXPECT_EQ(argmax(digits()).item_int(), 5);
  EXPECT_EQ(text(argmax(digits(), std::nullopt, true)), "[1, 1]");
  expect_values(argmin(digits(), 1), {1, 2, 1});
  EXPECT_EQ(argmax(permute(digits(), {1, 0})).item_int(), 4);  // row-major in the operand's own order
}

TEST(Reduce, ProductsAndCounts) {
  expect_values(product(digits(), {1}), {12, 540, 600});
  expect_values(product(i32({1 << 20, 1 << 12})), {0});
  expect_values(any(shaped({0, 0, kNan, 0}, {2, 2}), {1}), {0, 1});
  expect_values(all(shaped({1, 0, kNan, 2}, {2, 2}), Integers{1}), {0, 1});
  expect_values(count_nonzero(shaped({1, 0, kNan, 2}, {2, 2}), {0}), {2, 1});
}

TEST(Reduce, Scans) {
  Tensor x = shaped({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_values(cumsum(x, 0), {1, 2, 3, 5, 7, 9});
  expect_values(cumsum(x, 1, true), {0, 1, 3, 0, 4, 9});
  expect_values(cumsum(x, 1, false, true), {6, 5, 3, 15, 11, 6});
  expect_values(cumsum(x, 1, true, true), {5, 3, 0, 11, 6, 0});
  expect_values(cumulative_product(x), {1, 2, 6, 4, 20, 120});
  expect_values(cumulative_product(x, 1, true, true), {6, 3, 1, 30, 6, 1});
  expect_values(linear_scan(f64({0.5, 0.5, 2}), f64({1, 2, 3})), {1, 2.5, 8});
  expect_values(linear_scan(f64({0.5, 0.5, 2}), f64({1, 2, 3}), 0, true), {2.75, 3.5, 3});
  auto top = cumulative_max(f64({1, 3, 3, kNan, 9, kNan}));
  expect_values(top.values, {1, 3, 3, kNan, kNan, kNan});
  expect_values(top.indices, {0, 1, 1, 3, 3, 3});
}

TEST(Reduce, CumsumOfALargeTensorOnItsFirstAxis) {
  Tensor x = expand(reshape(arange(1280, DType::f32), {1, 1280, 1}), {2, 1280, 1280});
  Tensor y = cumsum(x, 0);
  EXPECT_EQ(max(abs(subtract(slice(y, {0, 0, 0}, {1, 1280, 1280}), slice(x, {0, 0, 0}, {1, 1280, 1280})))).item(), 0);
  EXPECT_EQ(sum(slice(y, {1, 0, 0}, {1, 1280, 1}), {}, false).item(), 1279.0 * 1280);
}

}  // namespace
}  // namespace oarlock::test
