#include "core/op/opdef.h"
namespace oarlock::op::nll_loss_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "nll_loss",
    .summary = "-x of the label of each row, times the weight of that class; x are logarithms of probabilities and "
               "axis is that of the classes. 0 for the label ignore_index. The mean is over the weights of the labels "
               "that count; without any, NaN.",
    .source = "torch.nn.functional.nll_loss",
    .inputs = {{"x", "[*S]"}, {"labels", "I[*_]", constant, "0..S[axis]-1"}, {"weight", "[C]", optional | constant}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}, {"I", kInt}},
    .attributes = {axis("axis", -1), integer("ignore_index", -100), choice("reduction", "mean|none|sum")},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.ulps = 16, .of_absolutes = true},
    .cases = {{"rows", "S=4x3 labels=4", "axis=1 ignore_index=-100 reduction=mean", "labels: 0..2"},
              {"classes before places", "S=2x3x2 labels=2x2 C=3", "axis=1 ignore_index=1 reduction=mean",
               "labels: 0..2; weight: 0.5..2"},
              {"each", "S=3x4 labels=4 C=3", "axis=0 ignore_index=-100 reduction=none", "labels: 0..2; weight: 0.5..2"},
              {"a single row", "S=3 labels=", "axis=0 reduction=sum", "labels: 0..2"},
              {"no rows", "S=0x3 labels=0", "axis=1 reduction=sum"}},
});
}  // namespace oarlock::op::nll_loss_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::nll_loss_ {
static void infer(InferCall& c) { infer_labels(c, 2); }
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(0));
  const Tensor& labels = c.in(1);
  Tensor counted = not_equal(as(labels, DType::i64), full({}, double(c.attrs.integer(1)), DType::i64));
  Tensor safe = where(counted, labels, number(0, labels)), weights;
  if (c.has(2)) weights = gather(c.in(2), safe);
  Tensor x = axis_last(c.in(0), axis);
  Tensor mask = one_hot(safe, x.shape()[x.rank() - 1], DType::boolean);
  Tensor losses = negative(sum(where(mask, x, number(0, x)), {-1}));
  if (weights) losses = multiply(losses, weights);
  c.set(0, reduced_labels(losses, weights, counted, c.attrs.text(2)));
}
}  // namespace oarlock::op::nll_loss_
