#include "core/op/opdef.h"
namespace oarlock::op::asin_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "asin",
    .summary = "Arc sine, from -pi/2 to pi/2; NaN outside -1 to 1.",
    .source = "Array API standard 2023.12, asin",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"the edges", "...=6", "", "x: 1 -1 0 1.5 nan -0.5"}, {"inside", "...=3x5", "", "x: -0.9..0.9"}},
});
}  // namespace oarlock::op::asin_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::asin_ {
static void gradient(GradientCall& c) {
  Tensor one = number(1, c.in(0));
  c.set(0, divide(c.dout(0), sqrt(subtract(one, square(c.in(0))))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor one = number(1, x), side = sqrt(multiply(subtract(one, x), add(one, x)));
  c.set(0, atan2(x, side));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::asin(x); });
}
}  // namespace oarlock::op::asin_
