/* The 25 level-1 kernels. Operands are row-major (copy alone reads strides); arithmetic is in double or in 64-bit
 * integers that wrap, sums of f64 in long double; results don't depend on the order in which the worker runs. */
#include "sim.h"

#include <math.h>

static bool is_float(uint32_t dtype) { return oar_kit_in(OAR_KIT_FLOATS, dtype); }
static bool is_signed(uint32_t dtype) { return oar_kit_in(OAR_KIT_SIGNED, dtype); }

/* ---------------------------------------------------------------- Elementwise */
enum { MAX_OPERANDS = 3 };

/* The inputs' offsets that belong to each element of the output, in its order. */
typedef struct walk {
  const sim_view_t* out;
  uint32_t n;
  int64_t index[SIM_MAX_DIMS], strides[MAX_OPERANDS][SIM_MAX_DIMS], at[MAX_OPERANDS];
} walk_t;

static void walk_begin(walk_t* walk, const sim_job_t* job) {
  memset(walk, 0, sizeof(*walk));
  walk->out = &job->views[job->n_inputs];
  walk->n = job->n_inputs;
  for (uint32_t i = 0; i < walk->n; ++i)
    oar_kit_broadcast_strides(walk->out->n_dims, walk->out->shape, job->views[i].n_dims, job->views[i].shape, NULL,
                              walk->strides[i]);
}

static void walk_next(walk_t* walk) {
  for (uint32_t d = walk->out->n_dims; d-- > 0;) {
    for (uint32_t i = 0; i < walk->n; ++i) walk->at[i] += walk->strides[i][d];
    if (++walk->index[d] < walk->out->shape[d]) return;
    for (uint32_t i = 0; i < walk->n; ++i) walk->at[i] -= walk->strides[i][d] * walk->out->shape[d];
    walk->index[d] = 0;
  }
}

oar_status_t sim_run_unary(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *out = &job->views[1];
  walk_t walk;
  (void)text;
  walk_begin(&walk, job);
  for (int64_t i = 0; i < out->count; ++i, walk_next(&walk)) {
    double v = oar_kit_load(x->data, x->dtype, walk.at[0]);
    switch (job->plan.op->which) {
      case SIM_EXP: v = exp(v); break;
      case SIM_LOG: v = log(v); break;
      case SIM_SQRT: v = sqrt(v); break;
      case SIM_TANH: v = tanh(v); break;
      default: v = erf(v); break;
    }
    oar_kit_store(out->data, out->dtype, i, v);
  }
  return OAR_OK;
}

oar_status_t sim_run_binary(const sim_job_t* job, char* text) {
  const sim_view_t *a = &job->views[0], *b = &job->views[1], *out = &job->views[2];
  bool floats = is_float(out->dtype), has_sign = is_signed(out->dtype);
  walk_t walk;
  (void)text;
  walk_begin(&walk, job);
  for (int64_t i = 0; i < out->count; ++i, walk_next(&walk)) {
    if (floats) {
      double x = oar_kit_load(a->data, a->dtype, walk.at[0]), y = oar_kit_load(b->data, b->dtype, walk.at[1]);
      switch (job->plan.op->which) {
        case SIM_ADD: x = x + y; break;
        case SIM_SUBTRACT: x = x - y; break;
        case SIM_MULTIPLY: x = x * y; break;
        case SIM_DIVIDE: x = x / y; break;
        default: x = x != x ? x : y != y || x < y ? y : x; break; /* a NaN on either side stays */
      }
      oar_kit_store(out->data, out->dtype, i, x);
    } else {
      uint64_t x = oar_kit_load_int(a->data, a->dtype, walk.at[0]);
      uint64_t y = oar_kit_load_int(b->data, b->dtype, walk.at[1]);
      switch (job->plan.op->which) {
        case SIM_ADD: x = x + y; break;
        case SIM_SUBTRACT: x = x - y; break;
        case SIM_MULTIPLY: x = x * y; break;
        default: x = (has_sign ? (int64_t)x < (int64_t)y : x < y) ? y : x; break;
      }
      oar_kit_store_int(out->data, out->dtype, i, x);
    }
  }
  return OAR_OK;
}

oar_status_t sim_run_compare(const sim_job_t* job, char* text) {
  const sim_view_t *a = &job->views[0], *b = &job->views[1], *out = &job->views[2];
  bool floats = is_float(a->dtype), has_sign = is_signed(a->dtype), less = job->plan.op->which == SIM_LESS;
  walk_t walk;
  (void)text;
  walk_begin(&walk, job);
  for (int64_t i = 0; i < out->count; ++i, walk_next(&walk)) {
    bool result;
    if (floats) {
      double x = oar_kit_load(a->data, a->dtype, walk.at[0]), y = oar_kit_load(b->data, b->dtype, walk.at[1]);
      result = less ? x < y : x == y;
    } else {
      uint64_t x = oar_kit_load_int(a->data, a->dtype, walk.at[0]);
      uint64_t y = oar_kit_load_int(b->data, b->dtype, walk.at[1]);
      result = !less ? x == y : has_sign ? (int64_t)x < (int64_t)y : x < y;
    }
    out->data[i] = result;
  }
  return OAR_OK;
}

oar_status_t sim_run_where(const sim_job_t* job, char* text) {
  const sim_view_t* out = &job->views[3];
  size_t size = oar_kit_dtype_bytes(out->dtype);
  walk_t walk;
  (void)text;
  walk_begin(&walk, job);
  for (int64_t i = 0; i < out->count; ++i, walk_next(&walk)) {
    uint32_t from = job->views[0].data[walk.at[0]] != 0 ? 1 : 2;
    memcpy(out->data + (size_t)i * size, job->views[from].data + (size_t)walk.at[from] * size, size);
  }
  return OAR_OK;
}

oar_status_t sim_run_cast(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *out = &job->views[1];
  (void)text;
  for (int64_t i = 0; i < out->count; ++i) oar_kit_convert(out->data, out->dtype, i, x->data, x->dtype, i);
  return OAR_OK;
}

oar_status_t sim_run_copy(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *out = &job->views[1];
  size_t size = oar_kit_dtype_bytes(out->dtype);
  int64_t index[SIM_MAX_DIMS] = {0}, at = 0;
  (void)text;
  for (int64_t i = 0; i < out->count; ++i) {
    memcpy(out->data + (size_t)i * size, x->data + (size_t)at * size, size);
    oar_kit_next(x->n_dims, x->shape, x->strides, index, &at);
  }
  return OAR_OK;
}

/* ---------------------------------------------------------------- Makers */
oar_status_t sim_run_full(const sim_job_t* job, char* text) {
  const sim_view_t* out = &job->views[0];
  (void)text;
  for (int64_t i = 0; i < out->count; ++i) oar_kit_store(out->data, out->dtype, i, job->plan.value);
  return OAR_OK;
}

oar_status_t sim_run_arange(const sim_job_t* job, char* text) {
  const sim_view_t* out = &job->views[0];
  (void)text;
  for (int64_t i = 0; i < out->count; ++i) oar_kit_convert(out->data, out->dtype, i, &i, OAR_DTYPE_I64, 0);
  return OAR_OK;
}

/* Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). */
static void philox(const int64_t seed[2], uint64_t block, uint32_t out[4]) {
  uint32_t k0 = (uint32_t)(uint64_t)seed[0], k1 = (uint32_t)((uint64_t)seed[0] >> 32);
  uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)(uint64_t)seed[1],
                   (uint32_t)((uint64_t)seed[1] >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)0xd2511f53u * c[0], p1 = (uint64_t)0xcd9e8d57u * c[2];
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
    memcpy(c, next, sizeof(c));
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  memcpy(out, c, sizeof(c));
}

oar_status_t sim_run_random(const sim_job_t* job, char* text) {
  const sim_view_t* out = &job->views[1];
  bool wide = out->dtype == OAR_DTYPE_F64;
  int64_t per_block = wide ? 2 : 4;
  uint32_t words[4];
  (void)text;
  for (int64_t i = 0; i < out->count; ++i) {
    int64_t lane = i % per_block;
    if (lane == 0) philox(job->plan.seed, (uint64_t)(i / per_block), words);
    double value;
    if (wide) {
      uint64_t bits = (uint64_t)words[2 * lane + 1] << 32 | words[2 * lane];
      value = (double)(bits >> 11) * 0x1p-53;
    } else {
      value = (double)(words[lane] >> 8) * 0x1p-24;
    }
    oar_kit_store(out->data, out->dtype, i, value);
  }
  return OAR_OK;
}

/* ---------------------------------------------------------------- Reductions and products */
static oar_status_t no_memory(char* text) {
  snprintf(text, SIM_TEXT, "sim: no host memory for a kernel's scratch");
  return OAR_OUT_OF_MEMORY;
}

typedef union accumulator {
  long double f;
  uint64_t i;
} accumulator_t;

oar_status_t sim_run_reduce(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *out = &job->views[1];
  bool floats = is_float(x->dtype), has_sign = is_signed(x->dtype), is_max = job->plan.op->which == SIM_MAX;
  accumulator_t* sums = malloc(((size_t)out->count + 1) * sizeof(*sums));
  if (sums == NULL) return no_memory(text);
  int64_t strides[SIM_MAX_DIMS] = {0}, index[SIM_MAX_DIMS] = {0}, at = 0, step = 1;
  for (uint32_t d = x->n_dims; d-- > 0;) {
    if (job->plan.all_axes || (job->plan.axes >> d & 1) != 0) continue;
    strides[d] = step;
    step *= x->shape[d];
  }
  accumulator_t first = {.f = 0};
  if (floats) {
    if (is_max) first.f = -INFINITY;
  } else {
    first.i = is_max && has_sign ? (uint64_t)INT64_MIN >> (64 - oar_kit_dtype_bits(x->dtype)) : 0;
    if (is_max && has_sign) first.i = ~(first.i - 1); /* sign extended */
  }
  for (int64_t i = 0; i < out->count; ++i) sums[i] = first;
  for (int64_t i = 0; i < x->count; ++i) {
    accumulator_t* sum = &sums[at];
    if (floats) {
      double v = oar_kit_load(x->data, x->dtype, i);
      if (!is_max) sum->f += v;
      else if (v != v || v > sum->f) sum->f = sum->f != sum->f ? sum->f : v;
    } else {
      uint64_t v = oar_kit_load_int(x->data, x->dtype, i);
      if (!is_max) sum->i += v;
      else if (has_sign ? (int64_t)v > (int64_t)sum->i : v > sum->i) sum->i = v;
    }
    oar_kit_next(x->n_dims, x->shape, strides, index, &at);
  }
  for (int64_t i = 0; i < out->count; ++i) {
    if (floats) oar_kit_store(out->data, out->dtype, i, (double)sums[i].f);
    else oar_kit_store_int(out->data, out->dtype, i, sums[i].i);
  }
  free(sums);
  return OAR_OK;
}

/* One [M, K] x [K, N]; b is already widened, row and sums are scratch. */
static void multiply_float(const sim_view_t* a, int64_t a_at, const double* b, const sim_view_t* out, int64_t out_at,
                           int64_t m, int64_t k, int64_t n, double* sums) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) sums[j] = 0;
    for (int64_t l = 0; l < k; ++l) {
      double v = oar_kit_load(a->data, a->dtype, a_at + i * k + l);
      const double* row = b + l * n;
      for (int64_t j = 0; j < n; ++j) sums[j] += v * row[j];
    }
    for (int64_t j = 0; j < n; ++j) oar_kit_store(out->data, out->dtype, out_at + i * n + j, sums[j]);
  }
}

static void multiply_int(const sim_view_t* a, int64_t a_at, const uint64_t* b, const sim_view_t* out, int64_t out_at,
                         int64_t m, int64_t k, int64_t n, uint64_t* sums) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) sums[j] = 0;
    for (int64_t l = 0; l < k; ++l) {
      uint64_t v = oar_kit_load_int(a->data, a->dtype, a_at + i * k + l);
      const uint64_t* row = b + l * n;
      for (int64_t j = 0; j < n; ++j) sums[j] += v * row[j];
    }
    for (int64_t j = 0; j < n; ++j) oar_kit_store_int(out->data, out->dtype, out_at + i * n + j, sums[j]);
  }
}

oar_status_t sim_run_matmul(const sim_job_t* job, char* text) {
  const sim_view_t *a = &job->views[0], *b = &job->views[1], *out = &job->views[2];
  uint32_t batch_dims = out->n_dims - 2;
  int64_t m = out->shape[batch_dims], n = out->shape[batch_dims + 1], k = a->shape[a->n_dims - 1];
  int64_t batches = oar_kit_count(batch_dims, out->shape), widened_at = -1;
  int64_t a_strides[SIM_MAX_DIMS], b_strides[SIM_MAX_DIMS], a_index[SIM_MAX_DIMS] = {0}, b_index[SIM_MAX_DIMS] = {0};
  int64_t a_at = 0, b_at = 0;
  bool floats = is_float(out->dtype);
  if (out->count == 0) return OAR_OK;
  oar_kit_broadcast_strides(batch_dims, out->shape, a->n_dims - 2, a->shape, NULL, a_strides);
  oar_kit_broadcast_strides(batch_dims, out->shape, b->n_dims - 2, b->shape, NULL, b_strides);
  uint64_t* wide = malloc((size_t)(k * n + n) * sizeof(*wide)); /* or doubles: as large */
  double* wide_floats = (double*)wide;
  if (wide == NULL) return no_memory(text);
  for (int64_t batch = 0; batch < batches; ++batch) {
    if (widened_at != b_at) {
      for (int64_t i = 0; i < k * n; ++i) {
        if (floats) wide_floats[i] = oar_kit_load(b->data, b->dtype, b_at * k * n + i);
        else wide[i] = oar_kit_load_int(b->data, b->dtype, b_at * k * n + i);
      }
      widened_at = b_at;
    }
    if (floats) multiply_float(a, a_at * m * k, wide_floats, out, batch * m * n, m, k, n, wide_floats + k * n);
    else multiply_int(a, a_at * m * k, wide, out, batch * m * n, m, k, n, wide + k * n);
    oar_kit_next(batch_dims, out->shape, a_strides, a_index, &a_at);
    oar_kit_next(batch_dims, out->shape, b_strides, b_index, &b_at);
  }
  free(wide);
  return OAR_OK;
}

/* ---------------------------------------------------------------- Indexing */
static bool index_at(const sim_view_t* index, int64_t i, int64_t rows, int64_t* out_row, char* text) {
  uint64_t value = oar_kit_load_int(index->data, index->dtype, i);
  bool wraps = is_signed(index->dtype) && (int64_t)value < 0;
  *out_row = (int64_t)(wraps ? value + (uint64_t)rows : value);
  if ((wraps || value < (uint64_t)rows) && *out_row >= 0 && *out_row < rows) return true;
  if (is_signed(index->dtype))
    snprintf(text, SIM_TEXT, "index %lld at position %lld is not in [-%lld, %lld)", (long long)value, (long long)i,
             (long long)rows, (long long)rows);
  else
    snprintf(text, SIM_TEXT, "index %llu at position %lld is not in [0, %lld)", (unsigned long long)value, (long long)i,
             (long long)rows);
  return false;
}

oar_status_t sim_run_gather(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *index = &job->views[1], *out = &job->views[2];
  size_t row_bytes = (size_t)oar_kit_count(x->n_dims - 1, x->shape + 1) * oar_kit_dtype_bytes(x->dtype);
  for (int64_t i = 0; i < index->count; ++i) {
    int64_t row;
    if (!index_at(index, i, x->shape[0], &row, text)) return OAR_INVALID_ARGUMENT;
    if (row_bytes > 0) memcpy(out->data + (size_t)i * row_bytes, x->data + (size_t)row * row_bytes, row_bytes);
  }
  return OAR_OK;
}

oar_status_t sim_run_scatter_add(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *index = &job->views[1], *updates = &job->views[2], *out = &job->views[3];
  int64_t row_count = oar_kit_count(x->n_dims - 1, x->shape + 1);
  bool floats = is_float(x->dtype);
  accumulator_t* sums = malloc(((size_t)x->count + 1) * sizeof(*sums));
  if (sums == NULL) return no_memory(text);
  for (int64_t i = 0; i < x->count; ++i) {
    if (floats) sums[i].f = oar_kit_load(x->data, x->dtype, i);
    else sums[i].i = oar_kit_load_int(x->data, x->dtype, i);
  }
  for (int64_t i = 0; i < index->count; ++i) {
    int64_t row;
    if (!index_at(index, i, x->shape[0], &row, text)) {
      free(sums);
      return OAR_INVALID_ARGUMENT;
    }
    for (int64_t j = 0; j < row_count; ++j) {
      if (floats) sums[row * row_count + j].f += oar_kit_load(updates->data, updates->dtype, i * row_count + j);
      else sums[row * row_count + j].i += oar_kit_load_int(updates->data, updates->dtype, i * row_count + j);
    }
  }
  for (int64_t i = 0; i < x->count; ++i) {
    if (floats) oar_kit_store(out->data, out->dtype, i, (double)sums[i].f);
    else oar_kit_store_int(out->data, out->dtype, i, sums[i].i);
  }
  free(sums);
  return OAR_OK;
}

/* ---------------------------------------------------------------- Joining and padding */
oar_status_t sim_run_concat(const sim_job_t* job, char* text) {
  const sim_view_t* out = &job->views[job->n_inputs];
  uint32_t axis = (uint32_t)job->plan.axis;
  size_t size = oar_kit_dtype_bytes(out->dtype);
  int64_t outer = oar_kit_count(axis, out->shape);
  int64_t inner = oar_kit_count(out->n_dims - axis - 1, out->shape + axis + 1), done = 0;
  (void)text;
  for (uint32_t i = 0; i < job->n_inputs; ++i) {
    const sim_view_t* x = &job->views[i];
    if (x->count == 0) continue;
    size_t bytes = (size_t)(x->shape[axis] * inner) * size;
    for (int64_t o = 0; o < outer; ++o)
      memcpy(out->data + (size_t)((o * out->shape[axis] + done) * inner) * size, x->data + (size_t)o * bytes, bytes);
    done += x->shape[axis];
  }
  return OAR_OK;
}

oar_status_t sim_run_pad(const sim_job_t* job, char* text) {
  const sim_view_t *x = &job->views[0], *out = &job->views[1];
  size_t size = oar_kit_dtype_bytes(out->dtype);
  int64_t strides[SIM_MAX_DIMS], index[SIM_MAX_DIMS] = {0}, at = 0;
  (void)text;
  for (int64_t i = 0; i < out->count; ++i) oar_kit_store(out->data, out->dtype, i, job->plan.value);
  oar_kit_strides(out->n_dims, out->shape, strides);
  for (uint32_t d = 0; d < out->n_dims; ++d) {
    at += job->plan.before[d] * strides[d];
    strides[d] *= job->plan.between[d] + 1;
  }
  for (int64_t i = 0; i < x->count; ++i) {
    memcpy(out->data + (size_t)at * size, x->data + (size_t)i * size, size);
    oar_kit_next(x->n_dims, x->shape, strides, index, &at);
  }
  return OAR_OK;
}
