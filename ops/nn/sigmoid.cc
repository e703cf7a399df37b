#include "core/op/opdef.h"
namespace oarlock::op::sigmoid_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sigmoid",
    .summary = "1 / (1 + exp(-x)).",
    .source = "ONNX operator set 13, Sigmoid",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::sigmoid_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::sigmoid_ {
static void gradient(GradientCall& c) {
  const Tensor &out = c.out(0), &d = c.dout(0);
  c.set(0, multiply(d, multiply(out, subtract(number(1, out), out))));
}
static void decompose(RuleCall& c) {
  Tensor one = number(1, c.in(0));
  c.set(0, divide(one, add(one, exp(negative(c.in(0))))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return 1 / (1 + std::exp(-x)); });
}
}  // namespace oarlock::op::sigmoid_
