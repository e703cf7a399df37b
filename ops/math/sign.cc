#include "core/op/opdef.h"
namespace oarlock::op::sign_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "sign",
    .summary = "-1 where x is negative, 1 where it is positive, 0 at 0; NaN stays.",
    .source = "Array API standard 2023.12, sign",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .reference = reference,
    .cases = {{"special values", "...=5", "", "x: 0 nan inf -inf -1.5"}},
});
}  // namespace oarlock::op::sign_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::sign_ {
static void gradient(GradientCall&) {}  // 0 wherever there is one
static void reference(KernelCall& c) {
  unary_numeric_reference(c, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_unsigned_v<T>) return T(x != 0);
    else return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  });
}
}  // namespace oarlock::op::sign_
