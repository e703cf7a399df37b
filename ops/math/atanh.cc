#include "core/op/opdef.h"
namespace oarlock::op::atanh_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "atanh",
    .summary = "Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond.",
    .source = "Array API standard 2023.12, atanh",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"the edges", "...=6", "", "x: 1 -1 0 1.5 nan -0.5"}, {"inside", "...=3x5", "", "x: -0.9..0.9"}},
});
}  // namespace oarlock::op::atanh_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::atanh_ {
static void gradient(GradientCall& c) {
  Tensor one = number(1, c.in(0));
  c.set(0, divide(c.dout(0), subtract(one, square(c.in(0)))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor zero = number(0, x), one = number(1, x), half = number(0.5, x);
  Tensor size = abs(x);
  Tensor out = multiply(half, log1p(divide(add(size, size), subtract(one, size))));
  c.set(0, where(less(x, zero), negative(out), out));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::atanh(x); });
}
}  // namespace oarlock::op::atanh_
