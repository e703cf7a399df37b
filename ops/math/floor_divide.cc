#include "core/op/opdef.h"
namespace oarlock::op::floor_divide_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "floor_divide",
    .summary = "a / b rounded down. An integer divided by 0 is an error; the lowest one by -1 wraps to itself. Floats: "
               "as NumPy, by way of the remainder. The gradient is 0.",
    .source = "Array API standard 2023.12, floor_divide; numpy.floor_divide for special values",
    .inputs = {{"a", "[...]"}, {"b", "[...]", plain, "not 0"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=6", "", "a: 1 -1 inf 1 nan 7.5; b: inf inf 2 -3 1 -2"},
              {"lowest by minus one", "...=3", "", "a: -2147483648 7 -7; b: -1"}},
});
}  // namespace oarlock::op::floor_divide_

#include "rules.h"
#include "integer_division.h"
namespace oarlock::op::floor_divide_ {
static double divided(double a, double b) {
  if (b == 0) return a / b;
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}
static void gradient(GradientCall&) {}  // 0 wherever there is one
static void reference(KernelCall& c) {
  if (divides_by_zero(c, "floor_divide")) return;
  binary_reference(c, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_same_v<T, double>) return divided(a, b);
    else if constexpr (std::is_unsigned_v<T>) return T(a / b);
    else return b == -1 ? T(-uint64_t(a)) : T(a / b - (a % b != 0 && (a < 0) != (b < 0)));
  });
}
}  // namespace oarlock::op::floor_divide_
