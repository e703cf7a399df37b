#include "core/op/opdef.h"
namespace oarlock::op::relu_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "relu",
    .summary = "x where it is positive, else 0; NaN stays. The gradient at 0 is 0.",
    .source = "ONNX operator set 14, Relu",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .saves = {{"out"}},
    .decompose = decompose,
    .cases = {{"away from the kink", "...=5", "", "x: -1..1 not 0 by 0.1"},
              {"nan stays", "...=4", "", "x: nan inf -inf 0"}},
});
}  // namespace oarlock::op::relu_

#include "rules.h"
namespace oarlock::op::relu_ {
static void gradient(GradientCall& c) { c.set(0, relu_gradient(c.dout(0), c.out(0))); }
static void decompose(RuleCall& c) { c.set(0, maximum(c.in(0), number(0, c.in(0)))); }
}  // namespace oarlock::op::relu_
