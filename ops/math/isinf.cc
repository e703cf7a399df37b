#include "core/op/opdef.h"
namespace oarlock::op::isinf_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "isinf",
    .summary = "True where x is infinite, of either sign.",
    .source = "Array API standard 2023.12, isinf",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kNumeric}},
    .no_gradient = "its results are not numbers",
    .decompose = decompose,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf 1.5"}},
});
}  // namespace oarlock::op::isinf_

#include "rules.h"
namespace oarlock::op::isinf_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  if (!(set_of(x.dtype()) & kFloat)) return c.set(0, full(x.shape(), 0, DType::boolean));
  c.set(0, equal(abs(x), number(INFINITY, x)));
}
}  // namespace oarlock::op::isinf_
