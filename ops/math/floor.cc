#include "core/op/opdef.h"
namespace oarlock::op::floor_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "floor",
    .summary = "The greatest whole number that is not above x. Integers stay. The gradient is 0.",
    .source = "Array API standard 2023.12, floor",
    .inputs = {{"x", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric}},
    .gradient = gradient,
    .reference = reference,
    .cases = {{"halves of both signs", "...=8", "", "x: -2.5 -1.5 -0.5 0.5 1.5 2.5 nan inf"}},
});
}  // namespace oarlock::op::floor_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::floor_ {
static void gradient(GradientCall&) {}  // 0 wherever there is one
static void reference(KernelCall& c) {
  unary_numeric_reference(c, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) return std::floor(x);
    else return x;
  });
}
}  // namespace oarlock::op::floor_
