#include "core/op/opdef.h"
namespace oarlock::op::polygamma_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "polygamma",
    .summary = "The order-th derivative of digamma. Infinite at 0 and the negative whole numbers.",
    .source = "scipy.special.polygamma; the zeta function by the formula of Euler and Maclaurin",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {integer("order", 1).at_least(1)},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"positive", "...=3x5", "order=1", "x: 0.1..9"},
              {"negative", "...=4", "order=2", "x: -0.5 -1.25 -3.75 -20.5"}},
});
}  // namespace oarlock::op::polygamma_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::polygamma_ {
// The sum over k >= 0 of (x + k)^-s.
static double zeta(double s, double x) {
  if (x <= 0 && x == std::floor(x)) return INFINITY;
  if (x == INFINITY) return 0;
  if (x < 0) {  // what lies below 0 is a difference of two sums above
    double last = x - std::ceil(x), sign = std::fmod(s, 2) == 0 ? 1 : -1;
    return zeta(s, last + 1) + sign * (zeta(s, -last) - zeta(s, 1 - x));
  }
  double sum = 0;
  double from = 9 + std::min(s, 171.0);  // 170! is the last factor that is finite
  for (; x <= from; x += 1) sum += std::pow(x, -s);
  double power = std::pow(x, -s), factor = s, term = power / x, k = 0;
  sum += x * power / (s - 1) + 0.5 * power;
  // s (s+1) ... x^(-s-2k+1) by (2k)! / B2k
  for (double b : {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.307674368e12 / 691, 7.47242496e10,
                   -1.067062284288e16 / 3617, 5.109094217170944e18 / 43867}) {
    sum += factor * term / b;
    factor *= (s + k + 1) * (s + k + 2);
    term /= x * x;
    k += 2;
  }
  return sum;
}
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), polygamma(c.in(0), c.attrs.integer(0) + 1))); }
static void reference(KernelCall& c) {
  double n = double(c.attrs.integer(0)), scale = std::tgamma(n + 1) * (c.attrs.integer(0) % 2 ? 1 : -1);
  unary_reference(c, [=](double x) { return x != x ? x : scale * zeta(n + 1, x); });
}
}  // namespace oarlock::op::polygamma_
