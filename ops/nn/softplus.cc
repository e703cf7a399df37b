#include "core/op/opdef.h"
namespace oarlock::op::softplus_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "softplus",
    .summary = "log(1 + exp(beta * x)) / beta, exact far from 0 too.",
    .source = "ONNX operator set 22, Softplus; torch.nn.functional.softplus for beta",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("beta", 1).at_least(1e-6)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 8, .of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::softplus_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::softplus_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  c.set(0, multiply(d, sigmoid(multiply(x, number(c.attrs.real(0), x)))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor beta = number(c.attrs.real(0), x), scaled = multiply(x, beta);
  Tensor minus = minimum(scaled, negative(scaled));
  c.set(0, add(maximum(x, number(0, x)), divide(log1p(exp(minus)), beta)));
}
static void reference(KernelCall& c) {
  double b = c.attrs.real(0);
  unary_reference(c, [b](double x) { return (x > 0 ? x : 0 * x) + std::log1p(std::exp(-std::fabs(b * x))) / b; });
}
}  // namespace oarlock::op::softplus_
