#include "core/op/opdef.h"
namespace oarlock::op::remainder_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "remainder",
    .summary = "What a / b rounded down leaves, with b's sign. An integer divided by 0 is an error; the lowest one by "
               "-1 leaves 0. Floats by 0 give NaN.",
    .source = "Array API standard 2023.12, remainder",
    .inputs = {{"a", "[...]"}, {"b", "[...]", plain, "not 0"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"a", "b"}, {"b", "b"}},
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=6", "", "a: 1 -1 inf 1 nan 7.5; b: inf inf 2 -3 1 -2"},
              {"lowest by minus one", "...=3", "", "a: -2147483648 7 -7; b: -1"}},
});
}  // namespace oarlock::op::remainder_

#include "rules.h"
#include "integer_division.h"
namespace oarlock::op::remainder_ {
static double left(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
static void gradient(GradientCall& c) {
  c.set(0, c.dout(0));
  if (c.wants(1)) c.set(1, negative(multiply(c.dout(0), floor_divide(c.in(0), c.in(1)))));
}
static void reference(KernelCall& c) {
  if (divides_by_zero(c, "remainder")) return;
  binary_reference(c, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_same_v<T, double>) return left(a, b);
    else if constexpr (std::is_unsigned_v<T>) return T(a % b);
    else return b == -1 ? T(0) : T(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));
  });
}
}  // namespace oarlock::op::remainder_
