#include "core/op/opdef.h"
namespace oarlock::op::prelu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "prelu",
    .summary = "x where it is positive, else slope * x. The gradient at 0 is that of slope * x.",
    .source = "He et al. 2015, Delving deep into rectifiers; ONNX operator set 16, PRelu",
    .inputs = {{"x", "[...]"}, {"slope", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}, {"slope", "x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"a slope for each channel", "...=2x3x4|3x1", "", "x: -1..1 not 0 by 0.1"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::prelu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::prelu_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &slope = c.in(1), &d = c.dout(0);
  Tensor zero = number(0, d), positive = less(zero, x);
  if (c.wants(0)) c.set(0, where(positive, d, multiply(d, slope)));
  if (c.wants(1)) c.set(1, where(positive, zero, multiply(d, x)));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, where(less(number(0, x), x), x, multiply(x, c.in(1))));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto x, auto slope) { return x > 0 ? x : slope * x; });
}
}  // namespace oarlock::op::prelu_
