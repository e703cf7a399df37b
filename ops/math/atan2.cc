#include "core/op/opdef.h"
namespace oarlock::op::atan2_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "atan2",
    .summary = "The angle of the point (b, a), from -pi to pi, counted from the axis of b; the signs of both tell the "
               "quadrant.",
    .source = "Array API standard 2023.12, atan2",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat, promotes}},
    .gradient = gradient,
    .saves = {{"a"}, {"b"}},
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=5", "", "a: 0 inf -inf nan 1 b: -1 inf -inf 1 0"}},
});
}  // namespace oarlock::op::atan2_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::atan2_ {
static void gradient(GradientCall& c) {
  Tensor d = divide(c.dout(0), add(square(c.in(0)), square(c.in(1))));
  if (c.wants(0)) c.set(0, multiply(d, c.in(1)));
  if (c.wants(1)) c.set(1, negative(multiply(d, c.in(0))));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) return std::atan2(a, b);
    else return a;  // floats only
  });
}
}  // namespace oarlock::op::atan2_
