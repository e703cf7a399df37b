#include "core/op/opdef.h"
namespace oarlock::op::log2_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "log2",
    .summary = "Logarithm to base 2; -infinity at 0, NaN below.",
    .source = "Array API standard 2023.12, log2",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"positive", "...=3x5", "", "x: 0.1..4"}, {"the edge", "...=6", "", "x: 0 -1 inf nan 1 8"}},
});
}  // namespace oarlock::op::log2_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::log2_ {
static void gradient(GradientCall& c) {
  c.set(0, divide(c.dout(0), multiply(c.in(0), number(std::numbers::ln2, c.in(0)))));
}
static void decompose(RuleCall& c) { c.set(0, divide(log(c.in(0)), number(std::numbers::ln2, c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::log2(x); });
}
}  // namespace oarlock::op::log2_
