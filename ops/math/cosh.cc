#include "core/op/opdef.h"
namespace oarlock::op::cosh_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "cosh",
    .summary = "Hyperbolic cosine.",
    .source = "Array API standard 2023.12, cosh",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 8},
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"}, {"large", "...=4", "", "x: 89 -89 0.001 -20"}},
});
}  // namespace oarlock::op::cosh_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::cosh_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), sinh(c.in(0)))); }
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor half = number(0.5, x), root = exp(multiply(abs(x), half)), e = multiply(root, root);
  Tensor near = multiply(half, add(e, divide(number(1, x), e))), far = multiply(multiply(half, root), root);
  c.set(0, where(less(number(info(x.dtype()).bits > 16 ? 20 : 8, x), abs(x)), far, near));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::cosh(x); });
}
}  // namespace oarlock::op::cosh_
