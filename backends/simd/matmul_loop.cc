// matmul of f32 and f64: [..., M, K] x [..., K, N] with any strides and broadcast batches. For the sizes where a
// library spends longer on the call than on the product, and as the fallback without one.
#include <algorithm>

#include "loop.h"

namespace oarlock::simd {
namespace {

constexpr int64_t kPanel = 64;   // columns of b packed at a time
constexpr int64_t kDepth = 128;  // and rows: 32 KB of f32, 64 of f64
constexpr int64_t kStrip = 96;   // rows of a per unit of work

struct Job {
  void (*kernel)(const MatmulBlock& block);
  int size;
  const oar_view_t *a, *b, *out;
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col, out_row;
  int64_t row_strips, column_panels;
  bool pack;
};

void job_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  alignas(64) char panel[kPanel * kDepth * 8];
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t rest = unit;
    const int64_t row = rest % job.row_strips * kStrip;
    rest /= job.row_strips;
    const int64_t column = rest % job.column_panels * (job.pack ? kPanel : job.n);
    rest /= job.column_panels;
    int64_t at[3] = {row * job.a_row, column * job.b_col, row * job.out_row + column};
    const oar_view_t& out = *job.out;
    for (int d = out.n_dims - 3; d >= 0; --d) {
      const int64_t i = rest % out.shape[d];
      rest /= out.shape[d];
      const oar_view_t* operands[] = {job.a, job.b, job.out};
      for (int k = 0; k < 3; ++k) {
        const int own = d - (out.n_dims - operands[k]->n_dims);
        if (own >= 0 && operands[k]->shape[own] != 1) at[k] += i * operands[k]->strides[own];
      }
    }
    const char* a = static_cast<const char*>(job.a->data) + at[0] * job.size;
    const char* b = static_cast<const char*>(job.b->data) + at[1] * job.size;
    MatmulBlock block = {a,
                         b,
                         static_cast<char*>(out.data) + at[2] * job.size,
                         std::min(kStrip, job.m - row),
                         job.pack ? std::min(kPanel, job.n - column) : job.n,
                         job.k,
                         job.a_row,
                         job.a_col,
                         job.b_row,
                         job.out_row,
                         false};
    if (!job.pack) {
      job.kernel(block);
      continue;
    }
    block.b = panel;
    block.b_row = block.n;
    for (int64_t depth = 0; depth < job.k || depth == 0; depth += kDepth) {
      block.k = std::min(kDepth, job.k - depth);
      block.a = a + depth * job.a_col * job.size;
      gather(b + depth * job.b_row * job.size, job.b_row, job.b_col, block.k, block.n, job.size, panel);
      job.kernel(block);
      block.accumulate = true;
    }
  }
}

// Stride of a dimension; that of one element counts as dense.
int64_t stride_of(const oar_view_t& view, int from_end, int64_t if_one) {
  const int d = view.n_dims - from_end;
  return view.shape[d] == 1 ? if_one : view.strides[d];
}

oar_status_t run_matmul(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  Job job;
  job.a = frame->inputs[0];
  job.b = frame->inputs[1];
  job.out = frame->outputs[0];
  const oar_view_t& out = *job.out;
  job.kernel = out.dtype == OAR_DTYPE_F64 ? pack->kernels.matmul_f64 : pack->kernels.matmul_f32;
  job.size = size_of(out.dtype);
  job.m = out.shape[out.n_dims - 2];
  job.n = out.shape[out.n_dims - 1];
  job.k = job.a->shape[job.a->n_dims - 1];
  const int64_t count = count_of(out);
  if (count == 0) return OAR_OK;
  job.a_row = stride_of(*job.a, 2, job.k);
  job.a_col = stride_of(*job.a, 1, 1);
  job.b_row = stride_of(*job.b, 2, job.n);
  job.b_col = stride_of(*job.b, 1, 1);
  job.out_row = stride_of(out, 2, job.n);
  // A few rows read b once: packing it would be a second time.
  job.pack = job.b_col != 1 || (job.m >= 12 && job.k * job.n > kPanel * kDepth);
  job.row_strips = (job.m + kStrip - 1) / kStrip;
  job.column_panels = job.pack ? (job.n + kPanel - 1) / kPanel : 1;
  const int64_t units = count / (job.m * job.n) * job.row_strips * job.column_panels;
  const int64_t work = count * std::max<int64_t>(job.k, 1);
  if (work < kParallelElements * 16) job_body(&job, 0, units);
  else parallel(pack, units, std::max<int64_t>(1, units * kParallelElements * 8 / work), job_body, &job);
  return OAR_OK;
}

oar_status_t check_matmul(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  for (int i = 0; i < 2; ++i)
    if (call->inputs[i]->n_dims < 2)
      return oar_kit_refuse(out_verdict, OAR_REASON_RANK, i, "matmul wants two dimensions at least");
  const oar_value_t& out = *call->outputs[0];
  // One row at a time would be written with gaps.
  if (out.layout == OAR_LAYOUT_STRIDED && out.shape[out.n_dims - 1] != 1 && out.strides[out.n_dims - 1] != 1)
    return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 2, "the output must be dense along its last dimension");
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kF32 | kF64};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("matmul", kTypes, run_matmul, nullptr, nullptr, check_matmul),
};

}  // namespace

Declarations matmul_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
