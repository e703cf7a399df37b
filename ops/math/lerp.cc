#include "core/op/opdef.h"
namespace oarlock::op::lerp_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "lerp",
    .summary = "From a, where weight is 0, to b, where it is 1, both exactly: a + weight * (b - a).",
    .source = "torch.lerp",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}, {"weight", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat, promotes}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"all three broadcast", "...=3x1x1|4x1|5"}, {"the ends", "...=4", "", "weight: 0 1 0.5 2"}},
});
}  // namespace oarlock::op::lerp_

#include "rules.h"
namespace oarlock::op::lerp_ {
static void decompose(RuleCall& c) {
  const Tensor &a = c.in(0), &b = c.in(1), &weight = c.in(2);
  Tensor far = subtract(b, a), near = add(a, multiply(weight, far));
  Tensor other = subtract(b, multiply(subtract(number(1, weight), weight), far));
  c.set(0, where(less(weight, number(0.5, weight)), near, other));
}
}  // namespace oarlock::op::lerp_
