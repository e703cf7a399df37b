#include "core/op/opdef.h"
namespace oarlock::op::relu_gradient_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "relu_gradient",
    .summary = "The gradient of relu by its result: dy where y is positive, else 0.",
    .source = "ONNX operator set 14, Relu",
    .inputs = {{"dy", "[...]"}, {"y", "[...]", constant}},
    .outputs = {{"dx", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .saves = {{"y"}},
    .decompose = decompose,
    .cases = {{"on both sides", "...=5", "", "|y: -1..1 not 0 by 0.1"},
              {"nan is not positive", "...=4", "", "|y: nan inf -inf 0"}},
});
}  // namespace oarlock::op::relu_gradient_

#include "rules.h"
namespace oarlock::op::relu_gradient_ {
static void gradient(GradientCall& c) { c.set(0, relu_gradient(c.dout(0), c.in(1))); }
static void decompose(RuleCall& c) {
  Tensor zero = number(0, c.in(1));
  c.set(0, where(less(zero, c.in(1)), c.in(0), zero));
}
}  // namespace oarlock::op::relu_gradient_
