#include "core/op/opdef.h"
namespace oarlock::op::softmax_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "softmax",
    .summary =
        "exp(x) over its sum along an axis, computed from x minus its maximum. A row of -infinity alone gives NaN.",
    .source = "ONNX operator set 13, Softmax",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kFloat}},
    .attributes = {axis("axis", -1)},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .cases = {{"first axis", "S=3x4", "axis=0"}, {"large", "S=4", "", "x: 1000 999 -1000 0"}, {"no elements", "S=3x0"}},
});
}  // namespace oarlock::op::softmax_

#include "rules.h"
namespace oarlock::op::softmax_ {
static void gradient(GradientCall& c) {
  int64_t axis[] = {c.attrs.integer(0)};
  Tensor along = sum(multiply(c.dout(0), c.out(0)), std::span<const int64_t>(axis), true);
  c.set(0, multiply(subtract(c.dout(0), along), c.out(0)));
}
static void decompose(RuleCall& c) {
  int64_t axis[] = {c.attrs.integer(0)};
  Tensor e = exp(subtract(c.in(0), max(c.in(0), std::span<const int64_t>(axis), true)));
  c.set(0, divide(e, sum(e, std::span<const int64_t>(axis), true)));
}
}  // namespace oarlock::op::softmax_
