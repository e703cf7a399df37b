#include "core/op/opdef.h"
namespace oarlock::op::log10_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "log10",
    .summary = "Logarithm to base 10; -infinity at 0, NaN below.",
    .source = "Array API standard 2023.12, log10",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"positive", "...=3x5", "", "x: 0.1..4"}, {"the edge", "...=6", "", "x: 0 -1 inf nan 1 1000"}},
});
}  // namespace oarlock::op::log10_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::log10_ {
static void gradient(GradientCall& c) {
  c.set(0, divide(c.dout(0), multiply(c.in(0), number(std::numbers::ln10, c.in(0)))));
}
static void decompose(RuleCall& c) { c.set(0, divide(log(c.in(0)), number(std::numbers::ln10, c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::log10(x); });
}
}  // namespace oarlock::op::log10_
