/* The ops that the npu reads: which versions and dtypes, what it refuses of them, and the options of their instructions. */
#include "npu.h"

#define F32 OAR_BIT(OAR_DTYPE_F32)
#define ALL (OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_I8) | OAR_BIT(OAR_DTYPE_I32))

bool npu_refuse(npu_why_t* why, uint32_t reason, int32_t operand, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  why->reason = reason;
  why->operand = operand;
  vsnprintf(why->text, sizeof(why->text), format, arguments);
  va_end(arguments);
  return false;
}

/* ---------------------------------------------------------------- Attributes to options */
/* Two entries of a list that may be empty, have one entry for all, or one for each axis. */
static bool read_pair(const oar_call_t* call, uint32_t attr, const char* name, int64_t otherwise, int64_t* to,
                      npu_why_t* why) {
  const int64_t* v = NULL;
  uint64_t n = 0;
  oar_kit_attr_ints(call, attr, &v, &n);
  if (n > 2)
    return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "%s has %llu entries, the npu takes 2", name,
                      (unsigned long long)n);
  for (uint64_t i = 0; i < 2; ++i) to[i] = n == 0 ? otherwise : v[n == 1 ? 0 : i];
  return true;
}

/* One entry for all, one for both ends of each axis, or all begins and then all ends. */
static bool read_padding(const oar_call_t* call, uint32_t attr, int64_t* options, npu_why_t* why) {
  const int64_t* v = NULL;
  uint64_t n = 0;
  oar_kit_attr_ints(call, attr, &v, &n);
  if (n != 0 && n != 1 && n != 2 && n != 4)
    return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "padding has %llu entries, the npu takes 1, 2 or 4",
                      (unsigned long long)n);
  for (uint64_t i = 0; i < 2; ++i) {
    options[NPU_BEGIN + i] = n == 0 ? 0 : v[n == 1 ? 0 : i];
    options[NPU_END + i] = n == 0 ? 0 : v[n == 1 ? 0 : n == 2 ? i : 2 + i];
  }
  return true;
}

static bool read_conv(const oar_call_t* call, int64_t* options, npu_why_t* why) {
  options[NPU_EXTRA] = 1;
  oar_kit_attr_int(call, 3, &options[NPU_EXTRA]);
  return read_pair(call, 0, "stride", 1, options + NPU_STRIDE, why) && read_padding(call, 1, options, why) &&
         read_pair(call, 2, "dilation", 1, options + NPU_DILATION, why);
}

static bool read_pool(const oar_call_t* call, int64_t* options, npu_why_t* why) {
  bool ceil_mode = false, include = false;
  oar_kit_attr_bool(call, 4, &ceil_mode);
  oar_kit_attr_bool(call, 5, &include);
  if (ceil_mode) return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "ceil_mode is not there on the npu");
  if (call->n_outputs > 1 && call->outputs[1] != NULL)
    return npu_refuse(why, OAR_REASON_DTYPE, (int32_t)call->n_inputs + 1, "the npu gives no indices");
  options[NPU_EXTRA] = include;
  return read_pair(call, 0, "kernel", 0, options + NPU_KERNEL, why) &&
         read_pair(call, 1, "stride", 1, options + NPU_STRIDE, why) && read_padding(call, 2, options, why) &&
         read_pair(call, 3, "dilation", 1, options + NPU_DILATION, why);
}

static bool read_axis(const oar_call_t* call, int64_t* options, npu_why_t* why) {
  (void)why;
  oar_kit_attr_int(call, 0, &options[0]);
  return true;
}

static bool read_axes(const oar_call_t* call, int64_t* options, npu_why_t* why) {
  const int64_t* v = NULL;
  uint64_t n = 0;
  oar_kit_attr_ints(call, 0, &v, &n);
  if (n > NPU_MAX_DIMS) return npu_refuse(why, OAR_REASON_RANK, -1, "axes has %llu entries", (unsigned long long)n);
  for (uint64_t i = 0; i < NPU_MAX_DIMS; ++i) options[i] = i < n ? v[i] : -1;
  return true;
}

/* ---------------------------------------------------------------- What fits */
static const npu_tensor_t* out_of(const npu_instruction_t* in) { return &in->operands[in->n_operands - 1]; }

static bool same_shape(const npu_tensor_t* a, const npu_tensor_t* b) {
  return a->n_dims == b->n_dims && memcmp(a->shape, b->shape, a->n_dims * sizeof(int64_t)) == 0;
}

static bool fits_broadcast(const npu_instruction_t* in, npu_why_t* why) {
  const npu_tensor_t* out = out_of(in);
  int64_t strides[NPU_MAX_DIMS];
  for (uint32_t i = 0; i + 1 < in->n_operands; ++i)
    if (!oar_kit_broadcast_strides(out->n_dims, out->shape, in->operands[i].n_dims, in->operands[i].shape, NULL,
                                   strides))
      return npu_refuse(why, OAR_REASON_SHAPE, (int32_t)i, "it does not broadcast to the output");
  return true;
}

static bool fits_same(const npu_instruction_t* in, npu_why_t* why) {
  return same_shape(&in->operands[0], out_of(in)) ||
         npu_refuse(why, OAR_REASON_SHAPE, 1, "the output has another shape");
}

static bool fits_reshape(const npu_instruction_t* in, npu_why_t* why) {
  return npu_count(&in->operands[0]) == npu_count(out_of(in)) ||
         npu_refuse(why, OAR_REASON_SHAPE, 1, "the output has another number of elements");
}

static bool fits_softmax(const npu_instruction_t* in, npu_why_t* why) {
  if (in->options[0] < 0 || in->options[0] >= in->operands[0].n_dims)
    return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "axis %lld is none of x", (long long)in->options[0]);
  return fits_same(in, why);
}

static bool fits_permute(const npu_instruction_t* in, npu_why_t* why) {
  const npu_tensor_t *x = &in->operands[0], *out = out_of(in);
  uint32_t seen = 0;
  if (x->n_dims != out->n_dims) return npu_refuse(why, OAR_REASON_RANK, 1, "the output has another rank");
  for (uint32_t i = 0; i < x->n_dims; ++i) {
    int64_t axis = in->options[i];
    if (axis < 0 || axis >= x->n_dims || (seen >> axis & 1) != 0 || out->shape[i] != x->shape[axis])
      return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "axes and shapes don't agree");
    seen |= 1u << axis;
  }
  return true;
}

static bool fits_matmul(const npu_instruction_t* in, npu_why_t* why) {
  const npu_tensor_t *a = &in->operands[0], *b = &in->operands[1], *out = out_of(in);
  int64_t strides[NPU_MAX_DIMS];
  if (a->n_dims < 2 || b->n_dims < 2 || out->n_dims < 2)
    return npu_refuse(why, OAR_REASON_RANK, -1, "matmul of less than two axes");
  const int64_t *as = a->shape + a->n_dims - 2, *bs = b->shape + b->n_dims - 2, *os = out->shape + out->n_dims - 2;
  if (as[1] != bs[0] || os[0] != as[0] || os[1] != bs[1] ||
      !oar_kit_broadcast_strides(out->n_dims - 2, out->shape, a->n_dims - 2, a->shape, NULL, strides) ||
      !oar_kit_broadcast_strides(out->n_dims - 2, out->shape, b->n_dims - 2, b->shape, NULL, strides))
    return npu_refuse(why, OAR_REASON_SHAPE, -1, "the shapes of a matmul don't agree");
  return true;
}

/* Windows of kernel[2] over the last two axes of x give the last two of out. */
static bool fits_windows(const npu_instruction_t* in, const int64_t* kernel, npu_why_t* why) {
  const npu_tensor_t *x = &in->operands[0], *out = out_of(in);
  if (x->n_dims != 4 || out->n_dims != 4)
    return npu_refuse(why, OAR_REASON_RANK, 0, "the npu has images of two axes only");
  if (kernel[0] > (1 << 16) / (kernel[1] > 0 ? kernel[1] : 1))
    return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "a window has more than 65536 elements");
  for (int i = 0; i < 2; ++i) {
    const int64_t* o = in->options + i;
    int64_t high = INT32_MAX;
    if (kernel[i] < 1 || kernel[i] > high || o[NPU_STRIDE] < 1 || o[NPU_STRIDE] > high || o[NPU_DILATION] < 1 ||
        o[NPU_DILATION] > high || o[NPU_BEGIN] < 0 || o[NPU_BEGIN] > high || o[NPU_END] < 0 || o[NPU_END] > high)
      return npu_refuse(why, OAR_REASON_ATTRIBUTE, -1, "a window is out of range");
    int64_t span = x->shape[2 + i] + o[NPU_BEGIN] + o[NPU_END] - o[NPU_DILATION] * (kernel[i] - 1) - 1;
    if (span < 0 || span / o[NPU_STRIDE] + 1 != out->shape[2 + i])
      return npu_refuse(why, OAR_REASON_SHAPE, 0, "windows and the output's shape don't agree");
  }
  return true;
}

static bool fits_pool(const npu_instruction_t* in, npu_why_t* why) {
  const npu_tensor_t *x = &in->operands[0], *out = out_of(in);
  if (!fits_windows(in, in->options + NPU_KERNEL, why)) return false;
  return (x->shape[0] == out->shape[0] && x->shape[1] == out->shape[1]) ||
         npu_refuse(why, OAR_REASON_SHAPE, 0, "a pool changes images or channels");
}

static bool fits_conv(const npu_instruction_t* in, npu_why_t* why) {
  const npu_tensor_t *x = &in->operands[0], *w = &in->operands[1], *out = out_of(in);
  int64_t groups = in->options[NPU_EXTRA];
  if (w->n_dims != 4) return npu_refuse(why, OAR_REASON_RANK, 1, "the npu has images of two axes only");
  if (!fits_windows(in, w->shape + 2, why)) return false;
  if (groups < 1 || groups > x->shape[1] || x->shape[1] % groups != 0 || w->shape[0] % groups != 0 ||
      w->shape[1] != x->shape[1] / groups || out->shape[0] != x->shape[0] || out->shape[1] != w->shape[0])
    return npu_refuse(why, OAR_REASON_SHAPE, 1, "channels and groups don't agree");
  if (in->n_operands == 4 && (in->operands[2].n_dims != 1 || in->operands[2].shape[0] != w->shape[0]))
    return npu_refuse(why, OAR_REASON_SHAPE, 2, "bias is not one number for each channel");
  return true;
}

/* ---------------------------------------------------------------- The table */
#define OP(op_name, dtypes, least, most, one, read, fits, run) \
  { {sizeof(oar_op_range_t), 1, 1, 0, OAR_STR(op_name), dtypes}, least, most, one, read, fits, run }
const npu_op_t npu_ops[NPU_OPS] = {
    [NPU_ADD] = OP("add", ALL, 2, 2, true, NULL, fits_broadcast, npu_run_binary),
    [NPU_SUBTRACT] = OP("subtract", ALL, 2, 2, true, NULL, fits_broadcast, npu_run_binary),
    [NPU_MULTIPLY] = OP("multiply", ALL, 2, 2, true, NULL, fits_broadcast, npu_run_binary),
    [NPU_MAXIMUM] = OP("maximum", ALL, 2, 2, true, NULL, fits_broadcast, npu_run_binary),
    [NPU_RELU] = OP("relu", ALL, 1, 1, true, NULL, fits_same, npu_run_unary),
    [NPU_TANH] = OP("tanh", F32, 1, 1, true, NULL, fits_same, npu_run_unary),
    [NPU_CAST] = OP("cast", ALL, 1, 1, false, NULL, fits_same, npu_run_cast),
    [NPU_MATMUL] = OP("matmul", ALL, 2, 2, true, NULL, fits_matmul, npu_run_matmul),
    [NPU_CONV] = OP("conv", F32, 2, 3, true, read_conv, fits_conv, npu_run_conv),
    [NPU_MAX_POOL] = OP("max_pool", ALL, 1, 1, true, read_pool, fits_pool, npu_run_pool),
    [NPU_AVG_POOL] = OP("avg_pool", F32, 1, 1, true, read_pool, fits_pool, npu_run_pool),
    [NPU_SOFTMAX] = OP("softmax", F32, 1, 1, true, read_axis, fits_softmax, npu_run_softmax),
    [NPU_RESHAPE] = OP("reshape", ALL, 1, 1, true, NULL, fits_reshape, npu_run_reshape),
    [NPU_PERMUTE] = OP("permute", ALL, 1, 1, true, read_axes, fits_permute, npu_run_permute),
};
#define RANGE(i) &npu_ops[i].range
const oar_op_range_t* const npu_ranges[NPU_OPS] = {
    RANGE(NPU_ADD),      RANGE(NPU_SUBTRACT), RANGE(NPU_MULTIPLY), RANGE(NPU_MAXIMUM), RANGE(NPU_RELU),
    RANGE(NPU_TANH),     RANGE(NPU_CAST),     RANGE(NPU_MATMUL),   RANGE(NPU_CONV),    RANGE(NPU_MAX_POOL),
    RANGE(NPU_AVG_POOL), RANGE(NPU_SOFTMAX),  RANGE(NPU_RESHAPE),  RANGE(NPU_PERMUTE)};

/* ---------------------------------------------------------------- Instructions */
bool npu_tensor_check(const npu_tensor_t* t, int32_t operand, npu_why_t* why) {
  if (!oar_kit_in(ALL, t->dtype))
    return npu_refuse(why, OAR_REASON_DTYPE, operand, "the npu has f32, i8 and i32, not dtype %u", t->dtype);
  if (t->n_dims > NPU_MAX_DIMS)
    return npu_refuse(why, OAR_REASON_RANK, operand, "it has rank %u, the npu takes %d", t->n_dims, NPU_MAX_DIMS);
  int64_t most = (int64_t)(NPU_SCRATCH_BYTES / oar_kit_dtype_bytes(t->dtype)), n = 1;
  for (uint32_t i = 0; i < t->n_dims; ++i) {
    if (t->shape[i] < 0) return npu_refuse(why, OAR_REASON_SHAPE, operand, "its size is only known at run time");
    if (t->shape[i] == 0) return npu_refuse(why, OAR_REASON_SHAPE, operand, "it has no elements");
    if (t->shape[i] > most / n)
      return npu_refuse(why, OAR_REASON_MEMORY, operand, "it takes more than the npu's %llu bytes",
                        (unsigned long long)NPU_SCRATCH_BYTES);
    n *= t->shape[i];
  }
  return true;
}

bool npu_tensor_read(const oar_value_t* value, int32_t operand, npu_tensor_t* out, npu_why_t* why) {
  memset(out, 0, sizeof(*out));
  out->dtype = value->dtype;
  out->n_dims = value->n_dims;
  if (value->n_dims > NPU_MAX_DIMS || !oar_kit_in(ALL, value->dtype)) return npu_tensor_check(out, operand, why);
  if (value->n_dims > 0) memcpy(out->shape, value->shape, value->n_dims * sizeof(int64_t));
  if ((value->flags & OAR_VALUE_HOST) != 0) return npu_refuse(why, OAR_REASON_SPACE, operand, "it lies in host memory");
  if ((value->flags & OAR_VALUE_MUTATED) != 0) return npu_refuse(why, OAR_REASON_OTHER, operand, "it is written to");
  if (!npu_tensor_check(out, operand, why)) return false;
  return oar_kit_value_contiguous(value) || npu_refuse(why, OAR_REASON_LAYOUT, operand, "it is not contiguous");
}

bool npu_instruction_check(const npu_instruction_t* in, npu_why_t* why) {
  if (in->opcode >= NPU_OPS) return npu_refuse(why, OAR_REASON_OP, -1, "there is no opcode %u", in->opcode);
  const npu_op_t* op = &npu_ops[in->opcode];
  if (in->n_operands < op->min_inputs + 1 || in->n_operands > op->max_inputs + 1)
    return npu_refuse(why, OAR_REASON_OP, -1, "%s has %u operands", op->range.op.data, in->n_operands);
  for (uint32_t i = 0; i < in->n_operands; ++i) {
    if (!npu_tensor_check(&in->operands[i], (int32_t)i, why)) return false;
    if (!oar_kit_in(op->range.dtypes, in->operands[i].dtype) ||
        (op->one_dtype && in->operands[i].dtype != in->operands[0].dtype))
      return npu_refuse(why, OAR_REASON_DTYPE, (int32_t)i, "%s does not take dtype %u there", op->range.op.data,
                        in->operands[i].dtype);
  }
  return op->fits(in, why);
}

bool npu_instruction_read(const oar_call_t* call, npu_instruction_t* out, npu_why_t* why) {
  memset(out, 0, sizeof(*out));
  while (out->opcode < NPU_OPS && !oar_kit_str_is(call->op, npu_ops[out->opcode].range.op.data)) ++out->opcode;
  if (out->opcode == NPU_OPS) return npu_refuse(why, OAR_REASON_OP, -1, "the npu does not have this op");
  if (call->op_version != 1)
    return npu_refuse(why, OAR_REASON_VERSION, -1, "the npu has version 1 of it, not %u", call->op_version);
  if (call->n_epilogue > 0 || call->n_regions > 0)
    return npu_refuse(why, OAR_REASON_EPILOGUE, -1, "the npu takes neither epilogues nor regions in a graph");
  if (OAR_HAS(call, ext) && oar_ext_unknown(call->ext, NULL, 0) != NULL)
    return npu_refuse(why, OAR_REASON_OTHER, -1, "it has an extension that must be understood");
  if (call->n_outputs < 1 || call->outputs[0] == NULL) return npu_refuse(why, OAR_REASON_OTHER, -1, "it has no output");
  for (uint32_t i = 0; i < call->n_inputs; ++i) {
    if (call->inputs[i] == NULL) continue;
    if (out->n_operands + 1 >= NPU_MAX_OPERANDS) return npu_refuse(why, OAR_REASON_OP, (int32_t)i, "too many operands");
    if (!npu_tensor_read(call->inputs[i], (int32_t)i, &out->operands[out->n_operands++], why)) return false;
  }
  if (!npu_tensor_read(call->outputs[0], (int32_t)call->n_inputs, &out->operands[out->n_operands++], why)) return false;
  const npu_op_t* op = &npu_ops[out->opcode];
  return (op->read == NULL || op->read(call, out->options, why)) && npu_instruction_check(out, why);
}

uint64_t npu_cost_ns(const npu_instruction_t* in) {
  uint64_t work = (uint64_t)npu_count(out_of(in));
  const int64_t* w = in->operands[1].shape;
  if (in->opcode == NPU_MATMUL) work *= (uint64_t)in->operands[0].shape[in->operands[0].n_dims - 1];
  if (in->opcode == NPU_CONV) work *= (uint64_t)(w[1] * w[2] * w[3]);
  return 10 + work / 64; /* 64 elements or products a cycle of 1 ns */
}
