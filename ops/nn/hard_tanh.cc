#include "core/op/opdef.h"
namespace oarlock::op::hard_tanh_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "hard_tanh",
    .summary = "x, but low below it and high above; there the gradient is 0.",
    .source = "torch.nn.functional.hardtanh",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("low", -1), real("high", 1)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "low=-1 high=1", "x: -2..0.9 not -1 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::hard_tanh_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::hard_tanh_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor zero = number(0, d);
  Tensor in = where(less(x, number(c.attrs.real(1), x)), d, zero);
  c.set(0, where(less(number(c.attrs.real(0), x), x), in, zero));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, minimum(maximum(x, number(c.attrs.real(0), x)), number(c.attrs.real(1), x)));
}
static void reference(KernelCall& c) {
  double low = c.attrs.real(0), high = c.attrs.real(1);
  unary_reference(c, [low, high](double x) {
    double v = x < low ? low : x;
    return v > high ? high : v;
  });
}
}  // namespace oarlock::op::hard_tanh_
