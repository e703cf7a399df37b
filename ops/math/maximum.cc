#include "core/op/opdef.h"
namespace oarlock::op::maximum_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "maximum",
    .summary = "The greater of a and b; NaN if either is. Where they are equal both get half of the gradient.",
    .source = "Array API standard 2023.12, maximum",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"a"}, {"b"}},
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4", "", "a: distinct"}, {"nan wins", "...=33", "", "a: nan inf -inf"}},
});
}  // namespace oarlock::op::maximum_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::maximum_ {
static void gradient(GradientCall& c) {
  Tensor half = number(0.5, c.dout(0)), zero = number(0, c.dout(0)), one = number(1, c.dout(0));
  Tensor tie = equal(c.in(0), c.in(1));
  auto share = [&](const Tensor& winner, const Tensor& loser) {
    return multiply(c.dout(0), where(less(loser, winner), one, where(tie, half, zero)));
  };
  if (c.wants(0)) c.set(0, share(c.in(0), c.in(1)));
  if (c.wants(1)) c.set(1, share(c.in(1), c.in(0)));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) { return a > b || a != a ? a : b; });
}
}  // namespace oarlock::op::maximum_
