// cross_entropy_gradient: dense rows of f32, or f16 and bf16 through a buffer.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loss.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "loop.h"
#include "math-inl.h"
#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

// out = exp(x) * by; out may be x.
void scaled_exp(const float* x, float* out, int64_t n, float by) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, by);
  map(d, x, out, static_cast<size_t>(n), [d, factor](auto v) HWY_ATTR { return hn::Mul(exp_full(d, v), factor); });
}

}  // namespace

void loss_table(Kernels* k) { k->scaled_exp = scaled_exp; }

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
namespace {

struct Job {
  const Kernels* kernels;
  uint32_t dtype;
  const oar_view_t *dy, *labels;
  const char* x;
  char* out;
  int64_t classes;
};

int64_t offset_of(const oar_view_t& view, int64_t row) {
  int64_t at = 0;
  for (int d = view.n_dims - 1; d >= 0; --d) {
    at += row % view.shape[d] * view.strides[d];
    row /= view.shape[d];
  }
  return at;
}

void rows_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const int64_t size = size_of(job.dtype), n = job.classes;
  constexpr int64_t kBlock = 512;
  alignas(64) float wide[kBlock];
  for (int64_t row = begin; row < end; ++row) {
    const double dy = oar_kit_load(job.dy->data, job.dy->dtype, offset_of(*job.dy, row));
    const auto label =
        static_cast<int64_t>(oar_kit_load_int(job.labels->data, job.labels->dtype, offset_of(*job.labels, row)));
    const char* x = job.x + row * n * size;
    char* out = job.out + row * n * size;
    if (job.dtype == OAR_DTYPE_F32) {
      auto* to = reinterpret_cast<float*>(out);
      job.kernels->scaled_exp(reinterpret_cast<const float*>(x), to, n, static_cast<float>(dy));
      if (label >= 0 && label < n) to[label] -= static_cast<float>(dy);
      continue;
    }
    for (int64_t c = 0; c < n; c += kBlock) {
      const int64_t part = std::min(kBlock, n - c);
      job.kernels->cast[job.dtype][OAR_DTYPE_F32](x + c * size, nullptr, nullptr, wide, part);
      job.kernels->scaled_exp(wide, wide, part, static_cast<float>(dy));
      if (label >= c && label < c + part) wide[label - c] -= static_cast<float>(dy);
      job.kernels->cast[OAR_DTYPE_F32][job.dtype](wide, nullptr, nullptr, out + c * size, part);
    }
  }
}

// Inputs: dy [*B], log_probabilities [*B, C], labels [*B].
oar_status_t run(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t &x = *frame->inputs[1], &out = *frame->outputs[0];
  Job job = {&pack->kernels,
             x.dtype,
             frame->inputs[0],
             frame->inputs[2],
             static_cast<const char*>(x.data),
             static_cast<char*>(out.data),
             x.shape[x.n_dims - 1]};
  const int64_t count = count_of(x);
  if (count == 0) return OAR_OK;
  parallel(pack, count / job.classes, std::max<int64_t>(1, kParallelElements / 4 / job.classes), rows_body, &job);
  return OAR_OK;
}
oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  for (uint32_t i : {1u, 3u})
    if (!oar_kit_value_contiguous(oar_kit_operand(call, i)))
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "rows must lie dense");
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kF32 | kHalf, kF32 | kHalf, OAR_BIT(OAR_DTYPE_I32) | OAR_BIT(OAR_DTYPE_I64),
                               kF32 | kHalf};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("cross_entropy_gradient", kTypes, run, nullptr, kInplace1, check),
};

}  // namespace

HWY_EXPORT(loss_table);
void loss_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(loss_table)(out); }

Declarations loss_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
#endif
