#include "core/op/opdef.h"
namespace oarlock::op::hard_swish_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "hard_swish",
    .summary = "x * (x / 6 + 1 / 2), the second factor cut off below 0 and above 1.",
    .source = "Howard et al. 2019, Searching for MobileNetV3; ONNX operator set 22, HardSwish",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "", "x: -2.5..2.5"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::hard_swish_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::hard_swish_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor three = number(3, x);
  Tensor slope = where(less(x, three), add(divide(x, three), number(0.5, x)), number(1, x));
  c.set(0, multiply(d, where(less(number(-3, x), x), slope, number(0, x))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor line = add(divide(x, number(6, x)), number(0.5, x));
  c.set(0, multiply(x, minimum(maximum(line, number(0, x)), number(1, x))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) {
    double v = x / 6 + 0.5;
    return x * (v < 0 ? 0 : v > 1 ? 1 : v);
  });
}
}  // namespace oarlock::op::hard_swish_
