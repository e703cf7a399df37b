#include "core/op/opdef.h"
namespace oarlock::op::lgamma_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "lgamma",
    .summary = "Logarithm of the absolute value of the gamma function; infinite at 0 and the negative whole numbers.",
    .source = "scipy.special.gammaln; torch.lgamma",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"positive", "...=3x5", "", "x: 0.1..9"},
              {"poles and zeros", "...=8", "", "x: 0 -1 1 2 -0.5 inf nan 150"}},
});
}  // namespace oarlock::op::lgamma_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::lgamma_ {
static double log_gamma(double x) {  // std::lgamma writes to a global
  int sign;
  return ::lgamma_r(x, &sign);
}
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), digamma(c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return log_gamma(x); });
}
}  // namespace oarlock::op::lgamma_
