/* The sim device's kernels as the host sees them: declarations, refusals, and launches that copy what they were given
 * into a job for the worker. Some kernels are prepared, the others just run, so that hosts meet both forms. */
#include "sim.h"

/* ---------------------------------------------------------------- Calls into plans */
static bool parse_list(const oar_call_t* call, uint32_t i, uint32_t n, int64_t* out_list) {
  const int64_t* values;
  uint64_t count;
  if (!oar_kit_attr_ints(call, i, &values, &count)) count = 0;
  if (count > 1 && count != n) return false;
  for (uint32_t d = 0; d < n; ++d) out_list[d] = count == 0 ? 0 : values[count == 1 ? 0 : d];
  return true;
}

/* The attributes of a call, by the places that the op's schema gives them. */
static bool parse(const sim_op_t* op, oar_pack_t* pack, const oar_call_t* call, sim_plan_t* out_plan, sim_why_t* why) {
  sim_plan_t plan = {.op = op, .pack = pack};
  const int64_t* values;
  uint64_t count;
  bool good = true;
  if (op->fits == sim_fits_reduce) {
    plan.all_axes = !oar_kit_attr_ints(call, 0, &values, &count);
    for (uint64_t i = 0; !plan.all_axes && i < count; ++i) {
      good = good && values[i] >= 0 && values[i] < SIM_MAX_DIMS;
      if (good) plan.axes |= 1u << values[i];
    }
    oar_kit_attr_bool(call, 1, &plan.keepdims);
  } else if (op->run == sim_run_arange) {
    plan.n_shape = 1;
    good = oar_kit_attr_int(call, 0, &plan.shape[0]);
  } else if (op->fits == sim_fits_shape || op->fits == sim_fits_random) {
    good = oar_kit_attr_ints(call, 0, &values, &count) && count <= SIM_MAX_DIMS;
    if (good && count > 0) memcpy(plan.shape, values, (size_t)count * sizeof(*values));
    plan.n_shape = good ? (uint32_t)count : 0;
    if (op->run == sim_run_full) good = good && oar_kit_attr_float(call, 1, &plan.value);
  } else if (op->fits == sim_fits_concat) {
    oar_kit_attr_int(call, 0, &plan.axis);
  } else if (op->fits == sim_fits_pad) {
    good = oar_kit_attr_ints(call, 0, &values, &count) && count <= SIM_MAX_DIMS;
    plan.n_pad = good ? (uint32_t)count : 0;
    good = good && parse_list(call, 0, plan.n_pad, plan.before) && parse_list(call, 1, plan.n_pad, plan.after) &&
           parse_list(call, 2, plan.n_pad, plan.between);
    oar_kit_attr_float(call, 3, &plan.value);
  }
  *out_plan = plan;
  return good || sim_refuse(why, OAR_REASON_ATTRIBUTE, -1, "%s: its attributes are not what the schema says", op->name);
}

/* ---------------------------------------------------------------- Before launch */
static bool shape_copy(sim_view_t* view, uint32_t dtype, uint32_t n_dims, const int64_t* shape, const int64_t* strides,
                       int32_t operand, sim_why_t* why) {
  if (n_dims > SIM_MAX_DIMS)
    return sim_refuse(why, OAR_REASON_RANK, operand, "sim takes at most %d axes, not %u", SIM_MAX_DIMS, n_dims);
  view->dtype = dtype;
  view->n_dims = n_dims;
  view->count = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    view->shape[i] = shape[i];
    if (__builtin_mul_overflow(view->count, shape[i], &view->count) || shape[i] < 0)
      return sim_refuse(why, OAR_REASON_SHAPE, operand, "a size that is negative or too large");
  }
  if (strides != NULL) memcpy(view->strides, strides, n_dims * sizeof(*strides));
  else oar_kit_strides(n_dims, shape, view->strides);
  return true;
}

static bool operands_are(const sim_op_t* op, uint32_t n_inputs, uint32_t n_outputs, sim_why_t* why) {
  if (n_inputs >= op->min_inputs && n_inputs <= op->max_inputs && n_outputs == 1) return true;
  return sim_refuse(why, OAR_REASON_OTHER, -1, "%s: %u inputs and %u outputs are not its own", op->name, n_inputs,
                    n_outputs);
}

static bool check_call(const sim_op_t* op, const oar_call_t* call, sim_plan_t* plan, sim_why_t* why) {
  uint32_t all = call->n_inputs, n = call->n_epilogue > 0 ? op->min_inputs : all;
  if (call->n_epilogue > 0 && (op->min_inputs != op->max_inputs || all < n))
    return sim_refuse(why, OAR_REASON_EPILOGUE, -1, "sim fuses nothing behind %s", op->name);
  if (!operands_are(op, n, call->n_outputs, why)) return false;
  plan->n_own = n;
  sim_view_t* views = calloc(all + 1, sizeof(*views));
  if (views == NULL) return sim_refuse(why, OAR_REASON_MEMORY, -1, "sim: no host memory");
  bool good = true;
  for (uint32_t i = 0; good && i <= all; ++i) {
    const oar_value_t* value = oar_kit_operand(call, i);
    uint32_t to = i < n ? i : i < all ? i + 1 : n;
    bool any_strides = op->run == sim_run_copy && i < n && value != NULL && value->layout == OAR_LAYOUT_STRIDED;
    if (value == NULL) {
      good = sim_refuse(why, OAR_REASON_OTHER, (int32_t)i, "%s: an operand is missing", op->name);
    } else if (!any_strides && !oar_kit_value_contiguous(value)) {
      good = sim_refuse(why, OAR_REASON_LAYOUT, (int32_t)i, "%s %u of %s is not contiguous, and sim reads nothing else",
                        i < all ? "input" : "output", i < all ? i : 0, op->name);
    } else {
      good = shape_copy(&views[to], value->dtype, value->n_dims, value->shape, NULL, (int32_t)i, why);
    }
  }
  good = good && sim_epilogue_parse(plan, call, views, why) && op->fits(plan, n, views, why);
  free(views);
  return good;
}

static oar_status_t refuse(oar_pack_t* pack, oar_verdict_t* verdict, const sim_why_t* why) {
  oar_kit_refuse(verdict, why->reason, why->operand, "%s", why->text);
  if (verdict != NULL && pack != NULL && pack->device->fault.kind == SIM_FAULT_WRONG_SIZE)
    verdict->text_size = verdict->text_capacity + 4096;
  return OAR_REFUSED;
}

static oar_status_t OAR_CALL kernel_check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                          oar_verdict_t* out_verdict) {
  const sim_op_t* op = decl->user;
  sim_plan_t plan;
  sim_why_t why;
  if (decl->prepare == NULL && call->n_epilogue > 0) {
    sim_refuse(&why, OAR_REASON_EPILOGUE, -1, "sim fuses nothing behind %s", op->name);
    return refuse(pack, out_verdict, &why);
  }
  if (!parse(op, pack, call, &plan, &why) || !check_call(op, call, &plan, &why)) return refuse(pack, out_verdict, &why);
  return OAR_OK;
}

static oar_status_t OAR_CALL kernel_prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                                            oar_prepared_t* out_prepared) {
  const sim_op_t* op = decl->user;
  oar_device_t* device = pack->device;
  sim_why_t why;
  sim_plan_t* plan = malloc(sizeof(*plan));
  if (plan == NULL) return oar_kit_error(pack->host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory to prepare");
  if (!parse(op, pack, call, plan, &why) || !check_call(op, call, plan, &why)) {
    free(plan);
    return refuse(pack, out_prepared->verdict, &why);
  }
  pthread_mutex_lock(&device->lock);
  ++device->n_prepares;
  bool wrong = device->fault.kind == SIM_FAULT_WRONG_SIZE && device->n_prepares >= device->fault.at;
  pthread_mutex_unlock(&device->lock);
  if (wrong) {
    out_prepared->struct_size = 3;
    out_prepared->workspace_bytes = (uint64_t)1 << 62;
    out_prepared->workspace_alignment = 3;
  }
  out_prepared->state = plan;
  return OAR_OK;
}

/* ---------------------------------------------------------------- Launch */
/* Locked. Copies a view and finds its memory. */
static bool view_copy(oar_device_t* device, const oar_view_t* view, bool any_strides, int32_t operand,
                      sim_view_t* out_view, sim_why_t* why) {
  int64_t last = 0;
  if (view == NULL) return sim_refuse(why, OAR_REASON_OTHER, operand, "an operand is missing");
  if (view->layout != OAR_LAYOUT_STRIDED || (!any_strides && !oar_kit_view_contiguous(view)))
    return sim_refuse(why, OAR_REASON_LAYOUT, operand, "an operand is not contiguous");
  if (view->n_dims < 0 ||
      !shape_copy(out_view, view->dtype, (uint32_t)view->n_dims, view->shape, view->strides, operand, why))
    return false;
  if (out_view->count == 0) return true;
  for (uint32_t i = 0; i < out_view->n_dims; ++i) {
    if (out_view->strides[i] < 0) return sim_refuse(why, OAR_REASON_LAYOUT, operand, "a stride is negative");
    last += (out_view->shape[i] - 1) * out_view->strides[i];
  }
  int64_t size = oar_kit_dtype_bytes(view->dtype);
  if (!sim_locate(device, oar_kit_view_data(view), 0, (last + 1) * size, &out_view->data, &out_view->place))
    return sim_refuse(why, OAR_REASON_MEMORY, operand, "it lies outside of what is allocated on sim: %lld bytes at %p",
                      (long long)((last + 1) * size), oar_kit_view_data(view));
  return true;
}

static bool overlap(const sim_view_t* a, const sim_view_t* b) {
  if (a->count == 0 || b->count == 0 || a->place.block_id == 0 || b->place.block_id == 0) return false;
  uint64_t a_bytes = oar_kit_extent_bytes(a->n_dims, a->shape, a->strides, a->dtype);
  uint64_t b_bytes = oar_kit_extent_bytes(b->n_dims, b->shape, b->strides, b->dtype);
  return a->place.offset < b->place.offset + b_bytes && b->place.offset < a->place.offset + a_bytes;
}

/* An output may take over an input's memory only whole, and only where the declaration says so. */
static bool aliases_badly(const oar_kernel_decl_t* decl, const sim_job_t* job, sim_why_t* why) {
  const sim_view_t* out = &job->views[job->n_inputs];
  for (uint32_t i = 0; i < job->n_views; ++i) {
    const sim_view_t* x = &job->views[i];
    if (x == out || !overlap(x, out)) continue;
    if (decl->inplace != NULL && decl->inplace[0] == (int8_t)i && x->place.offset == out->place.offset &&
        x->n_dims == out->n_dims && x->dtype == out->dtype && x->count == out->count)
      continue;
    sim_refuse(why, OAR_REASON_MEMORY, (int32_t)i, "the output overlaps an input");
    return true;
  }
  return false;
}

static oar_status_t enqueue(const oar_kernel_decl_t* decl, const sim_plan_t* plan, const oar_frame_t* frame) {
  oar_device_t* device = plan->pack->device;
  const oar_host_t* host = plan->pack->host;
  const sim_op_t* op = plan->op;
  uint32_t all = frame->n_inputs, n = plan->n_steps > 0 ? plan->n_own : all;
  sim_why_t why;
  if (frame->stream == NULL)
    return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "%s: launched without a stream", op->name);
  if (all < n || !operands_are(op, n, frame->n_outputs, &why))
    return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "%s", why.text);
  sim_job_t* job = calloc(1, sizeof(*job) + (all + 1) * sizeof(job->views[0]));
  if (job == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for a launch");
  job->plan = *plan;
  job->n_inputs = n;
  job->n_views = all + 1;

  bool good = true;
  pthread_mutex_lock(&device->lock);
  uint64_t count = ++device->n_launches;
  sim_fault_t fault = device->fault;
  for (uint32_t i = 0; good && i <= all; ++i) {
    const oar_view_t* view = i < all ? frame->inputs[i] : frame->outputs[0];
    uint32_t to = i < n ? i : i < all ? i + 1 : n;
    if (i < n && (decl->host_inputs >> i & 1) != 0) {
      /* Read now: the host may change it as soon as this returns. */
      good = view != NULL && view->data != NULL && oar_kit_view_contiguous(view) && view->dtype == OAR_DTYPE_I64 &&
             oar_kit_view_count(view) == 2;
      if (!good) sim_refuse(&why, OAR_REASON_SHAPE, (int32_t)i, "the seed is not i64[2] in host memory");
      else memcpy(job->plan.seed, oar_kit_view_data(view), sizeof(job->plan.seed));
      good = good && shape_copy(&job->views[i], view->dtype, (uint32_t)view->n_dims, view->shape, view->strides,
                                (int32_t)i, &why);
    } else {
      good = view_copy(device, view, op->run == sim_run_copy && i < n, (int32_t)i, &job->views[to], &why);
    }
  }
  pthread_mutex_unlock(&device->lock);
  good = good && op->fits(plan, n, job->views, &why) && sim_epilogue_fits(plan, all + 1, job->views, &why) &&
         !aliases_badly(decl, job, &why);
  if (!good) {
    free(job);
    return oar_kit_error(host, OAR_INVALID_ARGUMENT, 0, "%s: operand %d: %s", op->name, why.operand, why.text);
  }
  if (sim_fault_strikes(&fault, SIM_FAULT_FAIL_AT_ONCE, count)) {
    free(job);
    return oar_kit_error(host, OAR_INTERNAL, 4242, "a fault that was asked for: this launch failed");
  }
  sim_fault_kind_t struck = sim_fault_strikes(&fault, fault.kind, count) ? fault.kind : SIM_FAULT_NONE;
  if (struck == SIM_FAULT_FAIL || struck == SIM_FAULT_HANG || struck == SIM_FAULT_LOSE) {
    free(job);
    return sim_enqueue(frame->stream,
                       struck == SIM_FAULT_FAIL   ? SIM_FAIL
                       : struck == SIM_FAULT_HANG ? SIM_HANG
                                                  : SIM_LOSE,
                       NULL);
  }
  return sim_enqueue(frame->stream, SIM_KERNEL, job);
}

static oar_status_t OAR_CALL kernel_run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  sim_plan_t plan;
  sim_why_t why;
  if (frame->call == NULL) return oar_kit_error(pack->host, OAR_INVALID_ARGUMENT, 0, "run without a call");
  if (!parse(decl->user, pack, frame->call, &plan, &why))
    return oar_kit_error(pack->host, OAR_INVALID_ARGUMENT, 0, "%s", why.text);
  return enqueue(decl, &plan, frame);
}

static void OAR_CALL kernel_release(void* state) { free(state); }

/* ---------------------------------------------------------------- Declarations */
#define ONE(dtype) OAR_BIT(OAR_DTYPE_##dtype)
#define NUMBERS OAR_KIT_NUMBERS
#define PLAIN (OAR_KIT_NUMBERS | OAR_KIT_BOOL)
#define WHOLE ((uint64_t)0x1ffffe) /* every type of whole bytes: for kernels that only move elements */
static const uint64_t numbers[] = {NUMBERS}, floats[] = {OAR_KIT_FLOATS}, plain[] = {PLAIN}, whole[] = {WHOLE};
static const uint64_t compares[] = {PLAIN, PLAIN, OAR_KIT_BOOL}, wheres[] = {OAR_KIT_BOOL, WHOLE};
static const uint64_t gathers[] = {WHOLE, OAR_KIT_INTEGERS, WHOLE}, seeds[] = {ONE(I64), OAR_KIT_FLOATS};
static const uint64_t scatters[] = {NUMBERS, OAR_KIT_INTEGERS, NUMBERS};
static const int8_t over_first[] = {0};

#define OP(name, least, most, fits, run, which) static const sim_op_t op_##name = {#name, least, most, fits, run, which}
OP(add, 2, 2, sim_fits_elementwise, sim_run_binary, SIM_ADD);
OP(subtract, 2, 2, sim_fits_elementwise, sim_run_binary, SIM_SUBTRACT);
OP(multiply, 2, 2, sim_fits_elementwise, sim_run_binary, SIM_MULTIPLY);
OP(divide, 2, 2, sim_fits_elementwise, sim_run_binary, SIM_DIVIDE);
OP(maximum, 2, 2, sim_fits_elementwise, sim_run_binary, SIM_MAXIMUM);
OP(exp, 1, 1, sim_fits_elementwise, sim_run_unary, SIM_EXP);
OP(log, 1, 1, sim_fits_elementwise, sim_run_unary, SIM_LOG);
OP(sqrt, 1, 1, sim_fits_elementwise, sim_run_unary, SIM_SQRT);
OP(tanh, 1, 1, sim_fits_elementwise, sim_run_unary, SIM_TANH);
OP(erf, 1, 1, sim_fits_elementwise, sim_run_unary, SIM_ERF);
OP(equal, 2, 2, sim_fits_compare, sim_run_compare, SIM_EQUAL);
OP(less, 2, 2, sim_fits_compare, sim_run_compare, SIM_LESS);
OP(where, 3, 3, sim_fits_where, sim_run_where, 0);
OP(cast, 1, 1, sim_fits_cast, sim_run_cast, 0);
OP(full, 0, 0, sim_fits_shape, sim_run_full, 0);
OP(arange, 0, 0, sim_fits_shape, sim_run_arange, 0);
OP(random_uniform, 1, 1, sim_fits_random, sim_run_random, 0);
OP(copy, 1, 1, sim_fits_copy, sim_run_copy, 0);
OP(sum, 1, 1, sim_fits_reduce, sim_run_reduce, SIM_SUM);
OP(max, 1, 1, sim_fits_reduce, sim_run_reduce, SIM_MAX);
OP(matmul, 2, 2, sim_fits_matmul, sim_run_matmul, 0);
OP(gather, 2, 2, sim_fits_gather, sim_run_gather, 0);
OP(scatter_add, 3, 3, sim_fits_scatter_add, sim_run_scatter_add, 0);
OP(concat, 1, UINT32_MAX, sim_fits_concat, sim_run_concat, 0);
OP(pad, 1, 1, sim_fits_pad, sim_run_pad, 0);

static oar_status_t OAR_CALL launch_plain(void* state, const oar_frame_t* frame);

#define FLAGS (OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT)
#define RUN(name, masks, ...)                                  \
  static const oar_kernel_decl_t decl_##name = OAR_KIT_KERNEL( \
      #name, 1, 1, FLAGS, 0, masks, __VA_ARGS__, .user = &op_##name, .check = kernel_check, .run = kernel_run)
/* Prepared kernels overwrite no input, so one launch serves them all. */
#define PREPARED(name, masks)                                                                 \
  static const oar_kernel_decl_t decl_##name =                                                \
      OAR_KIT_KERNEL(#name, 1, 1, FLAGS, 0, masks, .user = &op_##name, .check = kernel_check, \
                     .prepare = kernel_prepare, .launch = launch_plain, .release = kernel_release)
RUN(add, numbers, .inplace = over_first);
RUN(subtract, numbers, .inplace = over_first);
RUN(multiply, numbers, .inplace = over_first);
RUN(divide, floats, .inplace = over_first);
RUN(maximum, numbers, .inplace = NULL);
RUN(exp, floats, .inplace = over_first);
RUN(log, floats, .inplace = NULL);
RUN(sqrt, floats, .inplace = NULL);
RUN(tanh, floats, .inplace = over_first);
RUN(erf, floats, .inplace = NULL);
RUN(equal, compares, .inplace = NULL);
RUN(less, compares, .inplace = NULL);
RUN(where, wheres, .inplace = NULL);
RUN(cast, plain, .inplace = NULL);
RUN(full, plain, .inplace = NULL);
RUN(arange, plain, .inplace = NULL);
RUN(random_uniform, seeds, .host_inputs = 1);
RUN(copy, whole, .inplace = NULL);
RUN(gather, gathers, .inplace = NULL);
PREPARED(sum, numbers);
PREPARED(max, numbers);
PREPARED(matmul, numbers);
PREPARED(scatter_add, scatters);
PREPARED(concat, whole);
PREPARED(pad, plain);

static oar_status_t OAR_CALL launch_plain(void* state, const oar_frame_t* frame) {
  static const oar_kernel_decl_t no_alias = {.struct_size = sizeof(no_alias)};
  return enqueue(&no_alias, state, frame);
}

static const oar_kernel_decl_t* const decls[] = {
    &decl_add,   &decl_subtract, &decl_multiply, &decl_divide, &decl_maximum,        &decl_exp,
    &decl_log,   &decl_sqrt,     &decl_tanh,     &decl_erf,    &decl_equal,          &decl_less,
    &decl_where, &decl_cast,     &decl_full,     &decl_arange, &decl_random_uniform, &decl_copy,
    &decl_sum,   &decl_max,      &decl_matmul,   &decl_gather, &decl_scatter_add,    &decl_concat,
    &decl_pad};

const oar_kernel_decl_t* sim_decl(oar_str_t op) {
  for (size_t i = 0; i < sizeof(decls) / sizeof(decls[0]); ++i)
    if (decls[i]->op.size == op.size && memcmp(decls[i]->op.data, op.data, op.size) == 0) return decls[i];
  return NULL;
}

static oar_status_t OAR_CALL kernel_declarations(oar_pack_t* pack, uint32_t* out_n,
                                                 const oar_kernel_decl_t* const** out_decls) {
  (void)pack;
  *out_n = sizeof(decls) / sizeof(decls[0]);
  *out_decls = decls;
  return OAR_OK;
}

const oar_kernel_table_t sim_kernel_table = {
    .struct_size = sizeof(sim_kernel_table), .version = OAR_KERNEL_VERSION, .declarations = kernel_declarations};

/* ---------------------------------------------------------------- Pack */
static oar_status_t OAR_CALL pack_open(const oar_host_t* host, const oar_device_ref_t* ref,
                                       const oar_options_t* options, oar_pack_t** out_pack) {
  if (ref->device == NULL || !oar_kit_str_is(ref->info->kind, "sim")) return OAR_REFUSED;
  if (oar_kit_options_check(host, options) != OAR_OK) return OAR_UNSUPPORTED;
  oar_pack_t* pack = malloc(sizeof(*pack));
  if (pack == NULL) return oar_kit_error(host, OAR_OUT_OF_MEMORY, 0, "sim: no host memory for a pack");
  *pack = (oar_pack_t){host, ref->device};
  *out_pack = pack;
  return OAR_OK;
}

static void OAR_CALL pack_close(oar_pack_t* pack) { free(pack); }

const oar_pack_table_t sim_pack_table = {
    .struct_size = sizeof(sim_pack_table), .version = OAR_PACK_VERSION, .open = pack_open, .close = pack_close};
