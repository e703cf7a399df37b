#include "core/op/opdef.h"
namespace oarlock::op::log_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "log",
    .summary = "Natural logarithm; -infinity at 0, NaN below.",
    .source = "Array API standard 2023.12, log",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"positive", "...=3x5", "", "x: 0.1..4"}, {"the edge", "...=5", "", "x: 0 -1 inf nan 1"}},
});
}  // namespace oarlock::op::log_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::log_ {
static void gradient(GradientCall& c) { c.set(0, divide(c.dout(0), c.in(0))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::log(x); });
}
}  // namespace oarlock::op::log_
