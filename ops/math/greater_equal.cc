#include "core/op/opdef.h"
namespace oarlock::op::greater_equal_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "greater_equal",
    .summary = "a >= b, element by element. False where either is NaN.",
    .source = "Array API standard 2023.12, greater_equal",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"nan compares false", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::greater_equal_

#include "rules.h"
namespace oarlock::op::greater_equal_ {
static void decompose(RuleCall& c) {  // not the negation of the opposite: that is true for NaN
  Tensor same = equal(c.in(0), c.in(1));
  c.set(0, where(less(c.in(1), c.in(0)), number(1, same), same));
}
}  // namespace oarlock::op::greater_equal_
