#include "core/op/opdef.h"
namespace oarlock::op::bitwise_xor_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "bitwise_xor",
    .summary = "The bits that are set in one of a and b.",
    .source = "Array API standard 2023.12, bitwise_xor",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kBool | kInt, promotes}},
    .no_gradient = "it works on bits",
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"}},
});
}  // namespace oarlock::op::bitwise_xor_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::bitwise_xor_ {
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) return a;  // integers only
    else return decltype(a)(a ^ b);
  });
}
}  // namespace oarlock::op::bitwise_xor_
