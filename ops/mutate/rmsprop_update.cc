#include "core/op/opdef.h"
namespace oarlock::op::rmsprop_update_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "rmsprop_update",
    .summary = "One step of RMSProp: g = gradient + weight_decay * parameter; mean_square = alpha * mean_square + (1 - "
               "alpha) * g * g; with mean, mean = alpha * mean + (1 - alpha) * g and its square is subtracted "
               "(centred, never below 0); step = g / (sqrt(...) + epsilon); with momentum, momentum = beta * momentum "
               "+ step and step "
               "= momentum; parameter -= rate * step. Nothing is computed in less than f32.",
    .source = "Hinton 2012, Neural networks for machine learning, lecture 6; Graves 2013, Generating sequences with "
              "recurrent neural networks, for the centred one",
    .inputs = {{"parameter", "[*S]", mutated},
               {"gradient", "[*S]", constant},
               {"mean_square", "M[*S]", mutated, "not negative"},
               {"mean", "M[*S]", mutated | optional},
               {"momentum", "M[*S]", mutated | optional},
               {"rate", "f64[]", host}},
    .types = {{"T", kFloat}, {"M", kFloat}},
    .attributes = {real("alpha", 0.99).at_least(0).at_most(1), real("epsilon", 1e-8).at_least(0),
                   real("weight_decay", 0).at_least(0), real("beta", 0.9).at_least(0)},
    .no_gradient = "it has no result",
    .decompose = decompose,
    .tolerance = {.ulps = 64},
    .cases = {{"plain", "S=2x3", "", "mean_square: 1..2; mean: -0.1..0.1"},
              {"with decay", "S=5", "weight_decay=0.1 alpha=0.9", "mean_square: 1..2; mean: -0.1..0.1"}},
});
}  // namespace oarlock::op::rmsprop_update_

#include "rules.h"
#include "optimiser.h"
namespace oarlock::op::rmsprop_update_ {
static void decompose(RuleCall& c) {
  double alpha = c.attrs.real(0), decay = c.attrs.real(2);
  Step step(c.in(0), c.in(2));
  Tensor p = step.wide(c.in(0)), g = step.wide(c.in(1));
  if (decay != 0) g = add(g, multiply(p, number(decay, p)));
  Tensor v = step.mixed(c.in(2), square(g), alpha);
  if (c.has(3)) {
    // The difference of the new mean square and the new mean's square, without the cancellation of the new gradient.
    Tensor before = step.wide(c.in(2)), mean = step.wide(c.in(3));
    Tensor spread = add(subtract(before, square(mean)), multiply(square(subtract(g, mean)), number(1 - alpha, p)));
    assign(c.in(2), as(v, c.in(2).dtype()));
    v = maximum(multiply(spread, number(alpha, p)), number(0, p));
    assign(c.in(3), as(step.mixed(c.in(3), g, alpha), c.in(3).dtype()));
  } else {
    assign(c.in(2), as(v, c.in(2).dtype()));
  }
  Tensor move = divide(g, add(sqrt(v), number(c.attrs.real(1), p)));
  if (c.has(4)) {
    move = add(multiply(step.wide(c.in(4)), number(c.attrs.real(3), p)), move);
    assign(c.in(4), as(move, c.in(4).dtype()));
  }
  assign(c.in(0), as(subtract(p, multiply(step.scalar(c.in(5)), move)), c.in(0).dtype()));
}
}  // namespace oarlock::op::rmsprop_update_
