#include "core/op/opdef.h"
namespace oarlock::op::ceil_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "ceil",
    .summary = "The least whole number that is not below x. Integers stay. The gradient is 0.",
    .source = "Array API standard 2023.12, ceil",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .decompose = decompose,
    .reference = reference,
    .cases = {{"halves of both signs", "...=8", "", "x: -2.5 -1.5 -0.5 0.5 1.5 2.5 nan inf"}},
});
}  // namespace oarlock::op::ceil_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::ceil_ {
static void gradient(GradientCall&) {}  // 0 wherever there is one
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  c.set(0, set_of(x.dtype()) & kFloat ? negative(floor(negative(x))) : copy(x));
}
static void reference(KernelCall& c) {
  unary_numeric_reference(c, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) return std::ceil(x);
    else return x;
  });
}
}  // namespace oarlock::op::ceil_
