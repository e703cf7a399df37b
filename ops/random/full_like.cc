#include "core/op/opdef.h"
namespace oarlock::op::full_like_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "full_like",
    .summary = "A tensor of x's shape and dtype whose elements all are value.",
    .source = "Array API standard 2023.12, full_like",
    .inputs = {{"x", "[*S]", constant}},
    .outputs = {{"out", "[*S]"}},
    .attributes = {real("value")},
    .no_gradient = "it does not depend on x's elements",
    .decompose = decompose,
    .cases = {{"a matrix", "S=2x3", "value=2.5"}},
});
}  // namespace oarlock::op::full_like_

#include "rules.h"
namespace oarlock::op::full_like_ {
static void decompose(RuleCall& c) { c.set(0, full(c.in(0).shape(), c.attrs.real(0), c.in(0).dtype())); }
}  // namespace oarlock::op::full_like_
