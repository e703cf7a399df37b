#include "core/op/opdef.h"
namespace oarlock::op::sgd_update_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "sgd_update",
    .version = 2,
    .summary = "One step of stochastic gradient descent: g = gradient + weight_decay * parameter; with momentum, "
               "momentum = beta * momentum + (1 - dampening) * g and g = momentum (nesterov: g + beta * momentum); "
               "parameter -= rate * g.",
    .source = "Sutskever et al. 2013, On the importance of initialization and momentum in deep learning",
    .inputs = {{"parameter", "[*S]", mutated},
               {"gradient", "[*S]", constant},
               {"momentum", "[*S]", mutated | optional},
               {"rate", "f64[]", host}},
    .types = {{"T", kFloat}},
    .attributes = {real("beta", 0.9).at_least(0), real("weight_decay", 0).at_least(0), flag("nesterov", false),
                   real("dampening", 0).from_version(2)},
    .no_gradient = "it has no result",
    .decompose = decompose,
    .cases = {{"with decay", "S=2x3", "weight_decay=0.1"},
              {"nesterov", "S=5", "beta=0.5 nesterov=true"},
              {"dampened", "S=5", "dampening=0.25"}},
});
}  // namespace oarlock::op::sgd_update_

#include "rules.h"
namespace oarlock::op::sgd_update_ {
static void decompose(RuleCall& c) {
  const Tensor &parameter = c.in(0), &momentum = c.in(2);
  double beta = c.attrs.real(0), decay = c.attrs.real(1), dampening = c.attrs.real(3);
  Tensor g = c.in(1);
  if (decay != 0) g = add(g, multiply(parameter, number(decay, g)));
  if (c.has(2)) {
    Tensor share = dampening == 0 ? g : multiply(g, number(1 - dampening, g));
    Tensor v = add(multiply(momentum, number(beta, g)), share);
    assign(momentum, v);
    g = c.attrs.flag(2) ? add(g, multiply(v, number(beta, g))) : v;
  }
  Tensor rate = transfer(cast(c.in(3), parameter.dtype()), parameter.device().index());
  assign(parameter, subtract(parameter, multiply(g, rate)));
}
}  // namespace oarlock::op::sgd_update_
