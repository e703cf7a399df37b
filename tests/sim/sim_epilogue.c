/* What may follow a prepared kernel: elementwise steps of the output's dtype, each run over the output in place. So a fused
 * call gives the bits that its parts give one by one. */
#include "sim.h"

/* The views of one step in the order in which kernels want them. */
static void step_views(const sim_plan_t* plan, const sim_step_t* step, const sim_view_t* views, sim_view_t* out_views) {
  const sim_view_t* out = &views[plan->n_own];
  for (uint32_t i = 0; i < step->op->max_inputs; ++i)
    out_views[i] = step->inputs[i] < 0 ? *out : views[plan->n_own + 1 + (uint32_t)step->inputs[i]];
  out_views[step->op->max_inputs] = *out;
}

bool sim_epilogue_fits(const sim_plan_t* plan, uint32_t n_views, const sim_view_t* views, sim_why_t* why) {
  sim_view_t operands[4];
  for (uint32_t s = 0; s < plan->n_steps; ++s) {
    const sim_step_t* step = &plan->steps[s];
    for (uint32_t i = 0; i < step->op->max_inputs; ++i)
      if (step->inputs[i] >= 0 && plan->n_own + 1 + (uint32_t)step->inputs[i] >= n_views)
        return sim_refuse(why, OAR_REASON_OTHER, -1, "an operand of %s is missing", step->op->name);
    step_views(plan, step, views, operands);
    if (!step->op->fits(plan, step->op->max_inputs, operands, why)) return false;
  }
  return true;
}

static bool parse_step(sim_plan_t* plan, const oar_call_t* call, const oar_call_t* from, const sim_view_t* views,
                       sim_why_t* why) {
  const oar_kernel_decl_t* decl = sim_decl(from->op);
  sim_step_t* step = &plan->steps[plan->n_steps];
  if (decl == NULL || ((const sim_op_t*)decl->user)->fits != sim_fits_elementwise || from->op_version != 1)
    return sim_refuse(why, OAR_REASON_EPILOGUE, -1, "sim does not fuse %.*s", (int)from->op.size, from->op.data);
  step->op = decl->user;
  if (from->n_epilogue != 0 || from->n_outputs != 1 || from->n_inputs != step->op->max_inputs)
    return sim_refuse(why, OAR_REASON_EPILOGUE, -1, "%s has a form that sim does not fuse", step->op->name);
  for (uint32_t i = 0; i < from->n_inputs; ++i) {
    int at = oar_call_input(call, from->inputs[i]);
    if (at >= 0 && (uint32_t)at < plan->n_own)
      return sim_refuse(why, OAR_REASON_EPILOGUE, at, "%s reads an operand of the op itself", step->op->name);
    step->inputs[i] = at < 0 ? -1 : at - (int)plan->n_own;
  }
  if (!oar_kit_in(decl->dtypes[0], views[plan->n_own].dtype))
    return sim_refuse(why, OAR_REASON_DTYPE, -1, "%s does not take this dtype", step->op->name);
  ++plan->n_steps;
  return true;
}

bool sim_epilogue_parse(sim_plan_t* plan, const oar_call_t* call, const sim_view_t* views, sim_why_t* why) {
  plan->n_steps = 0;
  if (call->n_epilogue > SIM_MAX_STEPS)
    return sim_refuse(why, OAR_REASON_EPILOGUE, -1, "sim fuses at most %d steps", SIM_MAX_STEPS);
  for (uint32_t s = 0; s < call->n_epilogue; ++s)
    if (!parse_step(plan, call, call->epilogue[s], views, why)) return false;
  return sim_epilogue_fits(plan, call->n_inputs + 1, views, why);
}

oar_status_t sim_epilogue_run(const sim_job_t* job, char* text) {
  sim_job_t* step_job = calloc(1, sizeof(*step_job) + 4 * sizeof(step_job->views[0]));
  if (step_job == NULL) return OAR_OUT_OF_MEMORY;
  oar_status_t status = OAR_OK;
  for (uint32_t s = 0; status == OAR_OK && s < job->plan.n_steps; ++s) {
    const sim_step_t* step = &job->plan.steps[s];
    step_job->plan.op = step->op;
    step_job->n_inputs = step->op->max_inputs;
    step_views(&job->plan, step, job->views, step_job->views);
    status = step->op->run(step_job, text);
  }
  free(step_job);
  return status;
}
