#include "core/op/opdef.h"
namespace oarlock::op::multiply_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "multiply",
    .summary = "a * b. Integers wrap.",
    .source = "Array API standard 2023.12, multiply",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"b", "a"}, {"a", "b"}},
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"}, {"zero times infinity", "...=3", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::multiply_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::multiply_ {
static void gradient(GradientCall& c) {
  if (c.wants(0)) c.set(0, multiply(c.dout(0), c.in(1)));
  if (c.wants(1)) c.set(1, multiply(c.dout(0), c.in(0)));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
}
}  // namespace oarlock::op::multiply_
