// sgd_update: one step over dense f32, f64, f16 and bf16, the latter two computed in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "update.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class T>
void sgd(const SgdStep& step, int64_t n) {
  T* p = static_cast<T*>(step.p);
  T* m = static_cast<T*>(step.m);
  const T* g = static_cast<const T*>(step.g);
  const T rate = static_cast<T>(step.rate), beta = static_cast<T>(step.beta), decay = static_cast<T>(step.decay);
  if (m == nullptr && decay == 0) {  // nothing of p may reach g where decay is 0, not even 0 * infinity
    OARLOCK_SIMD_LOOP
    for (int64_t i = 0; i < n; ++i) p[i] -= rate * g[i];
  } else if (m == nullptr) {
    OARLOCK_SIMD_LOOP
    for (int64_t i = 0; i < n; ++i) p[i] -= rate * (g[i] + decay * p[i]);
  } else if (decay == 0 && !step.nesterov) {
    OARLOCK_SIMD_LOOP
    for (int64_t i = 0; i < n; ++i) {
      m[i] = beta * m[i] + g[i];
      p[i] -= rate * m[i];
    }
  } else {
    const bool decays = decay != 0, nesterov = step.nesterov;
    OARLOCK_SIMD_LOOP
    for (int64_t i = 0; i < n; ++i) {
      const T x = p[i];
      const T slope = decays ? g[i] + decay * x : g[i];
      const T v = beta * m[i] + slope;
      m[i] = v;
      p[i] = x - rate * (nesterov ? slope + beta * v : v);
    }
  }
}

}  // namespace

void update_table(Kernels* k) {
  k->sgd_f32 = sgd<float>;
  k->sgd_f64 = sgd<double>;
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
namespace {

struct Job {
  const Kernels* kernels;
  SgdStep step;
  uint32_t dtype;
};

void job_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const int64_t size = size_of(job.dtype);
  SgdStep step = job.step;
  char* p = static_cast<char*>(step.p) + begin * size;
  char* m = step.m != nullptr ? static_cast<char*>(step.m) + begin * size : nullptr;
  const char* g = static_cast<const char*>(step.g) + begin * size;
  if (!is_half(job.dtype)) {
    step.p = p;
    step.m = m;
    step.g = g;
    return (job.dtype == OAR_DTYPE_F64 ? job.kernels->sgd_f64 : job.kernels->sgd_f32)(step, end - begin);
  }
  constexpr int64_t kBlock = 512;
  alignas(64) float wide_p[kBlock], wide_m[kBlock], wide_g[kBlock];
  const Tile widen = job.kernels->cast[job.dtype][OAR_DTYPE_F32], narrow = job.kernels->cast[OAR_DTYPE_F32][job.dtype];
  step.p = wide_p;
  step.m = m != nullptr ? wide_m : nullptr;
  step.g = wide_g;
  for (int64_t i = 0; i < end - begin; i += kBlock) {
    const int64_t n = std::min(kBlock, end - begin - i);
    widen(p + i * size, nullptr, nullptr, wide_p, n);
    widen(g + i * size, nullptr, nullptr, wide_g, n);
    if (m != nullptr) widen(m + i * size, nullptr, nullptr, wide_m, n);
    job.kernels->sgd_f32(step, n);
    narrow(wide_p, nullptr, nullptr, p + i * size, n);
    if (m != nullptr) narrow(wide_m, nullptr, nullptr, m + i * size, n);
  }
}

// Inputs: parameter, gradient, momentum (or none), rate (f64, on the host). Attributes: beta, weight_decay, nesterov.
oar_status_t run_sgd(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t &p = *frame->inputs[0], &g = *frame->inputs[1];
  const oar_view_t* m = frame->inputs[2];
  if (!is_dense(p) || !is_dense(g) || (m != nullptr && !is_dense(*m)))
    return fail(pack, OAR_INVALID_ARGUMENT, "sgd_update: the operands must lie dense");
  Job job = {&pack->kernels,
             {p.data, m != nullptr ? m->data : nullptr, g.data, *static_cast<const double*>(frame->inputs[3]->data),
              kit::attr_float(*frame->call, 0, 0.9), kit::attr_float(*frame->call, 1, 0),
              kit::attr_bool(*frame->call, 2, false)},
             p.dtype};
  parallel(pack, count_of(p), kParallelElements / 2, job_body, &job);
  return OAR_OK;
}

oar_status_t check_sgd(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                       oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  for (uint32_t i = 0; i < 3; ++i)
    if (call->inputs[i] != nullptr && !oar_kit_value_contiguous(call->inputs[i]))
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "the operands must lie dense");
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kReal, kReal, kReal, kF64};
constexpr oar_kernel_decl_t sgd_decl() {
  oar_kernel_decl_t decl = declare("sgd_update", kTypes, run_sgd, nullptr, nullptr, check_sgd);
  decl.host_inputs = OAR_BIT(3);
  return decl;
}
constexpr oar_kernel_decl_t kDecls[] = {sgd_decl()};

}  // namespace

HWY_EXPORT(update_table);
void update_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(update_table)(out); }

Declarations update_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
#endif
