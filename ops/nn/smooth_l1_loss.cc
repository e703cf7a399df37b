#include "core/op/opdef.h"
namespace oarlock::op::smooth_l1_loss_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "smooth_l1_loss",
    .summary = "For the difference d of x and target: d * d / (2 * beta) where |d| < beta, else |d| - beta / 2; or "
               "their mean or sum.",
    .source = "Girshick 2015, Fast R-CNN; torch.nn.functional.smooth_l1_loss",
    .inputs = {{"x", "[*S]"}, {"target", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("beta", 1).at_least(0), choice("reduction", "mean|none|sum")},
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
}  // namespace oarlock::op::smooth_l1_loss_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::smooth_l1_loss_ {
static void infer(InferCall& c) { infer_loss(c, 1, *c.in[0]); }
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor d = share_of(c.dout(0), x.shape(), c.attrs.text(1));
  Tensor gap = subtract(x, target), zero = number(0, d), minus = negative(d);
  Tensor outside = where(less(zero, gap), d, where(less(gap, zero), minus, zero)), dx = outside;
  if (double beta = c.attrs.real(0); beta > 0) {
    Tensor limit = number(beta, gap);
    dx = where(less(maximum(gap, negative(gap)), limit), multiply(divide(gap, limit), d), outside);
  }
  if (c.wants(0)) c.set(0, dx);
  if (c.wants(1)) c.set(1, negative(dx));
}
static void decompose(RuleCall& c) {
  if (c.attrs.real(0) == 0) return c.set(0, l1_loss(c.in(0), c.in(1), c.attrs.text(1)));
  Tensor gap = subtract(c.in(0), c.in(1)), size = maximum(gap, negative(gap)), limit = number(c.attrs.real(0), gap);
  Tensor half = number(0.5, gap), inside = less(size, limit);
  Tensor low = divide(multiply(multiply(gap, gap), half), limit);
  c.set(0, reduced(where(inside, low, subtract(size, multiply(limit, half))), c.attrs.text(1)));
}
}  // namespace oarlock::op::smooth_l1_loss_
