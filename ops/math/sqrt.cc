#include "core/op/opdef.h"
namespace oarlock::op::sqrt_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sqrt",
    .summary = "Square root; NaN below 0.",
    .source = "Array API standard 2023.12, sqrt",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .reference = reference,
    .cases = {{"positive", "...=3x5", "", "x: 0.1..4"}, {"the edge", "...=5", "", "x: 0 -1 inf nan 4"}},
});
}  // namespace oarlock::op::sqrt_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::sqrt_ {
static void gradient(GradientCall& c) { c.set(0, divide(c.dout(0), add(c.out(0), c.out(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::sqrt(x); });
}
}  // namespace oarlock::op::sqrt_
