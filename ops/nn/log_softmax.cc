#include "core/op/opdef.h"
namespace oarlock::op::log_softmax_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "log_softmax",
    .summary =
        "Logarithm of softmax along an axis, computed without leaving the logarithm: x - max - log(sum(exp(x - max))).",
    .source = "ONNX operator set 13, LogSoftmax",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kFloat}},
    .attributes = {axis("axis", -1)},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"first axis", "S=3x4", "axis=0"}, {"large", "S=4", "", "x: 1000 999 -1000 0"}, {"no elements", "S=3x0"}},
});
}  // namespace oarlock::op::log_softmax_

#include "rules.h"
namespace oarlock::op::log_softmax_ {
static void gradient(GradientCall& c) {
  int64_t axis[] = {c.attrs.integer(0)};
  Tensor total = sum(c.dout(0), std::span<const int64_t>(axis), true);
  c.set(0, subtract(c.dout(0), multiply(exp(c.out(0)), total)));
}
static void decompose(RuleCall& c) {
  int64_t axis[] = {c.attrs.integer(0)};
  Tensor x = subtract(c.in(0), max(c.in(0), std::span<const int64_t>(axis), true));
  c.set(0, subtract(x, log(sum(exp(x), std::span<const int64_t>(axis), true))));
}
}  // namespace oarlock::op::log_softmax_
