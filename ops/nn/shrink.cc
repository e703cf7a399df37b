#include "core/op/opdef.h"
namespace oarlock::op::shrink_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "shrink",
    .summary = "x + bias below -lambd, x - bias above lambd, else 0. NaN gives 0.",
    .source = "ONNX operator set 9, Shrink; torch.nn.functional.hardshrink with bias 0, softshrink with bias lambd",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("bias", 0), real("lambd", 0.5).at_least(0)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "bias=0.5 lambd=0.5", "x: -0.4..2 not 0.5 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::shrink_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::shrink_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor limit = number(c.attrs.real(1), x), zero = number(0, d);
  Tensor low = where(less(x, negative(limit)), d, zero);
  c.set(0, where(less(limit, x), d, low));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor limit = number(c.attrs.real(1), x), bias = number(c.attrs.real(0), x);
  Tensor low = where(less(x, negative(limit)), add(x, bias), number(0, x));
  c.set(0, where(less(limit, x), subtract(x, bias), low));
}
static void reference(KernelCall& c) {
  double bias = c.attrs.real(0), limit = c.attrs.real(1);
  unary_reference(c, [bias, limit](double x) { return x > limit ? x - bias : x < -limit ? x + bias : 0; });
}
}  // namespace oarlock::op::shrink_
