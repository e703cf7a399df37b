#include "core/op/opdef.h"
namespace oarlock::op::less_ {
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "less",
    .summary = "a < b, element by element. False where either is NaN.",
    .source = "Array API standard 2023.12, less",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "bool[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .no_gradient = "its results are not numbers",
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"nan compares false", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::less_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::less_ {
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) { return a < b; });
}
}  // namespace oarlock::op::less_
