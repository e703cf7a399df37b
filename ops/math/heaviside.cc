#include "core/op/opdef.h"
namespace oarlock::op::heaviside_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "heaviside",
    .summary = "0 where x is negative, 1 where it is positive, value at 0; NaN stays.",
    .source = "numpy.heaviside",
    .inputs = {{"x", "[...]"}, {"value", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat, promotes}},
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"special values", "...=5", "", "x: 0 nan inf -inf -0.0"}},
});
}  // namespace oarlock::op::heaviside_

#include "rules.h"
namespace oarlock::op::heaviside_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Tensor zero = number(0, x), one = number(1, x);
  c.set(0, where(less(x, zero), zero, where(less(zero, x), one, where(equal(x, zero), c.in(1), x))));
}
}  // namespace oarlock::op::heaviside_
