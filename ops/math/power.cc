#include "core/op/opdef.h"
namespace oarlock::op::power_ {
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "power",
    .summary = "a to the power b. Integers wrap; one to a negative power is 0, but 1 and -1 keep their size.",
    .source = "Array API standard 2023.12, pow",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"a"}, {"b"}, {"out", "b"}},
    .reference = reference,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=6", "", "a: 0 0 inf -2 nan 2; b: 0 2 -1 3 0 nan"},
              {"positive", "...=3x4", "", "a: 0.2..3; b: -2..2"}},
});
}  // namespace oarlock::op::power_

#include "rules.h"
#include "elementwise.h"
namespace oarlock::op::power_ {
template <class Int>
static Int integer_power(Int a, Int b) {
  if constexpr (std::is_signed_v<Int>)
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t out = 1, square = uint64_t(a);
  for (uint64_t n = uint64_t(b); n; n >>= 1, square *= square)
    if (n & 1) out *= square;
  return Int(out);
}
static void gradient(GradientCall& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor zero = number(0, a), one = number(1, a);
  if (c.wants(0)) {  // a to the power -1 is infinite at 0, where b is 0 the slope is 0
    Tensor flat = equal(b, zero), slope = multiply(b, power(a, where(flat, one, subtract(b, one))));
    c.set(0, multiply(c.dout(0), where(flat, zero, slope)));
  }
  if (c.wants(1)) {
    Tensor logarithm = log(where(equal(a, zero), one, a));
    c.set(1, multiply(c.dout(0), multiply(c.out(0), logarithm)));
  }
}
static void reference(KernelCall& c) {
  binary_reference(c, [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) return std::pow(a, b);
    else return integer_power(a, b);
  });
}
}  // namespace oarlock::op::power_
