#include "core/op/opdef.h"
namespace oarlock::op::selu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "selu",
    .summary = "gamma * x where x is positive, else gamma * alpha * (exp(x) - 1). The gradient at 0 is gamma * alpha.",
    .source = "Klambauer et al. 2017, Self-normalizing neural networks; ONNX operator set 6, Selu",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("alpha", 1.6732632423543772), real("gamma", 1.0507009873554805)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "", "x: -1..1 not 0 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::selu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::selu_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  double alpha = c.attrs.real(0), gamma = c.attrs.real(1);
  Tensor zero = number(0, x), low = exp(minimum(x, zero));
  c.set(0, multiply(d, where(less(zero, x), number(gamma, x), multiply(low, number(alpha * gamma, x)))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor zero = number(0, x);
  Tensor low = multiply(expm1(minimum(x, zero)), number(c.attrs.real(0), x));
  c.set(0, multiply(where(less(zero, x), x, low), number(c.attrs.real(1), x)));
}
static void reference(KernelCall& c) {
  double a = c.attrs.real(0), g = c.attrs.real(1);
  unary_reference(c, [a, g](double x) { return g * (x > 0 ? x : a * std::expm1(x)); });
}
}  // namespace oarlock::op::selu_
