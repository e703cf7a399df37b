#include "core/op/opdef.h"
namespace oarlock::op::hypot_ {
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "hypot",
    .summary = "sqrt(a*a + b*b) without overflow on the way; infinite where either is. The gradient at 0 is 0.",
    .source = "Array API standard 2023.12, hypot",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat, promotes}},
    .gradient = gradient,
    .saves = {{"a"}, {"b"}, {"out"}},
    .decompose = decompose,
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=5", "", "a: 0 inf nan 3 1; b: 0 nan inf 4 nan"},
              {"away from zero", "...=5", "", "a: -2..2 not 0 by 0.2"}},
});
}  // namespace oarlock::op::hypot_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::hypot_ {
static void gradient(GradientCall& c) {
  Tensor zero = number(0, c.out(0)), safe = where(equal(c.out(0), zero), number(1, c.out(0)), c.out(0));
  if (c.wants(0)) c.set(0, multiply(c.dout(0), divide(c.in(0), safe)));
  if (c.wants(1)) c.set(1, multiply(c.dout(0), divide(c.in(1), safe)));
}
static void decompose(RuleCall& c) {
  Tensor a = abs(c.in(0)), b = abs(c.in(1)), zero = number(0, a), one = number(1, a), infinite = number(INFINITY, a);
  Tensor large = maximum(a, b), small = minimum(a, b);
  Tensor ratio = divide(small, where(equal(large, zero), one, large));
  Tensor out = multiply(large, sqrt(add(multiply(ratio, ratio), one)));
  c.set(0, where(equal(a, infinite), infinite, where(equal(b, infinite), infinite, out)));
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) return std::hypot(a, b);
    else return a;  // floats only
  });
}
}  // namespace oarlock::op::hypot_
