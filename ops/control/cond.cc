#include "core/op/opdef.h"
namespace oarlock::op::cond_ {
static TypesRule types_of;
static ControlRule run;
static ControlGradientRule gradient;

extern constinit const OpDef def = define({
    .name = "cond",
    .summary = "What true_fn gives where the condition holds, else what false_fn gives; only that one is called.",
    .source = "paddle.static.nn.cond; jax.lax.cond",
    .inputs = {{"condition", "bool[]"}},
    .outputs = {{"ys", "X[*_]", variadic}},
    .regions = {{"true_fn", "takes nothing"}, {"false_fn", "takes nothing"}},
    .types_of = types_of,
    .run = run,
    .control_gradient = gradient,
});
}  // namespace oarlock::op::cond_

#include "rules.h"
#include "control.h"
namespace oarlock::op::cond_ {
static void types_of(ControlTypes& c) {
  if (!is_truth(c, c.inputs[0], "the condition") || !c.results_known()) return;
  const auto &yes = c.results[0], &no = c.results[1];
  if (yes.size() != no.size())
    return void(c.fail("true_fn gives " + std::to_string(yes.size()) + " results, false_fn " +
                       std::to_string(no.size()) + ". Give as many from each"));
  for (size_t i = 0; i < yes.size(); ++i)
    if (!c.agree(yes[i], no[i],
                 "result " + std::to_string(i) + " disagrees: true_fn gives " + to_text(yes[i]) + ", false_fn " +
                     to_text(no[i]) + ". Give one dtype and shape from both"))
      return;
  c.outputs = yes;
}
static void run(ControlCall& c) { c.outputs = c.call(holds(c, c.inputs[0], "the condition") ? 0 : 1, {}); }
// The branch that was taken, differentiated in the same branch of another cond.
static void gradient(ControlGradientCall& c) {
  auto branch = [&c](int region) {
    return [&c, region](std::span<const Tensor>) {
      std::vector<Tensor> dresults;
      for (size_t i = 0; i < c.outputs.size(); ++i)
        if (c.gives(region, i)) dresults.push_back(c.doutputs[i].defined() ? c.doutputs[i] : zeros_like(c.outputs[i]));
      std::vector<Tensor> out = c.differentiate(region, {}, dresults);
      for (size_t e = 0; e < out.size(); ++e)
        if (!out[e].defined()) out[e] = zeros_of(c.around[e]);
      return out;
    };
  };
  const RegionFunction regions[] = {branch(0), branch(1)};
  std::vector<Tensor> out = c.control("cond", c.inputs.first(1), {}, regions);
  std::move(out.begin(), out.end(), c.gradients.begin() + 1);
}
}  // namespace oarlock::op::cond_
