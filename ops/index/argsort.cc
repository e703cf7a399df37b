#include "core/op/opdef.h"
namespace oarlock::op::argsort_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "argsort",
    .summary =
        "Where the elements of x, sorted along an axis, were. Equal elements keep their order; NaN is the greatest.",
    .source = "Array API standard 2023.12, argsort",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "i64[*S]"}},
    .types = {{"T", kAny}},
    .attributes = {axis("axis", -1), flag("descending", false)},
    .no_gradient = "its results are places",
    .decompose = decompose,
    .cases = {{"nan last", "S=6", "", "x: 1 nan 3 inf -inf 2"}, {"first axis", "S=4x3", "axis=0"}},
});
}  // namespace oarlock::op::argsort_

#include "rules.h"
namespace oarlock::op::argsort_ {
static void decompose(RuleCall& c) { c.set(0, sort(c.in(0), c.attrs.integer(0), c.attrs.flag(1)).indices); }
}  // namespace oarlock::op::argsort_
