// Optimiser steps against their papers' formulas, element by element in double.
#include <cmath>

#include "tests/ops/expect.h"

namespace oarlock::test {
namespace {

constexpr double kRate = 0.1;
Tensor scalar(double v) { return Tensor::scalar(v, DType::f64); }
Tensor step_of(int64_t n) { return Tensor::of<int64_t>({n}, {}); }
const Values kGradients[] = {{0.5, -1, 1e-4}, {-0.25, -3, 2}, {0, 0.5, -1}};

struct Adam {
  bool decoupled, greatest;
  double decay;
};
class AdamSteps : public testing::TestWithParam<Adam> {};
TEST_P(AdamSteps, AreThoseOfThePaper) {
  auto [decoupled, with_greatest, decay] = GetParam();
  double b1 = 0.8, b2 = 0.95, epsilon = 1e-3;
  Values p{1, -2, 3}, m(3, 0), v(3, 0), top(3, 0);
  Tensor P = f64(p), M = f64(m), V = f64(v), T = with_greatest ? f64(top) : Tensor();
  for (int t = 1; t <= 3; ++t) {
    const Values& given = kGradients[t - 1];
    for (size_t i = 0; i < 3; ++i) {
      double g = given[i] + (decoupled ? 0 : decay * p[i]);
      if (decoupled) p[i] -= kRate * decay * p[i];
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      top[i] = std::max(top[i], v[i]);
      double corrected = (with_greatest ? top[i] : v[i]) / (1 - std::pow(b2, t));
      p[i] -= kRate * (m[i] / (1 - std::pow(b1, t))) / (std::sqrt(corrected) + epsilon);
    }
    (decoupled ? adamw_update : adam_update)(P, f64(given), M, V, scalar(kRate), step_of(t), T, b1, b2, epsilon, decay);
    expect_values(P, p, 1e-13);
    expect_values(M, m, 1e-13);
    expect_values(V, v, 1e-13);
    if (with_greatest) expect_values(T, top, 1e-13);
  }
}
INSTANTIATE_TEST_SUITE_P(All, AdamSteps,
                         testing::Values(Adam{false, false, 0}, Adam{false, false, 0.1}, Adam{true, false, 0.1},
                                         Adam{true, true, 0.01}, Adam{false, true, 0}));

TEST(Optimisers, AdamsFirstStepIsTheRateWhateverTheGradient) {
  Tensor p = f32({1, 1, 1}), m = f32({0, 0, 0}), v = f32({0, 0, 0});
  adam_update(p, f32({1e-3f, -5, 1e4f}), m, v, scalar(0.01), step_of(1));
  expect_values(p, {0.99, 1.01, 0.99}, 1e-5);
}

TEST(Optimisers, MomentsOfF32ServeAParameterOfBf16) {
  Tensor p = cast(f32({1, 2}), DType::bf16), g = cast(f32({0.5, -0.25}), DType::bf16), m = f32({0, 0}), v = f32({0, 0});
  adamw_update(p, g, m, v, scalar(0.25), step_of(1), {}, 0.9, 0.999, 1e-8, 0);
  EXPECT_EQ(p.dtype(), DType::bf16);
  expect_values(p, {0.75, 2.25}, 0.01);
  expect_values(v, {0.001 * 0.25, 0.001 * 0.0625}, 1e-6);
  Tensor h = cast(f32({1, 1}), DType::f16), hm = cast(f32({0, 0}), DType::f16), hv = cast(f32({0, 0}), DType::f16);
  adam_update(h, cast(f32({0, 1}), DType::f16), hm, hv, scalar(0.5), step_of(1));
  EXPECT_EQ(numbers(h)[1], 0.5);
  EXPECT_TRUE(std::isfinite(numbers(h)[0]));
}

TEST(Optimisers, Rmsprop) {
  double alpha = 0.9, epsilon = 1e-3, beta = 0.5, decay = 0.1;
  Values p{1, -2, 3}, s(3, 0), a(3, 0), b(3, 0);
  Tensor P = f64(p), S = f64(s), A = f64(a), B = f64(b), Q = f64(p), R = f64(s);
  Values q = p, r = s;
  for (const Values& given : kGradients) {
    for (size_t i = 0; i < 3; ++i) {
      double g = given[i] + decay * p[i];
      s[i] = alpha * s[i] + (1 - alpha) * g * g;
      a[i] = alpha * a[i] + (1 - alpha) * g;
      b[i] = beta * b[i] + g / (std::sqrt(s[i] - a[i] * a[i]) + epsilon);
      p[i] -= kRate * b[i];
      r[i] = alpha * r[i] + (1 - alpha) * given[i] * given[i];
      q[i] -= kRate * given[i] / (std::sqrt(r[i]) + epsilon);
    }
    rmsprop_update(P, f64(given), S, scalar(kRate), A, B, alpha, epsilon, decay, beta);
    rmsprop_update(Q, f64(given), R, scalar(kRate), {}, {}, alpha, epsilon);
  }
  expect_values(P, p, 1e-12);
  expect_values(B, b, 1e-12);
  expect_values(Q, q, 1e-12);
}

TEST(Optimisers, AdagradAndSgd) {
  Values p{1, -2, 3}, s(3, 0), q = p, v(3, 0);
  Tensor P = f64(p), S = f64(s), Q = f64(q), V = f64(v);
  for (const Values& given : kGradients) {
    for (size_t i = 0; i < 3; ++i) {
      double g = given[i] + 0.1 * p[i];
      s[i] += g * g;
      p[i] -= kRate * g / (std::sqrt(s[i]) + 1e-3);
      v[i] = 0.9 * v[i] + (1 - 0.25) * given[i];
      q[i] -= kRate * v[i];
    }
    adagrad_update(P, f64(given), S, scalar(kRate), 1e-3, 0.1);
    sgd_update(Q, f64(given), scalar(kRate), V, 0.9, 0, false, 0.25);
  }
  expect_values(P, p, 1e-13);
  expect_values(Q, q, 1e-13);
  Tensor total = f64({1, 2}), part = f64({3, 4});
  accumulate(total, part);
  accumulate(total, part);
  expect_values(total, {7, 10});
}

TEST(Optimisers, ParametersThatRecordAreRefused) {
  Tensor p = f64({1}).set_requires_grad();
  EXPECT_TRUE(says(complaint([&] { adagrad_update(p, f64({1}), f64({0}), scalar(1)); }), "requires a gradient"));
}

}  // namespace
}  // namespace oarlock::test
