#include "core/op/opdef.h"
namespace oarlock::op::negative_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "negative",
    .summary = "-x. Keeps the sign of zero; integers wrap, so the lowest stays as it is.",
    .source = "Array API standard 2023.12, negative",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .decompose = decompose,
    .cases = {{"both zeros", "...=4", "", "x: 0 nan inf -inf"}},
});
}  // namespace oarlock::op::negative_

#include "rules.h"
namespace oarlock::op::negative_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  if (set_of(x.dtype()) & kFloat) c.set(0, multiply(x, number(-1, x)));
  else c.set(0, subtract(number(0, x), x));  // -1 is no unsigned number
}
}  // namespace oarlock::op::negative_
