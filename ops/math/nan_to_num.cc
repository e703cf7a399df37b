#include "core/op/opdef.h"
namespace oarlock::op::nan_to_num_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "nan_to_num",
    .summary = "x with finite numbers in place of NaN and infinities; those of the infinities are, unless given, the "
               "largest and the lowest of the dtype.",
    .source = "numpy.nan_to_num",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("nan", 0), real("posinf").or_none(), real("neginf").or_none()},
    .decompose = decompose,
    .cases = {{"special values", "...=4", "", "x: nan inf -inf 1.5"},
              {"others", "...=4", "nan=1 posinf=2 neginf=-3", "x: nan inf -inf 1.5"}},
});
}  // namespace oarlock::op::nan_to_num_

#include "rules.h"
#include "numbers.h"
namespace oarlock::op::nan_to_num_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  double high = c.attrs.none(1) ? largest(x.dtype()) : c.attrs.real(1),
         low = c.attrs.none(2) ? -largest(x.dtype()) : c.attrs.real(2);
  Tensor out = where(equal(x, number(INFINITY, x)), number(high, x), x);
  out = where(equal(x, number(-INFINITY, x)), number(low, x), out);
  c.set(0, where(equal(x, x), out, number(c.attrs.real(0), x)));
}
}  // namespace oarlock::op::nan_to_num_
