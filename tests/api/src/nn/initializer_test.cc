// Moments and bounds of the distributions, and orthogonality, from their definitions.
#include <cmath>

#include <oarlock/nn/initializer.h>
#include <oarlock/nn/linear.h>

#include "api/near.h"

namespace oarlock::nn::initializer {
namespace {

struct Moments {
  double mean, std, low, high;
};
Moments moments(const Initializer& init, const Shape& shape, uint64_t seed = 11) {
  Generator g(seed);
  std::vector<double> v = values(init(shape, DType::f64, g));
  double s = 0, q = 0, low = v[0], high = v[0];
  for (double x : v) {
    s += x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  s /= double(v.size());
  for (double x : v) q += (x - s) * (x - s);
  return {s, std::sqrt(q / double(v.size())), low, high};
}
constexpr double kCount = 40000;
const Shape kShape{200, 200};

TEST(Initializers, Uniform) {
  Moments m = moments(Uniform{2, 5}, kShape);
  double std = 3 / std::sqrt(12.0);
  EXPECT_NEAR(m.mean, 3.5, 5 * std / std::sqrt(kCount));
  EXPECT_NEAR(m.std, std, 0.02);
  EXPECT_GE(m.low, 2);
  EXPECT_LT(m.high, 5);
}
TEST(Initializers, Normal) {
  Moments m = moments(Normal{1, 2}, kShape);
  EXPECT_NEAR(m.mean, 1, 5 * 2 / std::sqrt(kCount));
  EXPECT_NEAR(m.std, 2, 5 * 2 / std::sqrt(2 * kCount));
  EXPECT_LT(m.low, 1 - 2 * 3.5);  // tails are there
  EXPECT_GT(m.high, 1 + 2 * 3.5);
  Generator a(1), b(1);
  EXPECT_EQ(values(Normal{}({7}, DType::f64, a)).size(), 7u);
  EXPECT_NE(values(Normal{}({7}, DType::f64, a)), values(Normal{}({7}, DType::f64, b)));
}
TEST(Initializers, TruncatedNormal) {
  Moments m = moments(TruncatedNormal{1, 0.5}, kShape);
  // The variance of a standard normal number cut at +-2 is 1 - 4 phi(2) / (2 Phi(2) - 1).
  double phi = std::exp(-2.0) / std::sqrt(2 * M_PI), inside = std::erf(2 / std::sqrt(2.0));
  double std = 0.5 * std::sqrt(1 - 4 * phi / inside);
  EXPECT_NEAR(m.mean, 1, 5 * std / std::sqrt(kCount));
  EXPECT_NEAR(m.std, std, 0.01);
  EXPECT_GE(m.low, 0);
  EXPECT_LE(m.high, 2);
  EXPECT_LT(m.low, 0.01);
}
TEST(Initializers, FansGiveTheSpread) {
  const Shape conv{32, 16, 5, 5};  // fan_in 400, fan_out 800
  Moments m = moments(XavierUniform{}, conv);
  double limit = std::sqrt(6.0 / 1200);
  EXPECT_LE(m.high, limit);
  EXPECT_GT(m.high, 0.99 * limit);
  EXPECT_NEAR(moments(XavierNormal{.gain = 3}, conv).std, 3 * std::sqrt(2.0 / 1200), 0.005);
  EXPECT_NEAR(moments(KaimingNormal{}, conv).std, std::sqrt(2.0 / 400), 0.002);
  m = moments(KaimingUniform{.negative_slope = std::sqrt(5.0), .nonlinearity = "leaky_relu"}, conv);
  EXPECT_LE(m.high, 1.0 / 20);  // torch's first values of a convolution
  EXPECT_GT(m.high, 0.99 / 20);
  EXPECT_NEAR(moments(KaimingNormal{.fan_in = 2}, kShape).std, 1, 0.02);
  Generator g;
  EXPECT_ERROR(XavierUniform{}({5}, DType::f32, g), "shape [5] has no fans");
}
TEST(Initializers, Orthogonal) {
  for (Shape shape : {Shape{3, 8}, Shape{8, 3}, Shape{4, 2, 3}}) {
    Generator g(5);
    Tensor w = reshape(Orthogonal{2}(shape, DType::f64, g), {shape[0], kRest});
    bool wide = w.size(0) <= w.size(1);
    Tensor product = wide ? matmul(w, matrix_transpose(w)) : matmul(matrix_transpose(w), w);
    int64_t n = product.size(0);
    std::vector<double> v = values(product);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) EXPECT_NEAR(v[size_t(i * n + j)], i == j ? 4 : 0, 1e-13);
  }
}
TEST(Initializers, ConstantAssignAndGain) {
  Generator g;
  expect_near(Constant{2.5}({2}, DType::bf16, g), {2.5, 2.5});
  EXPECT_EQ(Constant{2.5}({2}, DType::bf16, g).dtype(), DType::bf16);
  Tensor t = Tensor::of<float>({1, 2}, {2});
  Tensor made = Assign{t}({2}, DType::f32, g);
  EXPECT_EQ(values(made), values(t));
  EXPECT_NE(made.data(), t.data());
  EXPECT_ERROR((Assign{t}({3}, DType::f32, g)), "shape [3], the value [2]");
  EXPECT_EQ(calculate_gain("tanh"), 5.0 / 3);
  EXPECT_EQ(calculate_gain("leaky_relu", 1), 1);
  EXPECT_ERROR(calculate_gain("cube"), "no nonlinearity \"cube\"");
}
TEST(Initializers, ASeedGivesTheSameLayer) {
  set_seed(3);
  Linear a(4, 4);
  set_seed(3);
  Linear b(4, 4);
  Linear c(4, 4);
  EXPECT_EQ(values(a.weight), values(b.weight));
  EXPECT_NE(values(a.weight), values(c.weight));
  for (double v : values(a.weight)) EXPECT_LE(std::abs(v), 0.5);
}

}  // namespace
}  // namespace oarlock::nn::initializer
