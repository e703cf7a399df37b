#include "core/op/opdef.h"
namespace oarlock::op::relu6_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "relu6",
    .summary = "x, but 0 below 0 and 6 above 6; there the gradient is 0.",
    .source = "Howard et al. 2017, MobileNets; torch.nn.functional.relu6",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "", "x: -1..8 not 6 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::relu6_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::relu6_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor zero = number(0, d), in = where(less(x, number(6, x)), d, zero);
  c.set(0, where(less(zero, x), in, zero));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, minimum(maximum(x, number(0, x)), number(6, x)));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return x < 0 ? 0 : x > 6 ? 6 : x; });
}
}  // namespace oarlock::op::relu6_
