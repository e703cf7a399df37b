#include "core/op/opdef.h"
namespace oarlock::op::digamma_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "digamma",
    .summary = "The derivative of lgamma; NaN at the negative whole numbers, -infinity at 0.",
    .source = "scipy.special.digamma; Abramowitz and Stegun, 6.3.7 and 6.3.18",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .tolerance = {.ulps = 8},
    .cases = {{"positive", "...=3x5", "", "x: 0.1..9"}, {"poles", "...=6", "", "x: -1 -0.5 -1.25 inf nan 30"}},
});
}  // namespace oarlock::op::digamma_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::digamma_ {
static double psi(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  if (x < 0) {
    if (x == std::floor(x)) return NAN;
    double part = x - std::round(x);  // exact, below 0 as above it; of x itself the tangent would lose digits
    return psi(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * part);
  }
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  double z = 1 / (x * x), series = 0;
  for (double k : {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12})
    series = series * z + k;
  return std::log(x) - 0.5 / x - series * z + shift;
}
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), polygamma(c.in(0), 1))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return psi(x); });
}
}  // namespace oarlock::op::digamma_
