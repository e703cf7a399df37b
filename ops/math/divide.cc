#include "core/op/opdef.h"
namespace oarlock::op::divide_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "divide",
    .summary = "a / b as IEEE 754 says; integers are divided as floats: they become f32 first.",
    .source = "Array API standard 2023.12, divide",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes_to_float}},
    .gradient = gradient,
    .saves = {{"b"}, {"out", "b"}},
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4", "", "b: 0.5..2"},
              {"by zero", "...=3", "", "b: 0"},
              {"away from zero", "...=3x4", "", "b: -2..2 not 0 by 0.2"}},
});
}  // namespace oarlock::op::divide_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::divide_ {
static void gradient(GradientCall& c) {
  Tensor da = divide(c.dout(0), c.in(1));
  if (c.wants(1)) c.set(1, negative(multiply(da, c.out(0))));
  if (c.wants(0)) c.set(0, std::move(da));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) return a / b;
    else return b ? a / b : decltype(a)(0);  // integers never get here: the core casts them
  });
}
}  // namespace oarlock::op::divide_
