#include "core/op/opdef.h"
namespace oarlock::op::exp_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "exp",
    .summary = "e to the power x.",
    .source = "Array API standard 2023.12, exp",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .reference = reference,
    .cases = {{"overflow and underflow", "...=5", "", "x: -1000 1000 0 nan -inf"}},
});
}  // namespace oarlock::op::exp_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::exp_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), c.out(0))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::exp(x); });
}
}  // namespace oarlock::op::exp_
