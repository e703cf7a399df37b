#include "core/op/opdef.h"
namespace oarlock::op::mish_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "mish",
    .summary = "x * tanh(log(1 + exp(x))).",
    .source = "Misra 2019, Mish: a self regularized non-monotonic activation function; ONNX operator set 22, Mish",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 8, .of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::mish_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::mish_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor t = tanh(softplus(x)), one = number(1, x);
  c.set(0, multiply(d, add(t, multiply(multiply(x, sigmoid(x)), subtract(one, multiply(t, t))))));
}
static void decompose(RuleCall& c) { c.set(0, multiply(c.in(0), tanh(softplus(c.in(0))))); }
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return x * std::tanh((x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)))); });
}
}  // namespace oarlock::op::mish_
