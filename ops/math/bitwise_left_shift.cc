#include "core/op/opdef.h"
namespace oarlock::op::bitwise_left_shift_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "bitwise_left_shift",
    .summary = "a with its bits moved up by b places, zeros in their stead; 0 where b is negative or not below the "
               "number of bits.",
    .source = "Array API standard 2023.12, bitwise_left_shift",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kInt, promotes}},
    .no_gradient = "it works on bits",
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"past the end", "...=4", "", "a: 1; b: 0 1 64 100"}},
});
}  // namespace oarlock::op::bitwise_left_shift_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::bitwise_left_shift_ {
static void reference(KernelCall& c) {
  unsigned bits = info(dtype(c.out(0))).bits;
  binary_reference(c, [bits](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) return a;  // integers only
    else return uint64_t(b) < bits ? decltype(a)(uint64_t(a) << b) : decltype(a)(0);
  });
}
}  // namespace oarlock::op::bitwise_left_shift_
