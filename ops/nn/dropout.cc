#include "core/op/opdef.h"
namespace oarlock::op::dropout_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "dropout",
    .summary = "Sets each element to 0 with probability rate and divides the others by 1 - rate. Which ones is a "
               "function of seed, as of "
               "random_uniform.",
    .source = "Srivastava et al. 2014, Dropout; ONNX operator set 13, Dropout",
    .inputs = {{"x", "[*S]"}, {"seed", "i64[2]", host}},
    .outputs = {{"out", "[*S]"}},
    .types = {{"T", kFloat}},
    .attributes = {real("rate", 0.5).at_least(0).at_most(1)},
    .decompose = decompose,
    .cases = {{"nothing dropped", "S=3x4", "rate=0"},
              {"all dropped", "S=3x4", "rate=1"},
              {"a tenth", "S=17", "rate=0.1"}},
});
}  // namespace oarlock::op::dropout_

#include "rules.h"
namespace oarlock::op::dropout_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  double rate = c.attrs.real(0);
  if (rate == 1) return c.set(0, zeros_like(x));
  Tensor u = random_uniform(c.in(1), x.shape());
  c.set(0, where(less(u, number(rate, u)), number(0, x), multiply(x, number(1 / (1 - rate), x))));
}
}  // namespace oarlock::op::dropout_
