#include "core/op/opdef.h"
namespace oarlock::op::thresholded_relu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "thresholded_relu",
    .summary = "x where it is above threshold, else value; there the gradient is 0. NaN stays.",
    .source = "ONNX operator set 22, ThresholdedRelu; torch.nn.functional.threshold for value",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("threshold", 1), real("value", 0)},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "threshold=1 value=0.5", "x: -1..2 not 1 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::thresholded_relu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::thresholded_relu_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  c.set(0, where(less_equal(x, number(c.attrs.real(0), x)), number(0, d), d));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, where(less_equal(x, number(c.attrs.real(0), x)), number(c.attrs.real(1), x), x));
}
static void reference(KernelCall& c) {
  double t = c.attrs.real(0), v = c.attrs.real(1);
  unary_reference(c, [t, v](double x) { return x <= t ? v : x; });
}
}  // namespace oarlock::op::thresholded_relu_
