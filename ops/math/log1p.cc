#include "core/op/opdef.h"
namespace oarlock::op::log1p_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "log1p",
    .summary = "log(1 + x), exact near 0; -infinity at -1, NaN below.",
    .source = "Array API standard 2023.12, log1p",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"the edge", "...=6", "", "x: -1 -2 inf nan 0 0.00000001"}, {"positive", "...=3x5", "", "x: 0.1..4"}},
});
}  // namespace oarlock::op::log1p_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::log1p_ {
static void gradient(GradientCall& c) { c.set(0, divide(c.dout(0), add(c.in(0), number(1, c.in(0))))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::log1p(x); });
}
}  // namespace oarlock::op::log1p_
