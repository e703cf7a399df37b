#include "core/op/opdef.h"
namespace oarlock::op::leaky_relu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "leaky_relu",
    .summary = "x where it is positive, else alpha * x. The gradient at 0 is alpha.",
    .source = "ONNX operator set 16, LeakyRelu",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("alpha", 0.01)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "", "x: -1..1 not 0 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::leaky_relu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::leaky_relu_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  c.set(0, where(less(number(0, x), x), d, multiply(d, number(c.attrs.real(0), d))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, where(less(number(0, x), x), x, multiply(x, number(c.attrs.real(0), x))));
}
static void reference(KernelCall& c) {
  double a = c.attrs.real(0);
  unary_reference(c, [a](double x) { return x > 0 ? x : a * x; });
}
}  // namespace oarlock::op::leaky_relu_
