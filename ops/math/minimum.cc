#include "core/op/opdef.h"
namespace oarlock::op::minimum_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "minimum",
    .summary = "The smaller of a and b; NaN if either is. Where they are equal both get half of the gradient.",
    .source = "Array API standard 2023.12, minimum",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"a"}, {"b"}},
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4", "", "a: distinct"}, {"nan wins", "...=33", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::minimum_

#include "rules.h"
namespace oarlock::op::minimum_ {
static void gradient(GradientCall& c) {
  Tensor half = number(0.5, c.dout(0)), zero = number(0, c.dout(0)), one = number(1, c.dout(0));
  Tensor tie = equal(c.in(0), c.in(1));
  auto share = [&](const Tensor& winner, const Tensor& loser) {
    return multiply(c.dout(0), where(less(winner, loser), one, where(tie, half, zero)));
  };
  if (c.wants(0)) c.set(0, share(c.in(0), c.in(1)));
  if (c.wants(1)) c.set(1, share(c.in(1), c.in(0)));
}
static void decompose(RuleCall& c) {  // a where b: negating would fail for the lowest integer and for unsigned ones
  Tensor smaller = where(less(c.in(0), c.in(1)), c.in(0), c.in(1));  // b, where a is NaN
  bool floats = set_of(c.in(0).dtype()) & kFloat;
  c.set(0, floats ? where(equal(c.in(0), c.in(0)), smaller, c.in(0)) : smaller);
}
}  // namespace oarlock::op::minimum_
