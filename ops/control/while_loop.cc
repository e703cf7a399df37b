#include "core/op/opdef.h"
namespace oarlock::op::while_loop_ {
static TypesRule types_of;
static ControlRule run;

extern constinit const OpDef def = define({
    .name = "while_loop",
    .summary =
        "The loop variables as body_fn leaves them once cond_fn of them no longer holds; never called if it does "
        "not hold at first.",
    .source = "paddle.static.nn.while_loop; jax.lax.while_loop",
    .inputs = {{"xs", "X[*_]", variadic}},
    .outputs = {{"ys", "X[*_]", variadic}},
    .regions = {{"cond_fn", "takes the variables, gives one bool"},
                {"body_fn", "takes the variables, gives the next ones, of the same dtypes and shapes"}},
    .types_of = types_of,
    .run = run,
    .no_gradient =
        "how often a captured loop runs, and so how much its gradient has to keep, is known only when it has "
        "run. Use scan, whose length is known, or capture without gradients",
});
}  // namespace oarlock::op::while_loop_

#include "rules.h"
#include "control.h"
namespace oarlock::op::while_loop_ {
static void types_of(ControlTypes& c) {
  c.parameters[0] = c.parameters[1] = {c.inputs.begin(), c.inputs.end()};
  if (c.inputs.empty()) return void(c.fail("there are no loop variables. Give at least one"));
  if (!c.results_known()) return;
  if (c.results[0].size() != 1)
    return void(c.fail("cond_fn gives " + std::to_string(c.results[0].size()) + " results. Give one bool"));
  if (!is_truth(c, c.results[0][0], "what cond_fn gives") || !keeps(c, "body_fn", c.results[1], c.inputs)) return;
  c.outputs = {c.inputs.begin(), c.inputs.end()};
}
static void run(ControlCall& c) {
  std::vector<Tensor> now(c.inputs.begin(), c.inputs.end());
  for (;;) {
    std::vector<Tensor> goes_on = c.call(0, now);
    if (goes_on.size() != 1)
      throw_if(invalid("while_loop: cond_fn gives " + std::to_string(goes_on.size()) + " results. Give one bool."));
    if (!holds(c, goes_on[0], "what cond_fn gives")) break;
    std::vector<Tensor> next = c.call(1, now);
    check_kept(c, "body_fn", next, now);
    now = std::move(next);
  }
  c.outputs = std::move(now);
}
}  // namespace oarlock::op::while_loop_
