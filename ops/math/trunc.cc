#include "core/op/opdef.h"
namespace oarlock::op::trunc_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "trunc",
    .summary = "x without its fraction: the nearest whole number toward 0. Integers stay. The gradient is 0.",
    .source = "Array API standard 2023.12, trunc",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .decompose = decompose,
    .reference = reference,
    .cases = {{"halves of both signs", "...=8", "", "x: -2.5 -1.5 -0.5 0.5 1.5 2.5 nan inf"}},
});
}  // namespace oarlock::op::trunc_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::trunc_ {
static void gradient(GradientCall&) {}  // 0 wherever there is one
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  if (!(set_of(x.dtype()) & kFloat)) return c.set(0, copy(x));
  Tensor down = floor(abs(x));
  c.set(0, where(less(x, number(0, x)), negative(down), down));
}
static void reference(KernelCall& c) {
  unary_numeric_reference(c, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) return std::trunc(x);
    else return x;
  });
}
}  // namespace oarlock::op::trunc_
