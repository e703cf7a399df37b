#include "core/op/opdef.h"
namespace oarlock::op::atan_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "atan",
    .summary = "Arc tangent, from -pi/2 to pi/2.",
    .source = "Array API standard 2023.12, atan",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"}},
});
}  // namespace oarlock::op::atan_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::atan_ {
static void gradient(GradientCall& c) {
  Tensor one = number(1, c.in(0));
  c.set(0, divide(c.dout(0), add(one, square(c.in(0)))));
}
static void decompose(RuleCall& c) { c.set(0, atan2(c.in(0), number(1, c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::atan(x); });
}
}  // namespace oarlock::op::atan_
