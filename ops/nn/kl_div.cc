#include "core/op/opdef.h"
namespace oarlock::op::kl_div_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "kl_div",
    .summary =
        "target * (log(target) - x) of probabilities target, 0 where target is 0, and of logarithms x; if log_target, "
        "target is a logarithm too. Or their mean or sum, or (batchmean) their sum over the size of axis 0.",
    .source = "torch.nn.functional.kl_div",
    .inputs = {{"x", "[*S]"}, {"target", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kFloat}},
    .attributes = {flag("log_target", false), choice("reduction", "mean|none|sum|batchmean")},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"each", "S=2x3", "reduction=none log_target=false", "target: 0..1"},
              {"of nothing", "S=3", "reduction=none log_target=false", "target: 0"},
              {"logarithms", "S=2x3", "reduction=batchmean log_target=true"},
              {"none", "S=0x3", "reduction=sum"}},
});
}  // namespace oarlock::op::kl_div_

#include "rules.h"
#include "loss.h"
namespace oarlock::op::kl_div_ {
static void infer(InferCall& c) { infer_loss(c, 1, *c.in[0]); }
static void decompose(RuleCall& c) {
  const Tensor &x = c.in(0), &target = c.in(1);
  Tensor losses;
  if (c.attrs.flag(0)) losses = multiply(exp(target), subtract(target, x));
  else {
    Tensor zero = number(0, x), some = less(zero, target), one = number(1, x);
    losses = where(some, multiply(target, subtract(log(where(some, target, one)), x)), zero);
  }
  if (c.attrs.text(1) != "batchmean") return c.set(0, reduced(losses, c.attrs.text(1)));
  Dim rows = x.rank() ? x.shape()[0] : Dim(1);
  c.set(0, divide(sum(losses), number(rows, losses)));
}
}  // namespace oarlock::op::kl_div_
