#include "core/op/opdef.h"
namespace oarlock::op::cross_entropy_gradient_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "cross_entropy_gradient",
    .summary = "The gradient of cross_entropy with respect to its logits: (softmax - one_hot(labels)) * dy, from the "
               "logarithms of softmax. A label outside 0..C-1 takes nothing off.",
    .source = "ONNX operator set 13, SoftmaxCrossEntropyLoss",
    .inputs = {{"dy", "[*B]"},
               {"log_probabilities", "[*B, C]", plain, "not positive"},
               {"labels", "I[*B]", constant, "0..C-1"}},
    .outputs = {{"dlogits", "[*B, C]"}},
    .types = {{"T", kFloat}, {"I", kInt}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"a batch", "B=4 C=3"}, {"a single row", "B= C=5"}, {"no rows", "B=0 C=3"}},
});
}  // namespace oarlock::op::cross_entropy_gradient_

#include "rules.h"
namespace oarlock::op::cross_entropy_gradient_ {
static void decompose(RuleCall& c) {
  const Tensor& lp = c.in(1);
  Tensor target = one_hot(c.in(2), lp.shape()[lp.rank() - 1], lp.dtype());
  c.set(0, multiply(subtract(exp(lp), target), unsqueeze(c.in(0), {-1})));
}
}  // namespace oarlock::op::cross_entropy_gradient_
