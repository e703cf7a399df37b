#include "core/op/opdef.h"
namespace oarlock::op::copysign_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "copysign",
    .summary = "a with the sign of b, also of its zeros. A NaN in b counts as positive.",
    .source = "IEEE 754-2019, copySign",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat, promotes}},
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=5", "", "a: 1 -2 inf -inf nan; b: -1 -0.0 0 -inf 3"},
              {"away from zero", "...=5", "", "a: -2..2 not 0 by 0.2; b: -2..2 not 0 by 0.2"}},
});
}  // namespace oarlock::op::copysign_

#include "rules.h"
namespace oarlock::op::copysign_ {
static void decompose(RuleCall& c) {
  const Tensor& b = c.in(1);
  Tensor size = abs(c.in(0)), zero = number(0, b);
  Tensor below = less(where(equal(b, zero), divide(number(1, b), b), b), zero);  // 1 / -0 is negative
  c.set(0, where(below, negative(size), size));
}
}  // namespace oarlock::op::copysign_
