// softmax and log_softmax along any axis, and cross_entropy of integer labels. Rows that do not lie dense, or are f16
// or bf16, pass through a buffer; those too long for it are refused.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "loop.h"

namespace oarlock::simd {
namespace {

constexpr int64_t kRow = 8192;  // f32 in the buffer

enum RowOp : int { kSoftmax, kLogSoftmax, kCrossEntropy };
constexpr RowOp kRowOps[] = {kSoftmax, kLogSoftmax, kCrossEntropy};

struct Job {
  RowOp op;
  const Kernels* kernels;
  const oar_view_t* x;
  const oar_view_t* labels;  // cross_entropy: I[*B] and out [*B]; else NULL
  const oar_view_t* loss;
  const oar_view_t* out;  // of the rows; cross_entropy: log_probabilities, or NULL if nobody wants them
  int axis;
  int64_t length;
  std::atomic<int64_t> bad_label{-1};  // its offset
};

// The row as dense f32: itself, or gathered into buffer.
const float* row_read(const Job& job, const char* from, float* buffer) {
  const uint32_t dtype = job.x->dtype;
  const int64_t stride = job.x->strides[job.axis];
  if (dtype == OAR_DTYPE_F32 && (stride == 1 || job.length == 1)) return reinterpret_cast<const float*>(from);
  if (dtype == OAR_DTYPE_F32) {
    gather(from, 0, stride, 1, job.length, 4, reinterpret_cast<char*>(buffer));
  } else if (stride == 1) {
    job.kernels->cast[dtype][OAR_DTYPE_F32](from, nullptr, nullptr, buffer, job.length);
  } else {
    for (int64_t i = 0; i < job.length; ++i) oar_kit_convert(buffer, OAR_DTYPE_F32, i, from, dtype, i * stride);
  }
  return buffer;
}

void row_write(const Job& job, const float* row, char* to) {
  const uint32_t dtype = job.out->dtype;
  const int64_t stride = job.out->strides[job.axis];
  if (dtype == OAR_DTYPE_F32) scatter(reinterpret_cast<const char*>(row), 0, stride, 1, job.length, 4, to);
  else if (stride == 1) job.kernels->cast[OAR_DTYPE_F32][dtype](row, nullptr, nullptr, to, job.length);
  else
    for (int64_t i = 0; i < job.length; ++i) oar_kit_convert(to, dtype, i * stride, row, OAR_DTYPE_F32, i);
}

void rows_body(void* context, int64_t begin, int64_t end) {
  Job& job = *static_cast<Job*>(context);
  const oar_view_t& x = *job.x;
  const RowKernels& kernels = job.kernels->rows;
  alignas(64) float buffer[kRow];
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, x_at = 0, out_at = 0, loss_at = 0, label_at = 0;
    for (int d = x.n_dims - 1; d >= 0; --d) {
      if (d == job.axis) continue;
      const int64_t i = rest % x.shape[d];
      rest /= x.shape[d];
      x_at += i * x.strides[d];
      if (job.out != nullptr) out_at += i * job.out->strides[d];
      if (job.labels != nullptr) {  // the axis is the last one, which these don't have
        loss_at += i * job.loss->strides[d];
        label_at += i * job.labels->strides[d];
      }
    }
    int64_t label = 0;
    if (job.labels != nullptr) {
      label = static_cast<int64_t>(oar_kit_load_int(job.labels->data, job.labels->dtype, label_at));
      if (label < 0 || label >= job.length) {
        int64_t none = -1;
        job.bad_label.compare_exchange_strong(none, label_at);
        continue;
      }
    }
    const float* dense = row_read(job, static_cast<const char*>(x.data) + x_at * size_of(x.dtype), buffer);
    if (job.out == nullptr) {
      oar_kit_store(job.loss->data, job.loss->dtype, loss_at, kernels.log_sum_exp(dense, job.length) - dense[label]);
      continue;
    }
    char* to = static_cast<char*>(job.out->data) + out_at * size_of(job.out->dtype);
    const bool direct = job.out->dtype == OAR_DTYPE_F32 && (job.out->strides[job.axis] == 1 || job.length == 1);
    float* result = direct ? reinterpret_cast<float*>(to) : buffer;
    (job.op == kSoftmax ? kernels.softmax : kernels.log_softmax)(dense, result, job.length);
    if (job.labels != nullptr) oar_kit_store(job.loss->data, job.loss->dtype, loss_at, -result[label]);
    if (!direct) row_write(job, buffer, to);
  }
}

oar_status_t run_rows(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  Job job;
  job.op = *static_cast<const RowOp*>(decl->user);
  job.kernels = &pack->kernels;
  job.x = frame->inputs[0];
  job.out = frame->outputs[0];
  job.labels = job.loss = nullptr;
  if (job.op == kCrossEntropy) {
    job.labels = frame->inputs[1];
    job.loss = frame->outputs[0];
    job.out = frame->n_outputs > 1 ? frame->outputs[1] : nullptr;
  }
  const int rank = job.x->n_dims;
  job.axis = job.op == kCrossEntropy ? rank - 1 : static_cast<int>(kit::attr_int(*frame->call, 0, rank - 1));
  if (job.axis < 0 || job.axis >= rank) return fail(pack, OAR_INVALID_ARGUMENT, "softmax: x has no such axis");
  const int64_t count = count_of(*job.x);
  job.length = job.x->shape[job.axis];
  if (job.length == 0) {
    if (job.loss == nullptr || count_of(*job.loss) == 0) return OAR_OK;
    return fail(pack, OAR_INVALID_ARGUMENT, "cross_entropy: there are no classes");
  }
  if (count == 0) return OAR_OK;
  const int64_t rows = count / job.length;
  parallel(pack, rows, std::max<int64_t>(1, kParallelElements / 4 / job.length), rows_body, &job);
  const int64_t bad = job.bad_label.load();
  if (bad < 0) return OAR_OK;
  return oar_kit_error(pack->host, OAR_INVALID_ARGUMENT, 0, "cross_entropy: label %lld is outside 0..%lld",
                       static_cast<long long>(oar_kit_load_int(job.labels->data, job.labels->dtype, bad)),
                       static_cast<long long>(job.length - 1));
}

oar_status_t check_rows(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK || call->n_inputs == 0 || call->inputs[0] == nullptr) return status;
  const oar_value_t& x = *call->inputs[0];
  if (x.n_dims == 0) return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "x has no axis");
  const bool loss = *static_cast<const RowOp*>(decl->user) == kCrossEntropy;
  const auto axis = static_cast<uint32_t>(loss ? x.n_dims - 1 : kit::attr_int(*call, 0, x.n_dims - 1));
  if (axis >= x.n_dims) return oar_kit_refuse(out_verdict, OAR_REASON_ATTRIBUTE, -1, "x has no axis %u", axis);
  if (x.shape[axis] <= kRow) return OAR_OK;
  if (x.dtype != OAR_DTYPE_F32)
    return oar_kit_refuse(out_verdict, OAR_REASON_DTYPE, 0, "rows of f16 or bf16 hold %d elements at most",
                          static_cast<int>(kRow));
  if (x.layout == OAR_LAYOUT_STRIDED && x.strides[axis] != 1)
    return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "rows above %d elements must lie dense",
                          static_cast<int>(kRow));
  if (axis != x.n_dims - 1)
    return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, 0, "rows above %d elements must be the last axis",
                          static_cast<int>(kRow));
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kF32 | kHalf};
constexpr uint64_t kLossTypes[] = {kF32 | kHalf, OAR_BIT(OAR_DTYPE_I32) | OAR_BIT(OAR_DTYPE_I64), kF32 | kHalf};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("softmax", kTypes, run_rows, &kRowOps[kSoftmax], kInplace0, check_rows),
    declare("log_softmax", kTypes, run_rows, &kRowOps[kLogSoftmax], kInplace0, check_rows),
    declare("cross_entropy", kLossTypes, run_rows, &kRowOps[kCrossEntropy], nullptr, check_rows),
};

}  // namespace

Declarations softmax_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
