#include "core/op/opdef.h"
namespace oarlock::op::fmod_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "fmod",
    .summary =
        "What a / b rounded toward 0 leaves, with a's sign, as C's fmod and %. An integer divided by 0 is an error.",
    .source = "ONNX operator set 13, Mod, fmod 1; numpy.fmod",
    .inputs = {{"a", "[...]"}, {"b", "[...]", plain, "not 0"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kNumeric, promotes}},
    .gradient = gradient,
    .saves = {{"a", "b"}, {"b", "b"}},
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=6", "", "a: 1 -1 inf 1 nan 7.5; b: inf inf 2 -3 1 -2"},
              {"lowest by minus one", "...=3", "", "a: -2147483648 7 -7; b: -1"}},
});
}  // namespace oarlock::op::fmod_

#include "rules.h"
namespace oarlock::op::fmod_ {
static void gradient(GradientCall& c) {
  c.set(0, c.dout(0));
  if (c.wants(1)) c.set(1, negative(multiply(c.dout(0), trunc(divide(c.in(0), c.in(1))))));
}
static void decompose(RuleCall& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor zero = number(0, a);
  if (set_of(a.dtype()) & kFloat) {  // by sizes: a small rest less b would lose its digits
    Tensor rest = remainder(abs(a), abs(b));
    return c.set(0, where(less(a, zero), negative(rest), rest));
  }
  Tensor rest = remainder(a, b), none = equal(rest, zero);
  Tensor other = not_equal(less(a, zero), less(rest, zero));
  c.set(0, where(none, rest, where(other, subtract(rest, b), rest)));
}
}  // namespace oarlock::op::fmod_
