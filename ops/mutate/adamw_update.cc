#include "core/op/opdef.h"
namespace oarlock::op::adamw_update_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "adamw_update",
    .summary = "One step of Adam with decoupled decay: g = gradient; parameter -= rate * weight_decay * parameter. m = "
               "beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g * g; parameter -= rate * (m / (1 - "
               "beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon). With greatest, that keeps the greatest v so far "
               "and takes its place (AMSGrad). step counts from 1. The moments may have a wider dtype than the "
               "parameter; nothing is computed in less than f32.",
    .source = "Loshchilov and Hutter 2019, Decoupled weight decay regularization; Reddi et al. 2018, On the "
              "convergence of Adam and beyond",
    .inputs = {{"parameter", "[*S]", mutated},
               {"gradient", "[*S]", constant},
               {"first", "M[*S]", mutated},
               {"second", "M[*S]", mutated, "not negative"},
               {"greatest", "M[*S]", mutated | optional, "not negative"},
               {"rate", "f64[]", host},
               {"step", "i64[]", host}},
    .types = {{"T", kFloat}, {"M", kFloat}},
    .attributes = {real("beta1", 0.9).at_least(0).at_most(1), real("beta2", 0.999).at_least(0).at_most(1),
                   real("epsilon", 1e-8).at_least(0), real("weight_decay", 0.01).at_least(0)},
    .no_gradient = "it has no result",
    .decompose = decompose,
    .tolerance = {.ulps = 32},
    .cases = {{"first step", "S=2x3", "", "step: 1; second: 0..1; greatest: 0..1"},
              {"with decay", "S=5", "weight_decay=0.1", "step: 10; second: 0..1; greatest: 0..1"},
              {"nothing", "S=0", "", "step: 1"}},
});
}  // namespace oarlock::op::adamw_update_

#include "rules.h"
#include "optimiser.h"
namespace oarlock::op::adamw_update_ {
static void decompose(RuleCall& c) {
  double beta1 = c.attrs.real(0), beta2 = c.attrs.real(1), decay = c.attrs.real(3);
  Step step(c.in(0), c.in(2));
  Tensor p = step.wide(c.in(0)), g = step.wide(c.in(1)), rate = step.scalar(c.in(5));
  if (decay != 0) p = subtract(p, multiply(p, multiply(rate, number(decay, p))));
  Tensor m = step.mixed(c.in(2), g, beta1), v = step.mixed(c.in(3), square(g), beta2);
  assign(c.in(2), as(m, c.in(2).dtype()));
  assign(c.in(3), as(v, c.in(3).dtype()));
  if (c.has(4)) {
    v = maximum(step.wide(c.in(4)), v);
    assign(c.in(4), as(v, c.in(4).dtype()));
  }
  // Corrected in f64, on the host: 1 - beta^step is all lost digits where beta is near 1.
  Tensor ratio = divide(c.in(5), correction(beta1, c.in(6))), root = sqrt(correction(beta2, c.in(6)));
  Tensor size = add(divide(sqrt(v), step.scalar(root)), number(c.attrs.real(2), p));
  assign(c.in(0), as(subtract(p, multiply(step.scalar(ratio), divide(m, size))), c.in(0).dtype()));
}
}  // namespace oarlock::op::adamw_update_
