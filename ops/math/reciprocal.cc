#include "core/op/opdef.h"
namespace oarlock::op::reciprocal_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "reciprocal",
    .summary = "1 / x.",
    .source = "ONNX operator set 13, Reciprocal",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"},
              {"away from zero", "...=7", "", "x: -2..2 not 0 by 0.2"}},
});
}  // namespace oarlock::op::reciprocal_

#include "rules.h"
namespace oarlock::op::reciprocal_ {
static void gradient(GradientCall& c) { c.set(0, negative(multiply(c.dout(0), multiply(c.out(0), c.out(0))))); }
static void decompose(RuleCall& c) { c.set(0, divide(number(1, c.in(0)), c.in(0))); }
}  // namespace oarlock::op::reciprocal_
