#include "core/op/opdef.h"
namespace oarlock::op::bitwise_invert_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "bitwise_invert",
    .summary = "Every bit turned around: -1 - x, or the largest number minus x where there is no sign.",
    .source = "Array API standard 2023.12, bitwise_invert",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kBool | kInt}},
    .no_gradient = "it works on bits",
    .decompose = decompose,
    .cases = {{"both ends", "...=3", "", "x: 0 1 127"}},
});
}  // namespace oarlock::op::bitwise_invert_

#include "rules.h"
#include "numbers.h"
namespace oarlock::op::bitwise_invert_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, x.dtype() == DType::boolean ? equal(x, number(0, x)) : inverted(x));
}
}  // namespace oarlock::op::bitwise_invert_
