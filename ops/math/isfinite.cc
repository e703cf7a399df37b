#include "core/op/opdef.h"
namespace oarlock::op::isfinite_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "isfinite",
    .summary = "True where x is neither infinite nor NaN.",
    .source = "Array API standard 2023.12, isfinite",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kNumeric}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"}},
});
}  // namespace oarlock::op::isfinite_

#include "rules.h"
namespace oarlock::op::isfinite_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  if (!(set_of(x.dtype()) & kFloat)) return c.set(0, full(x.shape(), 1, DType::boolean));
  c.set(0, less(abs(x), number(INFINITY, x)));
}
}  // namespace oarlock::op::isfinite_
