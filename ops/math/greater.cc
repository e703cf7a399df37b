#include "core/op/opdef.h"
namespace oarlock::op::greater_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "greater",
    .summary = "a > b, element by element. False where either is NaN.",
    .source = "Array API standard 2023.12, greater",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"nan compares false", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::greater_

#include "rules.h"
namespace oarlock::op::greater_ {
static void decompose(RuleCall& c) { c.set(0, less(c.in(1), c.in(0))); }
}  // namespace oarlock::op::greater_
