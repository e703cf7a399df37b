#include "core/op/opdef.h"
namespace oarlock::op::add_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "add",
    .summary = "a + b. Integers wrap.",
    .source = "Array API standard 2023.12, add",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .reference = reference,
    .role = Role::add,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"infinities of both signs", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::add_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::add_ {
static void gradient(GradientCall& c) {
  c.set(0, c.dout(0));
  c.set(1, c.dout(0));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
}
}  // namespace oarlock::op::add_
