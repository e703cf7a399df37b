#include "core/op/opdef.h"
namespace oarlock::op::equal_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "equal",
    .summary = "a == b, element by element. NaN equals nothing.",
    .source = "Array API standard 2023.12, equal",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kAny, promotes}},
    .no_gradient = "its results are not numbers",
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"nan compares false", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::equal_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::equal_ {
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) { return a == b; });
}
}  // namespace oarlock::op::equal_
