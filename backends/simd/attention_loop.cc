// attention and attention_gradient without a mask, a strip of queries at a time, so that the scores never leave the
// cache (Dao et al. 2022, FlashAttention; here a strip sees all its keys at once). Products and sums in f32, whatever
// the operands are.
#include <algorithm>
#include <cmath>
#include <vector>

#include "loop.h"

namespace oarlock::simd {
namespace {

constexpr int64_t kScores = 32768;    // elements of a strip's scores: 128 KB
constexpr int64_t kMostKeys = 65536;  // six queries' scores are 1.5 MB

struct Matrix {  // a batch's [rows, cols] in an operand; strides in elements
  char* data;
  int64_t row, col;
};

struct Job {
  const Kernels* kernels;
  const oar_frame_t* frame;
  const oar_view_t* lead;                // whose dimensions before the last two are the batch
  int64_t queries, keys, width, values;  // L, S, E, F
  int64_t strip, strips;
  float scale;
  bool causal;
};

// What lies in an operand at this batch; `behind` dimensions of it are no batch.
Matrix matrix_at(const Job& job, const oar_view_t& view, int64_t batch, int behind = 2) {
  const oar_view_t& lead = *job.lead;
  int64_t at = 0;
  for (int d = lead.n_dims - 3; d >= 0; --d) {
    const int64_t i = batch % lead.shape[d];
    batch /= lead.shape[d];
    const int own = d - (lead.n_dims - 2) + (view.n_dims - behind);
    if (own >= 0 && view.shape[own] != 1) at += i * view.strides[own];
  }
  const int last = view.n_dims - 1;
  return {static_cast<char*>(view.data) + at * size_of(view.dtype),
          behind == 2 ? view.strides[last - 1] : view.strides[last], view.strides[last]};
}

// A dense f32 [rows, cols] of what may lie otherwise; the buffer keeps it where it has to be made.
struct Dense {
  const float* data;
  int64_t row;
};
Dense dense(const Job& job, const Matrix& m, uint32_t dtype, int64_t rows, int64_t cols, std::vector<char>& buffer,
            bool always = false) {
  const int size = size_of(dtype);
  if (dtype == OAR_DTYPE_F32 && m.col == 1 && !always) return {reinterpret_cast<const float*>(m.data), m.row};
  const int64_t n = rows * cols;
  buffer.resize(static_cast<size_t>(n * (dtype == OAR_DTYPE_F32 ? 4 : 8)));
  char* to = buffer.data() + (dtype == OAR_DTYPE_F32 ? 0 : n * 4);
  if (m.row == 1 && rows > 1) {  // the operand transposed: in squares, so that both sides use whole lines
    constexpr int64_t kBlock = 32;
    for (int64_t r = 0; r < rows; r += kBlock)
      for (int64_t c = 0; c < cols; c += kBlock)
        for (int64_t i = r; i < std::min(rows, r + kBlock); ++i)
          gather(m.data + (i * m.row + c * m.col) * size, 0, m.col, 1, std::min(kBlock, cols - c), size,
                 to + (i * cols + c) * size);
  } else {
    gather(m.data, m.row, m.col, rows, cols, size, to);
  }
  if (dtype != OAR_DTYPE_F32) job.kernels->cast[dtype][OAR_DTYPE_F32](to, nullptr, nullptr, buffer.data(), n);
  return {reinterpret_cast<const float*>(buffer.data()), cols};
}
Matrix transposed(const Matrix& m) { return {m.data, m.col, m.row}; }

// Where a result is computed: in its place, or in the buffer until put moves it.
float* place(const Matrix& m, uint32_t dtype, int64_t n, std::vector<float>& buffer, int64_t cols, int64_t* out_row) {
  if (dtype == OAR_DTYPE_F32 && m.col == 1) {
    *out_row = m.row;
    return reinterpret_cast<float*>(m.data);
  }
  buffer.resize(static_cast<size_t>(n));
  *out_row = cols;
  return buffer.data();
}
void put(const Job& job, const Matrix& m, uint32_t dtype, int64_t rows, int64_t cols, const float* from,
         std::vector<char>& buffer) {
  if (dtype == OAR_DTYPE_F32 && m.col == 1) return;
  const char* narrow = reinterpret_cast<const char*>(from);
  if (dtype != OAR_DTYPE_F32) {
    buffer.resize(static_cast<size_t>(rows * cols * 2));
    job.kernels->cast[OAR_DTYPE_F32][dtype](from, nullptr, nullptr, buffer.data(), rows * cols);
    narrow = buffer.data();
  }
  scatter(narrow, m.row, m.col, rows, cols, size_of(dtype), m.data);
}

// out [m, n] (+)= a [m, k] b [k, n], b packed in panels: heads lie so far apart that their rows would share few cache sets.
void product(const Job& job, const float* a, int64_t a_row, int64_t a_col, Dense b, float* out, int64_t out_row,
             int64_t m, int64_t n, int64_t k, bool accumulate) {
  constexpr int64_t kDepth = 128, kPanel = 32;
  alignas(64) float panel[kDepth * kPanel];
  const bool packs = m >= 12 && k > 0;
  for (int64_t column = 0; column < n; column += packs ? kPanel : n) {
    const int64_t width = packs ? std::min(kPanel, n - column) : n;
    for (int64_t from = 0; from < k || from == 0; from += kDepth) {
      const int64_t depth = std::min(kDepth, k - from);
      const float* rows = b.data + from * b.row + column;
      if (packs) gather(reinterpret_cast<const char*>(rows), b.row, 1, depth, width, 4, reinterpret_cast<char*>(panel));
      job.kernels->matmul_f32({a + from * a_col, packs ? panel : rows, out + column, m, width, depth, a_row, a_col,
                               packs ? width : b.row, out_row, accumulate || from > 0});
    }
  }
}

// Keys that query i looks at.
int64_t seen(const Job& job, int64_t i) { return job.causal ? std::min(job.keys, i + 1) : job.keys; }

void forward_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const oar_view_t &q = *job.frame->inputs[0], &k = *job.frame->inputs[1], &v = *job.frame->inputs[2];
  const oar_view_t& out = *job.frame->outputs[0];
  const oar_view_t* log_sum = job.frame->n_outputs > 1 ? job.frame->outputs[1] : nullptr;
  std::vector<char> kept_k, kept_v, kept_q, narrow;
  std::vector<float> scores(static_cast<size_t>(job.strip * job.keys)), result;
  Dense kt{}, vs{};
  int64_t batch = -1;
  for (int64_t unit = begin; unit < end; ++unit) {
    if (unit / job.strips != batch) {
      batch = unit / job.strips;
      kt = dense(job, transposed(matrix_at(job, k, batch)), k.dtype, job.width, job.keys, kept_k, true);
      vs = dense(job, matrix_at(job, v, batch), v.dtype, job.keys, job.values, kept_v);
    }
    const int64_t first = unit % job.strips * job.strip, rows = std::min(job.strip, job.queries - first);
    const int64_t most = seen(job, first + rows - 1);
    Matrix qm = matrix_at(job, q, batch), om = matrix_at(job, out, batch);
    qm.data += first * qm.row * size_of(q.dtype);
    om.data += first * om.row * size_of(out.dtype);
    const Dense qs = dense(job, qm, q.dtype, rows, job.width, kept_q);
    product(job, qs.data, qs.row, 1, kt, scores.data(), job.keys, rows, most, job.width, false);
    const Matrix total = log_sum != nullptr ? matrix_at(job, *log_sum, batch, 1) : Matrix{};
    for (int64_t r = 0; r < rows; ++r) {
      float* row = scores.data() + r * job.keys;
      const int64_t n = seen(job, first + r);
      const float sum = n > 0 ? job.kernels->attention.weights(row, n, job.scale) : -INFINITY;
      std::fill(row + n, row + most, 0.0f);
      if (log_sum != nullptr) oar_kit_store(total.data, log_sum->dtype, (first + r) * total.row, sum);
    }
    int64_t out_row;
    float* to = place(om, out.dtype, rows * job.values, result, job.values, &out_row);
    product(job, scores.data(), job.keys, 1, vs, to, out_row, rows, job.values, most, false);
    put(job, om, out.dtype, rows, job.values, to, narrow);
  }
}

void gradient_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const oar_view_t* const* in = job.frame->inputs;
  const oar_view_t* const* out = job.frame->outputs;
  std::vector<char> kept[7], narrow;
  std::vector<float> scores(static_cast<size_t>(job.strip * job.keys)), slopes(scores.size()), results[3];
  for (int64_t batch = begin; batch < end; ++batch) {
    const Matrix km = matrix_at(job, *in[2], batch), vm = matrix_at(job, *in[3], batch);
    const Dense kt = dense(job, transposed(km), in[2]->dtype, job.width, job.keys, kept[0], true);
    const Dense vt = dense(job, transposed(vm), in[3]->dtype, job.values, job.keys, kept[1], true);
    const Dense ks = dense(job, km, in[2]->dtype, job.keys, job.width, kept[2]);
    const Matrix total = matrix_at(job, *in[5], batch, 1);
    const Matrix dkm = matrix_at(job, *out[1], batch), dvm = matrix_at(job, *out[2], batch);
    int64_t dk_row, dv_row, dq_row;
    float* dk = place(dkm, out[1]->dtype, job.keys * job.width, results[1], job.width, &dk_row);
    float* dv = place(dvm, out[2]->dtype, job.keys * job.values, results[2], job.values, &dv_row);
    for (int64_t r = 0; r < job.keys; ++r) {
      std::fill_n(dk + r * dk_row, job.width, 0.0f);
      std::fill_n(dv + r * dv_row, job.values, 0.0f);
    }
    for (int64_t first = 0; first < job.queries; first += job.strip) {
      const int64_t rows = std::min(job.strip, job.queries - first), most = seen(job, first + rows - 1);
      Matrix strips[4] = {matrix_at(job, *in[0], batch), matrix_at(job, *in[1], batch), matrix_at(job, *in[4], batch),
                          matrix_at(job, *out[0], batch)};  // dy, q, y, dq
      const uint32_t dtypes[4] = {in[0]->dtype, in[1]->dtype, in[4]->dtype, out[0]->dtype};
      for (int i = 0; i < 4; ++i) strips[i].data += first * strips[i].row * size_of(dtypes[i]);
      const Dense dys = dense(job, strips[0], dtypes[0], rows, job.values, kept[4]);
      const Dense qs = dense(job, strips[1], dtypes[1], rows, job.width, kept[5]);
      const Dense ys = dense(job, strips[2], dtypes[2], rows, job.values, kept[6]);
      product(job, qs.data, qs.row, 1, kt, scores.data(), job.keys, rows, most, job.width, false);
      product(job, dys.data, dys.row, 1, vt, slopes.data(), job.keys, rows, most, job.values, false);
      for (int64_t r = 0; r < rows; ++r) {
        float *row = scores.data() + r * job.keys, *slope = slopes.data() + r * job.keys;
        double along = 0;
        for (int64_t f = 0; f < job.values; ++f)
          along += static_cast<double>(dys.data[r * dys.row + f]) * ys.data[r * ys.row + f];
        const int64_t n = seen(job, first + r);
        const auto sum = static_cast<float>(oar_kit_load(total.data, in[5]->dtype, (first + r) * total.row));
        job.kernels->attention.gradient(row, slope, n, job.scale, sum, static_cast<float>(along));
        std::fill(row + n, row + most, 0.0f);
        std::fill(slope + n, slope + most, 0.0f);
      }
      product(job, scores.data(), 1, job.keys, dys, dv, dv_row, most, job.values, rows, true);
      product(job, slopes.data(), 1, job.keys, qs, dk, dk_row, most, job.width, rows, true);
      float* dq = place(strips[3], dtypes[3], rows * job.width, results[0], job.width, &dq_row);
      product(job, slopes.data(), job.keys, 1, ks, dq, dq_row, rows, job.width, most, false);
      put(job, strips[3], dtypes[3], rows, job.width, dq, narrow);
    }
    put(job, dkm, out[1]->dtype, job.keys, job.width, dk, narrow);
    put(job, dvm, out[2]->dtype, job.keys, job.values, dv, narrow);
  }
}

// Attributes: causal, scale (none: 1 / sqrt(E)).
Job job_of(oar_pack_t* pack, const oar_frame_t* frame, const oar_view_t& q, const oar_view_t& k, const oar_view_t& v,
           const oar_view_t& lead) {
  Job job;
  job.kernels = &pack->kernels;
  job.frame = frame;
  job.lead = &lead;
  job.queries = q.shape[q.n_dims - 2];
  job.width = q.shape[q.n_dims - 1];
  job.keys = k.shape[k.n_dims - 2];
  job.values = v.shape[v.n_dims - 1];
  job.causal = kit::attr_bool(*frame->call, 0, false);
  job.scale = static_cast<float>(
      kit::attr_float(*frame->call, 1, job.width > 0 ? 1 / std::sqrt(static_cast<double>(job.width)) : 1));
  job.strip = std::clamp<int64_t>(kScores / std::max<int64_t>(job.keys, 1), 6, std::max<int64_t>(job.queries, 6));
  job.strips = (job.queries + job.strip - 1) / job.strip;
  return job;
}
int64_t batches_of(const oar_view_t& view) {
  int64_t n = 1;
  for (int d = 0; d + 2 < view.n_dims; ++d) n *= view.shape[d];
  return n;
}

oar_status_t run_forward(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    Job job = job_of(pack, frame, *frame->inputs[0], *frame->inputs[1], *frame->inputs[2], *frame->outputs[0]);
    const int64_t units = batches_of(*job.lead) * job.strips;
    const int64_t work = job.strip * job.keys * (job.width + job.values + 8);
    if (units != 0)
      parallel(pack, units, std::max<int64_t>(1, kParallelElements * 8 / std::max<int64_t>(work, 1)), forward_body,
               &job);
  });
}
oar_status_t run_gradient(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    Job job = job_of(pack, frame, *frame->inputs[1], *frame->inputs[2], *frame->inputs[3], *frame->outputs[0]);
    const int64_t units = batches_of(*job.lead);
    const int64_t work = job.queries * job.keys * (job.width + job.values + 8) * 2;
    if (units != 0)
      parallel(pack, units, std::max<int64_t>(1, kParallelElements * 8 / std::max<int64_t>(work, 1)), gradient_body,
               &job);
  });
}

// Mask and Keys: which inputs are these.
template <int Mask, int Keys>
oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  if (call->n_inputs > Mask && call->inputs[Mask] != nullptr)
    return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, Mask, "this kernel takes no mask");
  const oar_value_t& k = *call->inputs[Keys];
  if (k.shape[k.n_dims - 2] > kMostKeys)
    return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, Keys, "a row of scores would not fit in the cache");
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kF32 | kHalf};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("attention", kTypes, run_forward, nullptr, nullptr, check<3, 1>),
    declare("attention_gradient", kTypes, run_gradient, nullptr, nullptr, check<6, 2>),
};

}  // namespace

Declarations attention_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
