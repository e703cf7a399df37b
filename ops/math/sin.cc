#include "core/op/opdef.h"
namespace oarlock::op::sin_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sin",
    .summary = "Sine of x in radians; NaN at infinity.",
    .source = "Array API standard 2023.12, sin",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"},
              {"far from zero", "...=3", "", "x: 100 -1000 30000"}},
});
}  // namespace oarlock::op::sin_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::sin_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), cos(c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::sin(x); });
}
}  // namespace oarlock::op::sin_
