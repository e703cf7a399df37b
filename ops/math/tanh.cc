#include "core/op/opdef.h"
namespace oarlock::op::tanh_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "tanh",
    .summary = "Hyperbolic tangent.",
    .source = "Array API standard 2023.12, tanh",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .reference = reference,
    .cases = {{"far from zero", "...=5", "", "x: -1000 1000 0 nan -inf"}},
});
}  // namespace oarlock::op::tanh_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::tanh_ {
static void gradient(GradientCall& c) {
  Tensor out = c.out(0);
  c.set(0, multiply(c.dout(0), subtract(number(1, out), multiply(out, out))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::tanh(x); });
}
}  // namespace oarlock::op::tanh_
