#include "core/op/opdef.h"
namespace oarlock::op::elu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "elu",
    .summary = "x where it is positive, else alpha * (exp(x) - 1). The gradient at 0 is alpha.",
    .source = "Clevert et al. 2015, Fast and accurate deep network learning by exponential linear units; ONNX operator "
              "set 6, Elu",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("alpha", 1)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "", "x: -1..1 not 0 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::elu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::elu_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor zero = number(0, x), low = exp(minimum(x, zero));
  c.set(0, multiply(d, where(less(zero, x), number(1, x), multiply(low, number(c.attrs.real(0), x)))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor zero = number(0, x);
  c.set(0, where(less(zero, x), x, multiply(expm1(minimum(x, zero)), number(c.attrs.real(0), x))));
}
static void reference(KernelCall& c) {
  double a = c.attrs.real(0);
  unary_reference(c, [a](double x) { return x > 0 ? x : a * std::expm1(x); });
}
}  // namespace oarlock::op::elu_
