#include "core/op/opdef.h"
namespace oarlock::op::huber_loss_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "huber_loss",
    .summary = "For the difference d of x and target: d * d / 2 where |d| < delta, else delta * (|d| - delta / 2); or "
               "their mean or sum.",
    .source = "Huber 1964, Robust estimation of a location parameter; torch.nn.functional.huber_loss",
    .inputs = {{"x", "[*S]"}, {"target", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("delta", 1).at_least(0), choice("reduction", "mean|none|sum")},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x"}, {"target"}},
    .decompose = decompose,
    .tolerance = {.ulps = 16, .of_absolutes = true},
    .cases = {{"each", "S=2x3", "reduction=none"},
              {"their sum", "S=4", "reduction=sum"},
              {"their mean", "S=2x2", "reduction=mean"},
              {"a scalar", "S=", "reduction=mean"},
              {"none", "S=0x3", "reduction=sum"}},
});
}  // namespace oarlock::op::huber_loss_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::huber_loss_ {
static void infer(InferCall& c) { infer_loss(c, 1, *c.in[0]); }
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor d = share_of(c.dout(0), x.shape(), c.attrs.text(1));
  Tensor gap = subtract(x, target), limit = number(c.attrs.real(0), gap);
  Tensor dx = multiply(maximum(minimum(gap, limit), negative(limit)), d);
  if (c.wants(0)) c.set(0, dx);
  if (c.wants(1)) c.set(1, negative(dx));
}
static void decompose(RuleCall& c) {
  Tensor gap = subtract(c.in(0), c.in(1)), size = maximum(gap, negative(gap)), limit = number(c.attrs.real(0), gap);
  Tensor half = number(0.5, gap), low = multiply(multiply(gap, gap), half);
  Tensor high = multiply(limit, subtract(size, multiply(limit, half)));
  c.set(0, reduced(where(less(size, limit), low, high), c.attrs.text(1)));
}
}  // namespace oarlock::op::huber_loss_
