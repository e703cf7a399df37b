#include "core/op/opdef.h"
namespace oarlock::op::cross_entropy_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "cross_entropy",
    .summary = "Minus the logarithm of the probability that softmax over the last axis gives to each label. A label "
               "outside 0..C-1 is an "
               "error.",
    .source = "ONNX operator set 13, SoftmaxCrossEntropyLoss, reduction none",
    .inputs = {{"logits", "[*B, C]"}, {"labels", "I[*B]", constant, "0..C-1"}},
    .outputs = {{"out", "[*B]"}, {"log_probabilities", "[*B, C]", hidden}},
    .types = {{"T", kFloat}, {"I", kInt}},
    .gradient = gradient,
    .saves = {{"labels"}, {"log_probabilities"}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"a batch", "B=4 C=3"},
              {"a single row", "B= C=5"},
              {"large logits", "B=2 C=2", "", "logits: 1000 -1000"},
              {"no rows", "B=0 C=3"}},
});
}  // namespace oarlock::op::cross_entropy_

#include "rules.h"
namespace oarlock::op::cross_entropy_ {
static void gradient(GradientCall& c) {
  const Tensor& lp = c.out(1);
  Tensor d;
  if (c.dout(0)) d = cross_entropy_gradient(c.dout(0), lp, c.in(1));
  if (c.dout(1)) {  // higher orders read the hidden output too
    Tensor through = subtract(c.dout(1), multiply(exp(lp), sum(c.dout(1), {-1}, true)));
    d = d ? add(d, through) : through;
  }
  c.set(0, d);
}
static void decompose(RuleCall& c) {
  const Shape& shape = c.in(0).shape();
  Tensor lp = log_softmax(c.in(0));
  Dim classes = shape[shape.rank - 1], rows = 1;
  Shape out;
  for (int i = 0; i + 1 < shape.rank; ++i) {
    rows = rows * shape[i];
    out.push(shape[i]);
  }
  // One gather of all rows. A label outside its row must not reach into another one, so it is sent out of everything.
  Tensor label = reshape(cast(c.in(1), DType::i64), {rows}), row = arange(rows);
  Tensor n = number(classes, label), all = number(rows * classes, label), zero = number(0, label);
  Tensor at = add(multiply(row, n), label);
  at = where(less(label, zero), all, where(less(label, n), at, all));
  c.set(0, negative(reshape(gather(reshape(lp, {rows * classes}), at), out)));
  c.set(1, lp);
}
}  // namespace oarlock::op::cross_entropy_
