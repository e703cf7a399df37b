#include "core/op/opdef.h"
namespace oarlock::op::binary_cross_entropy_with_logits_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "binary_cross_entropy_with_logits",
    .summary = "binary_cross_entropy of sigmoid(x), exact far from 0 too; the losses of target 1 are multiplied by "
               "positive_weight. Or their mean or sum.",
    .source = "torch.nn.functional.binary_cross_entropy_with_logits",
    .inputs = {{"x", "[...]"}, {"target", "[...]"}, {"positive_weight", "[...]", optional | constant}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {choice("reduction", "mean|none|sum")},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"target"}, {"positive_weight"}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"each", "...=2x3", "reduction=none", "x: -2..2; target: 0..1"},
              {"far from zero", "...=4", "reduction=none", "x: 1000 -1000 1000 -1000; target: 0 1 1 0"},
              {"weighed", "...=2x3|2x3|3", "reduction=mean", "x: -2..2; target: 0..1"},
              {"none", "...=0x3", "reduction=sum"}},
});
}  // namespace oarlock::op::binary_cross_entropy_with_logits_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::binary_cross_entropy_with_logits_ {
static void infer(InferCall& c) { infer_loss(c, 0, c.batch); }
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor weight = c.count() > 2 ? c.in(2) : Tensor(), one = number(1, x);
  Tensor sum = add(x, target),
         d = share_of(c.dout(0), weight ? add(sum, weight).shape() : sum.shape(), c.attrs.text(0));
  if (weight) {
    Tensor w = add(one, multiply(subtract(weight, one), target)), minus = negative(x);
    if (c.wants(0)) c.set(0, multiply(subtract(subtract(one, target), multiply(w, sigmoid(minus))), d));
    if (c.wants(1)) c.set(1, multiply(add(minus, multiply(subtract(weight, one), softplus(minus))), d));
  } else {
    if (c.wants(0)) c.set(0, multiply(subtract(sigmoid(x), target), d));
    if (c.wants(1)) c.set(1, multiply(negative(x), d));
  }
}
static void decompose(RuleCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor one = number(1, x), losses;
  if (c.has(2)) {
    Tensor w = add(one, multiply(subtract(c.in(2), one), target));
    losses = add(multiply(subtract(one, target), x), multiply(w, softplus(negative(x))));
  } else losses = subtract(softplus(x), multiply(x, target));
  c.set(0, reduced(losses, c.attrs.text(0)));
}
}  // namespace oarlock::op::binary_cross_entropy_with_logits_
