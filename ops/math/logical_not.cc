#include "core/op/opdef.h"
namespace oarlock::op::logical_not_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "logical_not",
    .summary = "True where x is false.",
    .source = "Array API standard 2023.12, logical_not",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kBool}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"both", "...=2", "", "x: 0 1"}},
});
}  // namespace oarlock::op::logical_not_

#include "rules.h"
namespace oarlock::op::logical_not_ {
static void decompose(RuleCall& c) { c.set(0, equal(c.in(0), number(0, c.in(0)))); }
}  // namespace oarlock::op::logical_not_
