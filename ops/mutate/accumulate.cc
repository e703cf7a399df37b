#include "core/op/opdef.h"
namespace oarlock::op::accumulate_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "accumulate",
    .summary = "Adds value to target in place; integers wrap. What gathers gradients over several batches.",
    .source = "torch.Tensor.add_",
    .inputs = {{"target", "[*S]", mutated}, {"value", "[*S]"}},
    .types = {{"T", kNumeric}},
    .no_gradient = "it has no result",
    .decompose = decompose,
    .cases = {{"a matrix", "S=2x3"}},
});
}  // namespace oarlock::op::accumulate_

#include "rules.h"
namespace oarlock::op::accumulate_ {
static void decompose(RuleCall& c) { assign(c.in(0), add(c.in(0), c.in(1))); }
}  // namespace oarlock::op::accumulate_
