#include "core/op/opdef.h"
namespace oarlock::op::hard_sigmoid_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "hard_sigmoid",
    .summary = "alpha * x + beta, cut off below 0 and above 1, where the gradient is 0.",
    .source = "ONNX operator set 22, HardSigmoid",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("alpha", 0.2), real("beta", 0.5)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "alpha=0.2 beta=0.5", "x: -4..4 not 2.5 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::hard_sigmoid_

#include "rules.h"
namespace oarlock::op::hard_sigmoid_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  double alpha = c.attrs.real(0), beta = c.attrs.real(1);
  Tensor all = wide(x), zero = number(0, x);  // on which side of a kink x lies is not for bf16's rounding to say
  Tensor line = add(multiply(all, number(alpha, all)), number(beta, all));
  Tensor slope = where(less(line, number(1, all)), number(alpha, x), zero);
  c.set(0, multiply(d, where(less(number(0, all), line), slope, zero)));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor line = add(multiply(x, number(c.attrs.real(0), x)), number(c.attrs.real(1), x));
  c.set(0, minimum(maximum(line, number(0, x)), number(1, x)));
}
}  // namespace oarlock::op::hard_sigmoid_
