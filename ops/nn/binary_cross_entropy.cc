#include "core/op/opdef.h"
namespace oarlock::op::binary_cross_entropy_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "binary_cross_entropy",
    .summary = "-(target * log(x) + (1 - target) * log(1 - x)) of probabilities x, each logarithm at least -100; or "
               "their mean or sum.",
    .source = "torch.nn.functional.binary_cross_entropy",
    .inputs = {{"x", "[*S]"}, {"target", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {choice("reduction", "mean|none|sum")},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"target"}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"each", "S=2x3", "reduction=none", "x: 0.1..0.9; target: 0..1"},
              {"certain and right, or wrong", "S=4", "reduction=none", "x: 0 1 0 1; target: 0 1 1 0"},
              {"their mean", "S=2x2", "reduction=mean", "x: 0.1..0.9; target: 0..1"},
              {"none", "S=0x3", "reduction=sum"}},
});
}  // namespace oarlock::op::binary_cross_entropy_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::binary_cross_entropy_ {
static void infer(InferCall& c) { infer_loss(c, 0, *c.in[0]); }
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor d = share_of(c.dout(0), x.shape(), c.attrs.text(0));
  Tensor one = number(1, x), least = number(-100, x);
  if (c.wants(0)) {
    Tensor below = maximum(multiply(x, subtract(one, x)), number(1e-12, x));
    c.set(0, multiply(divide(subtract(x, target), below), d));
  }
  if (c.wants(1)) c.set(1, multiply(subtract(maximum(log1p(negative(x)), least), maximum(log(x), least)), d));
}
static void decompose(RuleCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor one = number(1, x), least = number(-100, x);
  Tensor yes = maximum(log(x), least), no = maximum(log1p(negative(x)), least);
  Tensor both = add(multiply(target, yes), multiply(subtract(one, target), no));
  c.set(0, reduced(negative(both), c.attrs.text(0)));
}
}  // namespace oarlock::op::binary_cross_entropy_
