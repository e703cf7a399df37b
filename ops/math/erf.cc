#include "core/op/opdef.h"
namespace oarlock::op::erf_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "erf",
    .summary = "The error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.",
    .source = "ONNX operator set 13, Erf; erf",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"far from zero", "...=5", "", "x: -1000 1000 0 nan -inf"}},
});
}  // namespace oarlock::op::erf_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::erf_ {
static void gradient(GradientCall& c) {
  constexpr double kScale = 1.1283791670955125739;  // 2/sqrt(pi)
  Tensor slope = exp(negative(multiply(c.in(0), c.in(0))));
  c.set(0, multiply(c.dout(0), multiply(slope, number(kScale, slope))));
}
static void reference(KernelCall& c) {
  unary_reference(c, [](double x) { return std::erf(x); });
}
}  // namespace oarlock::op::erf_
