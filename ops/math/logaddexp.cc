#include "core/op/opdef.h"
namespace oarlock::op::logaddexp_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "logaddexp",
    .summary = "log(exp(a) + exp(b)), computed without leaving the logarithm.",
    .source = "Array API standard 2023.12, logaddexp",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .outputs = {{"out", "[...]"}},
    .types = {{"T", kFloat, promotes}},
    .gradient = gradient,
    .saves = {{"a"}, {"b"}},
    .decompose = decompose,
    .cases = {{"both sides broadcast", "...=3x1|4"},
              {"special values", "...=5", "", "a: inf -inf nan 1000 -inf; b: inf -inf 1 999 3"}},
});
}  // namespace oarlock::op::logaddexp_

#include "rules.h"
namespace oarlock::op::logaddexp_ {
static void gradient(GradientCall& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor one = number(1, a);
  if (c.wants(0)) c.set(0, divide(c.dout(0), add(one, exp(subtract(b, a)))));
  if (c.wants(1)) c.set(1, divide(c.dout(0), add(one, exp(subtract(a, b)))));
}
static void decompose(RuleCall& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor out = add(maximum(a, b), log1p(exp(negative(abs(subtract(a, b))))));
  c.set(0, where(equal(a, b), add(a, number(std::numbers::ln2, a)), out));  // infinities too
}
}  // namespace oarlock::op::logaddexp_
