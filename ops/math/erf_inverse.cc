#include "core/op/opdef.h"
namespace oarlock::op::erf_inverse_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "erf_inverse",
    .summary = "The x whose error function it is: erf(out) = x; infinite at 1 and -1, NaN beyond.",
    .source = "Giles 2010, Approximating the erfinv function, as the start of Halley's method",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .reference = reference,
    .cases = {{"the edges", "...=6", "", "x: 1 -1 0 1.5 nan -0.5"},
              {"inside", "...=3x5", "", "x: -0.9..0.9"},
              {"near the edge", "...=3", "", "x: 0.999 -0.99 0.0001"}},
});
}  // namespace oarlock::op::erf_inverse_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::erf_inverse_ {
static double inverse(double x) {
  double p = 1 - std::fabs(x);
  if (!(p > 0)) return p == 0 ? std::copysign(INFINITY, x) : NAN;
  double w = -std::log(p * (1 + std::fabs(x))), y;
  if (w < 5) {
    w -= 2.5;
    y = 2.81022636e-08;
    for (double k : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
                     0.246640727, 1.50140941})
      y = k + y * w;
  } else if (w < 16) {
    w = std::sqrt(w) - 3;
    y = -0.000200214257;
    for (double k : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
                     1.00167406, 2.83297682})
      y = k + y * w;
  } else {  // beyond the paper's range: erfc(y) is about exp(-y * y) / (y * sqrt(pi))
    double l = -std::log(p);
    y = std::sqrt(l - 0.5 * std::log(std::numbers::pi * l));
  }
  y *= std::fabs(x);
  for (int i = 0; i < 3; ++i) {  // on erfc, which keeps its digits near 1
    double error = (p - std::erfc(y)) / (2 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
    if (std::fabs(x) < 0.5) error = (std::erf(y) - std::fabs(x)) / (2 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
    y -= error / (1 + y * error);
  }
  return std::copysign(y, x);
}
static void gradient(GradientCall& c) {
  Tensor slope = multiply(exp(square(c.out(0))), number(0.88622692545275801365, c.out(0)));  // sqrt(pi)/2
  c.set(0, multiply(c.dout(0), slope));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return inverse(x); });
}
}  // namespace oarlock::op::erf_inverse_
