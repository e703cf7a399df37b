#include "core/op/opdef.h"
namespace oarlock::op::log_sigmoid_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "log_sigmoid",
    .summary = "log(1 / (1 + exp(-x))), exact far from 0 too.",
    .source = "torch.nn.functional.logsigmoid",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::log_sigmoid_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::log_sigmoid_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  c.set(0, multiply(d, sigmoid(negative(x))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor minus = minimum(x, negative(x));
  c.set(0, subtract(minimum(x, number(0, x)), log1p(exp(minus))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return (x < 0 ? x : 0 * x) - std::log1p(std::exp(-std::fabs(x))); });
}
}  // namespace oarlock::op::log_sigmoid_
