#include "core/op/opdef.h"
namespace oarlock::op::logical_xor_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "logical_xor",
    .summary = "True where one of a and b is.",
    .source = "Array API standard 2023.12, logical_xor",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kBool}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"}},
});
}  // namespace oarlock::op::logical_xor_

#include "rules.h"
namespace oarlock::op::logical_xor_ {
static void decompose(RuleCall& c) { c.set(0, not_equal(c.in(0), c.in(1))); }
}  // namespace oarlock::op::logical_xor_
