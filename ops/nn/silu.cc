#include "core/op/opdef.h"
namespace oarlock::op::silu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "silu",
    .summary = "x / (1 + exp(-x)), also called swish.",
    .source = "Hendrycks and Gimpel 2016, Gaussian error linear units; ONNX operator set 24, Swish",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::silu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::silu_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor s = sigmoid(x), one = number(1, x);
  c.set(0, multiply(d, multiply(s, add(one, multiply(x, subtract(one, s))))));
}
static void decompose(RuleCall& c) { c.set(0, multiply(c.in(0), sigmoid(c.in(0)))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return x / (1 + std::exp(-x)); });
}
}  // namespace oarlock::op::silu_
