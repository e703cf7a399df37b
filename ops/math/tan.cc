#include "core/op/opdef.h"
namespace oarlock::op::tan_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "tan",
    .summary = "Tangent of x in radians; NaN at infinity.",
    .source = "Array API standard 2023.12, tan",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"}},
});
}  // namespace oarlock::op::tan_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::tan_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), add(square(c.out(0)), number(1, c.out(0))))); }
static void decompose(RuleCall& c) { c.set(0, divide(sin(c.in(0)), cos(c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::tan(x); });
}
}  // namespace oarlock::op::tan_
