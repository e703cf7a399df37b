#include "core/op/opdef.h"
namespace oarlock::op::acosh_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "acosh",
    .summary = "Inverse hyperbolic cosine, not negative; NaN below 1.",
    .source = "Array API standard 2023.12, acosh",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 8},
    .cases = {{"above 1", "...=5", "", "x: 1.1..4"}, {"the edge", "...=7", "", "x: 1 -1 inf nan 0.5 -3 60000"}},
});
}  // namespace oarlock::op::acosh_

#include "rules.h"
#include "elementwise.h"
#include "numbers.h"
namespace oarlock::op::acosh_ {
static void gradient(GradientCall& c) {
  Tensor one = number(1, c.in(0));
  c.set(0, divide(c.dout(0), multiply(sqrt(subtract(c.in(0), one)), sqrt(add(c.in(0), one)))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  double limit = 1 / std::sqrt(epsilon(x.dtype()));
  Tensor t = subtract(minimum(x, number(limit, x)), number(1, x));
  Tensor near = log1p(add(t, sqrt(multiply(t, add(t, number(2, x))))));
  near = where(less(x, number(1, x)), number(NAN, x), near);  // just below -1 rounding would let it through
  c.set(0, where(less(number(limit, x), x), add(log(x), number(std::numbers::ln2, x)), near));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::acosh(x); });
}
}  // namespace oarlock::op::acosh_
