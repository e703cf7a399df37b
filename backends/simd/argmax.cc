// argmax of f32 and f64 along one axis, or of everything where it lies dense: the maximum of a row by vectors, then its
// first place.
#include <algorithm>
#include <cmath>

#include "loop.h"

namespace oarlock::simd {
namespace {

struct Job {
  const Reducer* max;
  const oar_view_t *x, *out;
  int axis;  // -1: all of it
  int64_t length;
};

template <class T>
int64_t place_of(const Job& job, const T* row, int64_t stride) {
  const int64_t n = job.length;
  if (stride == 1) {
    Acc most;
    job.max->start(&most, 1);
    job.max->row(row, n, &most);
    const T value = static_cast<T>(most.real);
    int64_t i = 0;
    if (std::isnan(value))
      while (row[i] == row[i]) ++i;
    else
      while (row[i] != value) ++i;
    return i;
  }
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    const T v = row[i * stride], b = row[best * stride];
    if (v > b || (v != v && b == b)) best = i;
  }
  return best;
}

template <class T>
void rows_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const oar_view_t &x = *job.x, &out = *job.out;
  const bool kept = out.n_dims == x.n_dims;
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, from = 0, to = 0;
    for (int d = x.n_dims - 1; d >= 0 && job.axis >= 0; --d) {
      if (d == job.axis) continue;
      const int64_t i = rest % x.shape[d];
      rest /= x.shape[d];
      from += i * x.strides[d];
      to += i * out.strides[d - (!kept && d > job.axis)];
    }
    const int64_t stride = job.axis < 0 || job.length == 1 ? 1 : x.strides[job.axis];
    static_cast<int64_t*>(out.data)[to] = place_of(job, static_cast<const T*>(x.data) + from, stride);
  }
}

// Attributes: axis (none: all), keepdims.
int axis_of(const oar_call_t& call) { return static_cast<int>(kit::attr_int(call, 0, -1)); }

oar_status_t run(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t& x = *frame->inputs[0];
  Job job = {&pack->kernels.reduce[kMax][x.dtype % kDtypes], &x, frame->outputs[0], axis_of(*frame->call), 0};
  const int64_t count = count_of(x);
  if (count == 0) return OAR_OK;
  job.length = job.axis < 0 ? count : x.shape[job.axis];
  parallel(pack, count / job.length, std::max<int64_t>(1, kParallelElements / 2 / job.length),
           x.dtype == OAR_DTYPE_F64 ? rows_body<double> : rows_body<float>, &job);
  return OAR_OK;
}

oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK || axis_of(*call) >= 0 || oar_kit_value_contiguous(call->inputs[0])) return status;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "all of x must lie dense");
}

constexpr uint64_t kTypes[] = {kF32 | kF64, OAR_BIT(OAR_DTYPE_I64)};
constexpr oar_kernel_decl_t kDecls[] = {declare("argmax", kTypes, run, nullptr, nullptr, check)};

}  // namespace

Declarations argmax_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
