// What gradient_test.cc runs: calls of every differentiable op, on operands away from its kinks.
#pragma once
#include "tests/ops/differences.h"

namespace oarlock::test {

using In = std::vector<Tensor>;
struct GradientCase {
  std::string name;  // the op, or "op, what about it"
  Function f;
  In inputs;
};
std::vector<GradientCase> nn_gradient_cases();  // nn_gradient_test.cc
std::vector<GradientCase> math_gradient_cases();
std::vector<GradientCase> reduce_gradient_cases();
std::vector<GradientCase> place_gradient_cases();

inline Function one(Tensor (*f)(const Tensor&)) {
  return [f](const In& x) { return In{f(x[0])}; };
}
inline Function two(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const In& x) { return In{f(x[0], x[1])}; };
}
inline Tensor r(const Shape& s, double low = -1, double high = 1) { return random_f64(s, 11, low, high); }
inline Tensor q(const Shape& s, double low = -1, double high = 1) { return random_f64(s, 12, low, high); }
// Values at least 0.1 apart, so that no step crosses a tie.
inline Tensor apart(const Shape& s, double shift = 0) {
  Tensor t = Tensor::empty(s, DType::f64);
  int64_t n = t.element_count();
  for (int64_t i = 0; i < n; ++i) t.data_as<double>()[i] = double(i * 7 % (n + (n % 7 == 0))) * 0.3 - 1 + shift;
  return t;
}

}  // namespace oarlock::test
