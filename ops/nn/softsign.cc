#include "core/op/opdef.h"
namespace oarlock::op::softsign_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "softsign",
    .summary = "x / (1 + |x|).",
    .source = "ONNX operator set 22, Softsign",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"},
              {"away from the kinks", "...=7", "", "x: -1..1 not 0 by 0.1"},
              {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::softsign_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::softsign_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &d = c.dout(0);
  Tensor below = add(number(1, x), maximum(x, negative(x)));
  c.set(0, divide(divide(d, below), below));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, divide(x, add(number(1, x), maximum(x, negative(x)))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return x / (1 + std::fabs(x)); });
}
}  // namespace oarlock::op::softsign_
