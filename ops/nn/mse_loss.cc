#include "core/op/opdef.h"
namespace oarlock::op::mse_loss_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "mse_loss",
    .summary = "Squares of the differences of x and target, or their mean or sum.",
    .source = "torch.nn.functional.mse_loss",
    .inputs = {{"x", "[*S]"}, {"target", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {choice("reduction", "mean|none|sum")},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"target"}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"each", "S=2x3", "reduction=none"},
              {"their sum", "S=4", "reduction=sum"},
              {"their mean", "S=2x2", "reduction=mean"},
              {"a scalar", "S=", "reduction=mean"},
              {"none", "S=0x3", "reduction=sum"}},
});
}  // namespace oarlock::op::mse_loss_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::mse_loss_ {
static void infer(InferCall& c) { infer_loss(c, 0, *c.in[0]); }
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor d = share_of(c.dout(0), x.shape(), c.attrs.text(0));
  Tensor dx = multiply(subtract(x, target), multiply(d, number(2, d)));
  if (c.wants(0)) c.set(0, dx);
  if (c.wants(1)) c.set(1, negative(dx));
}
static void decompose(RuleCall& c) {
  Tensor gap = subtract(c.in(0), c.in(1));
  c.set(0, reduced(multiply(gap, gap), c.attrs.text(0)));
}
}  // namespace oarlock::op::mse_loss_
