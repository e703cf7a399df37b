#include "core/op/opdef.h"
namespace oarlock::op::not_equal_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "not_equal",
    .summary = "a != b, element by element. NaN differs from everything.",
    .source = "Array API standard 2023.12, not_equal",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kAny, promotes}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"nan compares true", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::not_equal_

#include "rules.h"
namespace oarlock::op::not_equal_ {
static void decompose(RuleCall& c) {
  Tensor same = equal(c.in(0), c.in(1));
  c.set(0, where(same, number(0, same), number(1, same)));
}
}  // namespace oarlock::op::not_equal_
