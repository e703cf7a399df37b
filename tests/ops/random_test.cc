// Random numbers: their bits against Philox's known answers, their distributions by their moments.
#include <algorithm>
#include <numbers>

#include "core/op/attrs.h"
#include "tests/ops/expect.h"

namespace oarlock::test {
namespace {

std::vector<Tensor> seed() { return {i64({12, 34})}; }

TEST(Random, NormalIsBoxMullerOfTheUniforms) {
  auto unit = [](uint32_t word) { return double(word >> 8) * 0x1p-24; };  // Random123's known answer, all 0
  double u = unit(0x6627e8d5), v = unit(0xe169c58d), s = unit(0xbc57ac4c), t = unit(0x9b00dbd8);
  auto pair = [](double a, double b) {
    double radius = std::sqrt(-2 * std::log1p(-a)), angle = 2 * std::numbers::pi * b;
    return std::pair(radius * std::cos(angle), radius * std::sin(angle));
  };
  auto [a, b] = pair(u, v);
  auto [c, d] = pair(s, t);
  expect_values(random_normal(i64({0, 0}), {4}), {a, b, c, d}, 2e-6);
  expect_values(random_normal(i64({0, 0}), {3}), {a, b, c}, 2e-6);
}

TEST(Random, NormalByItsDecompositionIsWithinItsUlps) {
  for (DType t : {DType::f32, DType::f64}) {
    Shape shape{4001};
    oar_attr_t attrs[] = {op::attr_dims(shape), op::attr_dtype(t)};
    Values want = numbers(call_op("random_normal", seed(), attrs, {.route = Route::reference})[0]);
    Values got = numbers(call_op("random_normal", seed(), attrs, {.route = Route::decomposition})[0]);
    ASSERT_EQ(got.size(), want.size());
    double epsilon = t == DType::f32 ? 0x1p-23 : 0x1p-52;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 16 * epsilon * std::fabs(want[i])) << i;
  }
}

TEST(Random, NormalHasItsMoments) {
  Tensor x = random_normal(i64({3, 4}), {200000}, DType::f64);
  EXPECT_NEAR(mean(x).item(), 0, 0.01);
  EXPECT_NEAR(var(x).item(), 1, 0.015);
  EXPECT_NEAR(mean(power(x, full({}, 3, DType::f64))).item(), 0, 0.03);
  EXPECT_NEAR(mean(power(x, full({}, 4, DType::f64))).item(), 3, 0.08);
  EXPECT_NE(numbers(random_normal(i64({3, 4}), {4})), numbers(random_normal(i64({3, 5}), {4})));
  EXPECT_EQ(text(random_normal(i64({3, 4}), {2, 0})), "[2, 0]");
  EXPECT_TRUE(says(complaint([] { random_normal(i64({0, 0}), {4}, DType::i32); }), "needs a float"));
}

TEST(Random, OthersHaveTheirs) {
  Tensor e = random_exponential(i64({3, 4}), {100000}, DType::f64);
  EXPECT_NEAR(mean(e).item(), 1, 0.02);
  EXPECT_GE(min(e).item(), 0);
  Tensor dice = random_integers(i64({3, 4}), {60000}, 1, 7);
  expect_values(min(dice), {1});
  expect_values(max(dice), {6});
  for (double n : numbers(bincount(subtract(dice, full({}, 1, DType::i64)), 6))) EXPECT_NEAR(n, 10000, 400);
  expect_values(random_integers(i64({3, 4}), {3}, -5, -4, DType::i8), {-5, -5, -5});
  EXPECT_TRUE(says(complaint([] { random_integers(i64({0, 0}), {4}, 3, 3); }), "low is 3, high is 3"));
  Tensor coins = bernoulli(full({40000}, 0.3), i64({1, 2}), DType::f32);
  EXPECT_NEAR(mean(coins).item(), 0.3, 0.01);
  expect_values(bernoulli(f64({0, 1, kNan}), i64({1, 2})), {0, 1, 0});
  Values order = numbers(random_permutation(i64({1, 2}), 1000)), again = numbers(random_permutation(i64({1, 2}), 1000));
  EXPECT_EQ(order, again);
  EXPECT_NE(order, numbers(random_permutation(i64({1, 3}), 1000)));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, numbers(arange(1000)));
}

}  // namespace
}  // namespace oarlock::test
