#include "core/op/opdef.h"
namespace oarlock::op::adagrad_update_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "adagrad_update",
    .summary = "One step of Adagrad: g = gradient + weight_decay * parameter; sum = sum + g * g; parameter -= rate * g "
               "/ (sqrt(sum) + epsilon). Nothing is computed in less than f32.",
    .source = "Duchi et al. 2011, Adaptive subgradient methods",
    .inputs = {{"parameter", "[*S]", mutated},
               {"gradient", "[*S]", constant},
               {"sum", "M[*S]", mutated, "not negative"},
               {"rate", "f64[]", host}},
    .types = {{"T", kFloat}, {"M", kFloat}},
    .attributes = {real("epsilon", 1e-10).at_least(0), real("weight_decay", 0).at_least(0)},
    .no_gradient = "it has no result",
    .decompose = decompose,
    .tolerance = {.ulps = 32},
    .cases = {{"plain", "S=2x3", "", "sum: 0..1"}, {"with decay", "S=5", "weight_decay=0.1", "sum: 0..1"}},
});
}  // namespace oarlock::op::adagrad_update_

#include "rules.h"
#include "optimiser.h"
namespace oarlock::op::adagrad_update_ {
static void decompose(RuleCall& c) {
  double decay = c.attrs.real(1);
  Step step(c.in(0), c.in(2));
  Tensor p = step.wide(c.in(0)), g = step.wide(c.in(1));
  if (decay != 0) g = add(g, multiply(p, number(decay, p)));
  Tensor total = add(step.wide(c.in(2)), square(g));
  assign(c.in(2), as(total, c.in(2).dtype()));
  Tensor move = divide(g, add(sqrt(total), number(c.attrs.real(0), p)));
  assign(c.in(0), as(subtract(p, multiply(step.scalar(c.in(3)), move)), c.in(0).dtype()));
}
}  // namespace oarlock::op::adagrad_update_
