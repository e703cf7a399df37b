#include "core/op/opdef.h"
namespace oarlock::op::clip_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "clip",
    .summary = "x where it lies between min and max, else the nearer of them; NaN stays, and max wins where it is "
               "below min. At the limits x gets the gradient.",
    .source = "Array API standard 2023.12, clip",
    .inputs = {{"x", "[...]"}, {"min", "[...]", optional}, {"max", "[...]", optional}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"x"}, {"min"}, {"max"}},
    .decompose = decompose,
    .cases = {{"a row of nan", "...=5", "", "x: nan; min: -10; max: 10"},
              {"both sides broadcast", "...=3x1|4|1", "", "x: distinct"},
              {"infinities", "...=4", "", "x: inf -inf 0 nan"}},
});
}  // namespace oarlock::op::clip_

#include "rules.h"
namespace oarlock::op::clip_ {
template <class Call>
static const Tensor& limit(const Call& c, size_t i) {
  static const Tensor none;
  return i < c.inputs.size() ? c.inputs[i] : none;
}
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &low = limit(c, 1), &high = limit(c, 2), &d = c.dout(0);
  Tensor zero = number(0, d), at_x = d, at_low = zero, at_high = zero, raised = x;
  if (low.defined()) {
    Tensor below = less(x, low);
    raised = where(below, low, x);
    at_x = where(below, zero, d);
    at_low = where(below, d, zero);
  }
  if (high.defined()) {
    Tensor above = less(high, raised);
    at_x = where(above, zero, at_x);
    at_low = where(above, zero, at_low);
    at_high = where(above, d, zero);
  }
  c.set(0, at_x);
  if (low.defined() && c.wants(1)) c.set(1, at_low);
  if (high.defined() && c.wants(2)) c.set(2, at_high);
}
static void decompose(RuleCall& c) {
  Tensor out = c.in(0);
  if (c.has(1)) out = maximum(out, c.in(1));
  if (c.has(2)) out = minimum(out, c.in(2));
  c.set(0, c.has(1) || c.has(2) ? out : copy(out));
}
}  // namespace oarlock::op::clip_
