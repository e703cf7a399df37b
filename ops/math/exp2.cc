#include "core/op/opdef.h"
namespace oarlock::op::exp2_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "exp2",
    .summary = "2 to the power x.",
    .source = "torch.exp2",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"overflow and underflow", "...=6", "", "x: -2000 2000 0 nan -inf 10"}},
});
}  // namespace oarlock::op::exp2_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::exp2_ {
static void gradient(GradientCall& c) {
  c.set(0, multiply(c.dout(0), multiply(c.out(0), number(std::numbers::ln2, c.out(0)))));
}
static void decompose(RuleCall& c) { c.set(0, power(number(2, c.in(0)), c.in(0))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::exp2(x); });
}
}  // namespace oarlock::op::exp2_
