#include "core/op/opdef.h"
namespace oarlock::op::square_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "square",
    .summary = "x * x. Integers wrap.",
    .source = "Array API standard 2023.12, square",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .saves = {{"x"}},
    .decompose = decompose,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"}},
});
}  // namespace oarlock::op::square_

#include "rules.h"
namespace oarlock::op::square_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), add(c.in(0), c.in(0)))); }
static void decompose(RuleCall& c) { c.set(0, multiply(c.in(0), c.in(0))); }
}  // namespace oarlock::op::square_
