#include "core/op/opdef.h"
namespace oarlock::op::vecdot_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "vecdot",
    .summary = "Sums of products along the last axis, the axes before it broadcast. Integers wrap.",
    .source = "Array API standard 2023.12, vecdot, axis -1",
    .inputs = {{"a", "[..., N]"}, {"b", "[..., N]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"batches broadcast", "...=5x1|4 N=3"}, {"an empty sum is zero", "...=2 N=0"}},
});
}  // namespace oarlock::op::vecdot_

#include "rules.h"
namespace oarlock::op::vecdot_ {
static void decompose(RuleCall& c) {
  Tensor product = multiply(c.in(0), c.in(1));
  c.set(0, sum(product, {product.rank() - 1}));
}
}  // namespace oarlock::op::vecdot_
