#include "core/op/opdef.h"
namespace oarlock::op::outer_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "outer",
    .summary = "The products of every element of a with every one of b.",
    .source = "Array API standard 2023.12, linalg.outer",
    .inputs = {{"a", "[M]"}, {"b", "[N]"}},
    .outputs = {{"out", "[M, N]"}},
    .types = {{"T", kNumeric, promotes}},
    .decompose = decompose,
    .cases = {{"plain", "M=2 N=3"}, {"with nothing", "M=0 N=2"}},
});
}  // namespace oarlock::op::outer_

#include "rules.h"
namespace oarlock::op::outer_ {
static void decompose(RuleCall& c) { c.set(0, multiply(unsqueeze(c.in(0), {1}), c.in(1))); }
}  // namespace oarlock::op::outer_
