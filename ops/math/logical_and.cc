#include "core/op/opdef.h"
namespace oarlock::op::logical_and_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "logical_and",
    .summary = "True where a and b are.",
    .source = "Array API standard 2023.12, logical_and",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kBool}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"}},
});
}  // namespace oarlock::op::logical_and_

#include "rules.h"
namespace oarlock::op::logical_and_ {
static void decompose(RuleCall& c) { c.set(0, where(c.in(0), c.in(1), number(0, c.in(1)))); }
}  // namespace oarlock::op::logical_and_
