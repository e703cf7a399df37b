#include "core/op/opdef.h"
namespace oarlock::op::abs_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "abs",
    .summary = "Absolute value. The lowest integer stays as it is; the gradient at 0 is 0.",
    .source = "Array API standard 2023.12, abs",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .saves = {{"x"}},
    .reference = reference,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf -1.5"},
              {"away from the kink", "...=5", "", "x: -1..1 not 0 by 0.1"}},
});
}  // namespace oarlock::op::abs_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::abs_ {
static void gradient(GradientCall& c) { c.set(0, multiply(c.dout(0), sign(c.in(0)))); }
static void reference(KernelCall& c) {
  unary_numeric_reference(c, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) return std::fabs(x);
    else if constexpr (std::is_signed_v<decltype(x)>) return x < 0 ? decltype(x)(-uint64_t(x)) : x;
    else return x;
  });
}
}  // namespace oarlock::op::abs_
