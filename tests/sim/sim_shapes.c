/* Do the operands of a call fit together? Asked by check, and again at launch, so that no kernel can be led out of
 * bounds. views are the inputs and then the output; only dtype and shape are read. */
#include "sim.h"

bool sim_refuse(sim_why_t* why, uint32_t reason, int32_t operand, const char* format, ...) {
  va_list arguments;
  why->reason = reason;
  why->operand = operand;
  va_start(arguments, format);
  vsnprintf(why->text, sizeof(why->text), format, arguments);
  va_end(arguments);
  return false;
}

static bool same_dtype(uint32_t first, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  for (uint32_t i = first + 1; i < n; ++i)
    if (views[i].dtype != views[first].dtype)
      return sim_refuse(why, OAR_REASON_DTYPE, (int32_t)i, "the operands' dtypes differ");
  return true;
}

static bool dims_are(const sim_view_t* view, uint32_t from, uint32_t n, const int64_t* shape) {
  if (from + n > view->n_dims) return false;
  return n == 0 || memcmp(view->shape + from, shape, n * sizeof(*shape)) == 0;
}

static bool same_shape(const sim_view_t* a, const sim_view_t* b) {
  return a->n_dims == b->n_dims && dims_are(a, 0, a->n_dims, b->shape);
}

static bool broadcasts(uint32_t n_inputs, const sim_view_t* views, sim_why_t* why) {
  const sim_view_t* out = &views[n_inputs];
  int64_t strides[SIM_MAX_DIMS];
  for (uint32_t i = 0; i < n_inputs; ++i)
    if (!oar_kit_broadcast_strides(out->n_dims, out->shape, views[i].n_dims, views[i].shape, NULL, strides))
      return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)i, "input %u does not broadcast to the output", i);
  return true;
}

bool sim_fits_elementwise(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  (void)plan;
  return same_dtype(0, n + 1, views, why) && broadcasts(n, views, why);
}

bool sim_fits_compare(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  (void)plan;
  if (views[n].dtype != OAR_DTYPE_BOOL) return sim_refuse(why, OAR_REASON_DTYPE, (int32_t)n, "the output is not bool");
  return same_dtype(0, n, views, why) && broadcasts(n, views, why);
}

bool sim_fits_where(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  (void)plan;
  if (views[0].dtype != OAR_DTYPE_BOOL) return sim_refuse(why, OAR_REASON_DTYPE, 0, "the condition is not bool");
  return same_dtype(1, n + 1, views, why) && broadcasts(n, views, why);
}

bool sim_fits_cast(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  (void)plan;
  if (!same_shape(&views[0], &views[n]))
    return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)n, "input and output differ");
  return true;
}

bool sim_fits_copy(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  return same_dtype(0, n + 1, views, why) && sim_fits_cast(plan, n, views, why);
}

bool sim_fits_shape(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  if (views[n].n_dims != plan->n_shape || !dims_are(&views[n], 0, plan->n_shape, plan->shape))
    return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)n, "the output's shape is not the attribute's");
  return true;
}

bool sim_fits_random(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  if (views[0].dtype != OAR_DTYPE_I64 || views[0].n_dims != 1 || views[0].shape[0] != 2)
    return sim_refuse(why, OAR_REASON_SHAPE, 0, "the seed is not i64[2]");
  return sim_fits_shape(plan, n, views, why);
}

bool sim_fits_reduce(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  const sim_view_t *x = &views[0], *out = &views[n];
  uint32_t kept = 0;
  bool wrong = false;
  for (uint32_t i = 0; i < x->n_dims; ++i) {
    bool reduced = plan->all_axes || (plan->axes >> i & 1) != 0;
    if (reduced && !plan->keepdims) continue;
    wrong = wrong || kept >= out->n_dims || out->shape[kept] != (reduced ? 1 : x->shape[i]);
    ++kept;
  }
  if (!plan->all_axes && x->n_dims < 32 && plan->axes >> x->n_dims != 0)
    return sim_refuse(why, OAR_REASON_ATTRIBUTE, 0, "an axis is not among the input's");
  if (wrong || kept != out->n_dims)
    return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)n, "the output is not the reduced input");
  return same_dtype(0, n + 1, views, why);
}

bool sim_fits_matmul(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  const sim_view_t *a = &views[0], *b = &views[1], *out = &views[2];
  int64_t strides[SIM_MAX_DIMS];
  (void)plan;
  for (uint32_t i = 0; i < 3; ++i)
    if (views[i].n_dims < 2) return sim_refuse(why, OAR_REASON_RANK, (int32_t)i, "matmul wants two axes or more");
  if (a->shape[a->n_dims - 1] != b->shape[b->n_dims - 2])
    return sim_refuse(why, OAR_REASON_SHAPE, 1, "K disagrees: %lld and %lld", (long long)a->shape[a->n_dims - 1],
                      (long long)b->shape[b->n_dims - 2]);
  if (out->shape[out->n_dims - 2] != a->shape[a->n_dims - 2] || out->shape[out->n_dims - 1] != b->shape[b->n_dims - 1])
    return sim_refuse(why, OAR_REASON_SHAPE, 2, "the output is not [..., M, N]");
  for (uint32_t i = 0; i < 2; ++i)
    if (!oar_kit_broadcast_strides(out->n_dims - 2, out->shape, views[i].n_dims - 2, views[i].shape, NULL, strides))
      return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)i, "the batch axes do not broadcast to the output's");
  return same_dtype(0, n + 1, views, why);
}

/* [*J, *R], of index [*J] and x [V, *R]? */
static bool is_rows(const sim_view_t* rows, const sim_view_t* index, const sim_view_t* x) {
  return rows->n_dims == index->n_dims + x->n_dims - 1 && dims_are(rows, 0, index->n_dims, index->shape) &&
         dims_are(rows, index->n_dims, x->n_dims - 1, x->shape + 1);
}

static bool fits_index(const sim_view_t* views, sim_why_t* why) {
  if (!oar_kit_in(OAR_KIT_INTEGERS, views[1].dtype))
    return sim_refuse(why, OAR_REASON_DTYPE, 1, "the index is not of integers");
  if (views[0].n_dims == 0) return sim_refuse(why, OAR_REASON_RANK, 0, "x has no axis to index");
  return true;
}

bool sim_fits_gather(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  (void)plan, (void)n;
  if (!fits_index(views, why)) return false;
  if (views[2].dtype != views[0].dtype) return sim_refuse(why, OAR_REASON_DTYPE, 2, "x and the output differ");
  if (!is_rows(&views[2], &views[1], &views[0]))
    return sim_refuse(why, OAR_REASON_SHAPE, 2, "the output is not [*J, *R] of index [*J] and x [V, *R]");
  return true;
}

bool sim_fits_scatter_add(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  (void)plan, (void)n;
  if (!fits_index(views, why) || !same_dtype(2, 4, views, why)) return false;
  if (views[3].dtype != views[0].dtype) return sim_refuse(why, OAR_REASON_DTYPE, 3, "x and the output differ");
  if (!same_shape(&views[0], &views[3])) return sim_refuse(why, OAR_REASON_SHAPE, 3, "x and the output differ");
  if (!is_rows(&views[2], &views[1], &views[0]))
    return sim_refuse(why, OAR_REASON_SHAPE, 2, "updates are not [*J, *R] of index [*J] and x [V, *R]");
  return true;
}

bool sim_fits_concat(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  const sim_view_t* out = &views[n];
  int64_t total = 0;
  if (plan->axis < 0 || plan->axis >= out->n_dims)
    return sim_refuse(why, OAR_REASON_ATTRIBUTE, -1, "axis %lld is not among the output's", (long long)plan->axis);
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t axis = (uint32_t)plan->axis;
    if (views[i].n_dims != out->n_dims || !dims_are(&views[i], 0, axis, out->shape) ||
        !dims_are(&views[i], axis + 1, out->n_dims - axis - 1, out->shape + axis + 1))
      return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)i, "input %u differs from the output beside the axis", i);
    total += views[i].shape[axis];
  }
  if (total != out->shape[plan->axis])
    return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)n, "the output is %lld long, its parts %lld",
                      (long long)out->shape[plan->axis], (long long)total);
  return same_dtype(0, n + 1, views, why);
}

bool sim_fits_pad(const sim_plan_t* plan, uint32_t n, const sim_view_t* views, sim_why_t* why) {
  const sim_view_t *x = &views[0], *out = &views[n];
  if (x->n_dims != plan->n_pad || out->n_dims != x->n_dims)
    return sim_refuse(why, OAR_REASON_SHAPE, 0, "before and after have %u entries, x has %u axes", plan->n_pad,
                      x->n_dims);
  for (uint32_t i = 0; i < x->n_dims; ++i) {
    if (plan->before[i] < 0 || plan->after[i] < 0 || plan->between[i] < 0)
      return sim_refuse(why, OAR_REASON_ATTRIBUTE, -1, "sim pads by nothing negative");
    int64_t inner = x->shape[i] > 0 ? x->shape[i] + (x->shape[i] - 1) * plan->between[i] : 0;
    if (out->shape[i] != plan->before[i] + inner + plan->after[i])
      return sim_refuse(why, OAR_REASON_SHAPE, (int32_t)n, "axis %u of the output is not the padded one", i);
  }
  return same_dtype(0, n + 1, views, why);
}
