#include "core/op/opdef.h"
namespace oarlock::op::gelu_gradient_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "gelu_gradient",
    .summary = "The gradient of gelu by its operand: dy times gelu's slope at x. approximate as gelu's.",
    .source = "Hendrycks and Gimpel 2016, Gaussian error linear units",
    .inputs = {{"dy", "[...]"}, {"x", "[...]"}},
    .outputs = {{"dx", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {choice("approximate", "none|tanh")},
    .decompose = decompose,
    .tolerance = {.ulps = 16, .of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "|x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::gelu_gradient_

#include "rules.h"
namespace oarlock::op::gelu_gradient_ {
static constexpr double kScale = 0.7978845608028654, kCube = 0.044715;  // sqrt(2 / pi)
static constexpr double kRootHalf = 0.7071067811865476;
static constexpr double kDensity = 0.3989422804014327;  // 1 / sqrt(2 * pi)
static void decompose(RuleCall& c) {
  const Tensor& d = c.in(0);
  Tensor x = c.in(1), half = number(0.5, x), one = number(1, x), slope;
  if (c.attrs.text(0) == "tanh") {
    x = minimum(maximum(x, number(-10, x)), number(10, x));  // tanh is 1 before that, and a cube might overflow
    Tensor square = multiply(x, x);
    Tensor t = tanh(multiply(x, add(number(kScale, x), multiply(square, number(kCube * kScale, x)))));
    Tensor inner = add(number(kScale, x), multiply(square, number(3 * kCube * kScale, x)));
    slope = add(add(one, t), multiply(multiply(x, inner), subtract(one, multiply(t, t))));
    slope = multiply(slope, half);
  } else {
    Tensor density = multiply(exp(multiply(multiply(x, x), number(-0.5, x))), number(kDensity, x));
    slope = add(multiply(add(one, erf(multiply(x, number(kRootHalf, x)))), half), multiply(x, density));
  }
  c.set(0, multiply(d, slope));
}
}  // namespace oarlock::op::gelu_gradient_
