#include "core/op/opdef.h"
namespace oarlock::op::gelu_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "gelu",
    .summary = "x * P(X <= x) of a normal X; or, if approximate is tanh, 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + "
               "0.044715 * x^3))).",
    .source = "Hendrycks and Gimpel 2016, Gaussian error linear units; ONNX operator set 20, Gelu",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {choice("approximate", "none|tanh")},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.ulps = 8, .of_absolutes = true},
    .cases = {{"far from zero", "...=6", "", "x: -1000 1000 0 nan 20 -20"}, {"nothing", "...=2x0"}},
});
}  // namespace oarlock::op::gelu_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::gelu_ {
static constexpr double kScale = 0.7978845608028654, kCube = 0.044715;  // sqrt(2 / pi)
static constexpr double kRootHalf = 0.7071067811865476;
// tanh is 1 before 10, and a cube of more might overflow.
static Tensor clamped(const Tensor& x) { return minimum(maximum(x, number(-10, x)), number(10, x)); }
static Tensor curve(const Tensor& x, const Tensor& square) {
  return tanh(multiply(x, add(number(kScale, x), multiply(square, number(kCube * kScale, x)))));
}
static void gradient(GradientCall& c) { c.set(0, gelu_gradient(c.dout(0), c.in(0), c.attrs.text(0))); }
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor gate;
  if (c.attrs.text(0) == "tanh") {
    Tensor near = clamped(x);
    gate = curve(near, multiply(near, near));
  } else gate = erf(multiply(x, number(kRootHalf, x)));
  c.set(0, multiply(multiply(x, number(0.5, x)), add(number(1, x), gate)));
}
static void reference(KernelCall& c) {
  bool by_tanh = c.attrs.text(0) == "tanh";
  unary_reference(c, [by_tanh](double x) {
    return 0.5 * x * (1 + (by_tanh ? std::tanh(kScale * (x + kCube * x * x * x)) : std::erf(x * kRootHalf)));
  });
}
}  // namespace oarlock::op::gelu_
