#include "core/op/opdef.h"
namespace oarlock::op::asinh_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "asinh",
    .summary = "Inverse hyperbolic sine.",
    .source = "Array API standard 2023.12, asinh",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 8},
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"},
              {"large and small", "...=4", "", "x: 60000 -60000 0.001 -20"}},
});
}  // namespace oarlock::op::asinh_

#include "rules.h"
#include "elementwise.h"
#include "numbers.h"
namespace oarlock::op::asinh_ {
static void gradient(GradientCall& c) {
  Tensor one = number(1, c.in(0));
  c.set(0, divide(c.dout(0), sqrt(add(one, square(c.in(0))))));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  double limit = 1 / std::sqrt(epsilon(x.dtype()));  // from here on x * x + 1 is x * x
  Tensor one = number(1, x), size = abs(x), inside = minimum(size, number(limit, x)), square = multiply(inside, inside);
  Tensor near = log1p(add(inside, divide(square, add(one, sqrt(add(square, one))))));
  Tensor out = where(less(number(limit, x), size), add(log(size), number(std::numbers::ln2, x)), near);
  c.set(0, where(less(x, number(0, x)), negative(out), out));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::asinh(x); });
}
}  // namespace oarlock::op::asinh_
