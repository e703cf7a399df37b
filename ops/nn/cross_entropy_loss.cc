#include "core/op/opdef.h"
namespace oarlock::op::cross_entropy_loss_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "cross_entropy_loss",
    .summary = "cross_entropy with its classes along axis, with weights of classes, smoothed labels, and labels to "
               "ignore. label_smoothing s takes (1 - s) of the loss of the label and s of the mean of the losses of "
               "all classes. The mean is over the weights of the labels that count; without any, NaN.",
    .source =
        "torch.nn.functional.cross_entropy; Szegedy et al. 2016, Rethinking the Inception architecture, section 7",
    .inputs = {{"logits", "[*S]"},
               {"labels", "I[*_]", constant, "0..S[axis]-1"},
               {"weight", "[C]", optional | constant}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}, {"I", kInt}},
    .attributes = {axis("axis", -1), integer("ignore_index", -100), real("label_smoothing", 0).at_least(0).at_most(1),
                   choice("reduction", "mean|none|sum")},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"rows", "S=4x3 labels=4", "axis=1 ignore_index=-100 reduction=mean label_smoothing=0.125",
               "labels: 0..2"},
              {"classes before places", "S=2x3x2 labels=2x2 C=3",
               "axis=1 ignore_index=1 reduction=mean label_smoothing=0.125", "labels: 0..2; weight: 0.5..2"},
              {"each", "S=3x4 labels=4 C=3", "axis=0 ignore_index=-100 reduction=none label_smoothing=0.125",
               "labels: 0..2; weight: 0.5..2"},
              {"a single row", "S=3 labels=", "axis=0 reduction=sum label_smoothing=0.125", "labels: 0..2"},
              {"no rows", "S=0x3 labels=0", "axis=1 reduction=sum label_smoothing=0.125"}},
});
}  // namespace oarlock::op::cross_entropy_loss_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::cross_entropy_loss_ {
static void infer(InferCall& c) { infer_labels(c, 3); }
static void decompose(RuleCall& c) {
  int axis = int(c.attrs.integer(0));
  const Tensor& labels = c.in(1);
  Tensor counted = not_equal(as(labels, DType::i64), full({}, double(c.attrs.integer(1)), DType::i64));
  Tensor safe = where(counted, labels, number(0, labels)), weights;
  if (c.has(2)) weights = gather(c.in(2), safe);
  Tensor x = axis_last(c.in(0), axis), losses = cross_entropy(x, safe);
  if (weights) losses = multiply(losses, weights);
  if (double smooth = c.attrs.real(2); smooth > 0) {
    Tensor all = log_softmax(x), n = number(x.shape()[x.rank() - 1], x);
    if (weights) all = multiply(all, c.in(2));
    Tensor even = divide(sum(all, {-1}), n);
    losses = subtract(multiply(losses, number(1 - smooth, losses)), multiply(even, number(smooth, losses)));
  }
  c.set(0, reduced_labels(losses, weights, counted, c.attrs.text(3)));
}
}  // namespace oarlock::op::cross_entropy_loss_
