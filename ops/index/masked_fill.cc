#include "core/op/opdef.h"
namespace oarlock::op::masked_fill_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "masked_fill",
    .summary = "value where mask is true, x elsewhere.",
    .source = "torch.Tensor.masked_fill",
    .inputs = {{"x", "[...]"}, {"mask", "bool[...]", constant}, {"value", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kAny}},
    .decompose = decompose,
    .cases = {{"all three broadcast", "...=3x1x1|4x1|5"},
              {"what is not chosen does not matter", "...=6", "", "x: nan inf -inf"}},
});
}  // namespace oarlock::op::masked_fill_

#include "rules.h"
namespace oarlock::op::masked_fill_ {
static void decompose(RuleCall& c) { c.set(0, where(c.in(1), c.in(2), c.in(0))); }
}  // namespace oarlock::op::masked_fill_
