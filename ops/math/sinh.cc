#include "core/op/opdef.h"
namespace oarlock::op::sinh_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sinh",
    .summary = "Hyperbolic sine.",
    .source = "Array API standard 2023.12, sinh",
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
}  // namespace oarlock::op::sinh_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::sinh_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), cosh(c.in(0)))); }
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor zero = number(0, x), one = number(1, x), half = number(0.5, x);
  Tensor size = abs(x), e = expm1(size), root = exp(multiply(size, half));
  Tensor near = multiply(half, add(e, divide(e, add(e, one)))), far = multiply(multiply(half, root), root);
  Tensor out = where(less(number(info(x.dtype()).bits > 16 ? 20 : 8, x), size), far,
                     near);  // half a square overflows where sinh does
  c.set(0, where(less(x, zero), negative(out), out));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::sinh(x); });
}
}  // namespace oarlock::op::sinh_
