#include "core/op/opdef.h"
namespace oarlock::op::global_norm_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "global_norm",
    .summary = "The euclidean norm of all elements of all operands together; f16 and bf16 are summed as f32. What "
               "clipping gradients needs.",
    .source = "Pascanu et al. 2013, On the difficulty of training recurrent neural networks",
    .inputs = {{"xs", "[*_]", variadic}},
    .outputs = {{"out", "[]"}},
    .types = {{"T", kFloat}},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.ulps = 8},
    .cases = {{"two", "xs=2x3|4"}, {"with an empty one", "xs=0|2"}},
});
}  // namespace oarlock::op::global_norm_

#include "rules.h"
namespace oarlock::op::global_norm_ {
static void infer(InferCall& c) {
  if (!c.count) c.fail("it has no operands. Give at least one");
}
static void decompose(RuleCall& c) {
  Tensor total;
  DType t = c.in(0).dtype();
  for (const Tensor& x : c.inputs) {
    Tensor part = sum(square(wide(x)));
    total = total.defined() ? add(total, part) : part;
  }
  c.set(0, as(sqrt(total), t));
}
}  // namespace oarlock::op::global_norm_
