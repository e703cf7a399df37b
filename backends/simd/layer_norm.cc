// layer_norm and its gradient, of f32 and f64 rows that lie dense. Sums run in vectors over 64 steps, then in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layer_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

// The sums of up to two functions of the elements: f(i, left, whole) gives a pair of vectors, zero behind `left`.
template <class T, class F>
HWY_INLINE void sums(int64_t n, double* out_a, double* out_b, F f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  double a = 0, b = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(n, i + 64 * lanes);
    auto sum_a = hn::Zero(d), sum_b = hn::Zero(d);
    for (; i + lanes <= end; i += lanes) f(i, lanes, std::true_type(), &sum_a, &sum_b);
    if (i < end) {
      f(i, end - i, std::false_type(), &sum_a, &sum_b);
      i = end;
    }
    a += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum_a)));
    b += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum_b)));
  }
  *out_a = a;
  *out_b = b;
}
template <class T, class F>
HWY_INLINE void each(int64_t n, F f) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, lanes, std::true_type());
  if (i < n) f(i, n - i, std::false_type());
}

template <class T>
void forward(const NormRow& row, int64_t n, double epsilon) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const T *x = static_cast<const T*>(row.x), *scale = static_cast<const T*>(row.scale);
  const T* bias = static_cast<const T*>(row.bias);
  T* out = static_cast<T*>(row.out);
  double total, none;
  sums<T>(n, &total, &none, [&](int64_t i, int64_t left, auto whole, V* sum, V*) HWY_ATTR {
    *sum = hn::Add(*sum, load_lanes<whole.value>(d, x + i, left));
  });
  const double mean = total / static_cast<double>(n);
  const V centre = hn::Set(d, static_cast<T>(mean));
  double squares, rest;  // what rounding the mean left over is taken off the squares
  sums<T>(n, &squares, &rest, [&](int64_t i, int64_t left, auto whole, V* sum, V* over) HWY_ATTR {
    V c = hn::Sub(load_lanes<whole.value>(d, x + i, left), centre);
    if constexpr (!whole.value) c = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), c);
    *sum = hn::MulAdd(c, c, *sum);
    *over = hn::Add(*over, c);
  });
  const double variance = std::max(0.0, (squares - rest * rest / static_cast<double>(n)) / static_cast<double>(n));
  const double inverse = 1 / std::sqrt(squares == squares ? variance + epsilon : squares);
  *static_cast<T*>(row.mean) = static_cast<T>(mean);
  *static_cast<T*>(row.inverse) = static_cast<T>(inverse);
  const V by = hn::Set(d, static_cast<T>(inverse));
  each<T>(n, [&](int64_t i, int64_t left, auto whole) HWY_ATTR {
    V y = hn::Mul(hn::Sub(load_lanes<whole.value>(d, x + i, left), centre), by);
    if (scale != nullptr) y = hn::Mul(y, load_lanes<whole.value>(d, scale + i, left));
    if (bias != nullptr) y = hn::Add(y, load_lanes<whole.value>(d, bias + i, left));
    store_lanes<whole.value>(y, d, out + i, left);
  });
}

// dx of one row.
template <class T>
void backward(const NormRow& row, int64_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const T *x = static_cast<const T*>(row.x), *dy = static_cast<const T*>(row.dy);
  const T* scale = static_cast<const T*>(row.scale);
  T* dx = static_cast<T*>(row.out);
  const V centre = hn::Set(d, *static_cast<const T*>(row.mean)), by = hn::Set(d, *static_cast<const T*>(row.inverse));
  auto scaled = [&](int64_t i, int64_t left, auto whole) HWY_ATTR {
    const V v = load_lanes<whole.value>(d, dy + i, left);
    return scale == nullptr ? v : hn::Mul(v, load_lanes<whole.value>(d, scale + i, left));
  };
  auto normal = [&](int64_t i, int64_t left, auto whole)
                    HWY_ATTR { return hn::Mul(hn::Sub(load_lanes<whole.value>(d, x + i, left), centre), by); };
  double level, tilt;
  sums<T>(n, &level, &tilt, [&](int64_t i, int64_t left, auto whole, V* a, V* b) HWY_ATTR {
    const V g = scaled(i, left, whole);
    *a = hn::Add(*a, g);
    *b = hn::MulAdd(g, normal(i, left, whole), *b);
  });
  const V mean_level = hn::Set(d, static_cast<T>(level / static_cast<double>(n)));
  const V mean_tilt = hn::Set(d, static_cast<T>(tilt / static_cast<double>(n)));
  each<T>(n, [&](int64_t i, int64_t left, auto whole) HWY_ATTR {
    const V flat = hn::Sub(scaled(i, left, whole), mean_level);
    store_lanes<whole.value>(hn::Mul(hn::NegMulAdd(normal(i, left, whole), mean_tilt, flat), by), d, dx + i, left);
  });
}

// dscale and dbias of n columns, summed in double over a row more.
template <class T>
void columns(const NormRow& row, int64_t n, double* dscale, double* dbias) {
  const T *x = static_cast<const T*>(row.x), *dy = static_cast<const T*>(row.dy);
  const T mean = *static_cast<const T*>(row.mean), inverse = *static_cast<const T*>(row.inverse);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) {
    dscale[i] += static_cast<double>(dy[i] * ((x[i] - mean) * inverse));
    dbias[i] += static_cast<double>(dy[i]);
  }
}

}  // namespace

void layer_norm_table(Kernels* k) {
  k->norm_f32 = {forward<float>, backward<float>, columns<float>};
  k->norm_f64 = {forward<double>, backward<double>, columns<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
namespace {

constexpr int64_t kColumns = 128;  // of one unit of dscale and dbias

struct Job {
  const NormKernels* kernels;
  const oar_frame_t* frame;
  bool gradient;
  int size;
  int64_t length, rows;
  double epsilon;
};

char* at(const oar_view_t& view, int64_t element, int size) { return static_cast<char*>(view.data) + element * size; }

// Offset of a row in a view of [*L, C] or [*L].
int64_t row_offset(const Job& job, const oar_view_t& view, int64_t row) {
  const oar_view_t& x = *job.frame->inputs[0];
  int64_t offset = 0;
  for (int d = x.n_dims - 2; d >= 0; --d) {
    offset += row % x.shape[d] * view.strides[d];
    row /= x.shape[d];
  }
  return offset;
}
NormRow row_of(const Job& job, int64_t row, int64_t column) {
  const oar_frame_t& f = *job.frame;
  auto place = [&](const oar_view_t* view, int64_t more) -> void* {
    return view == nullptr ? nullptr : at(*view, row_offset(job, *view, row) + more, job.size);
  };
  auto vector = [&](uint32_t i) -> const void* {
    return i < f.n_inputs && f.inputs[i] != nullptr ? f.inputs[i]->data : nullptr;
  };
  if (job.gradient)
    return {place(f.inputs[1], column), place(f.inputs[0], column), vector(4), nullptr, place(f.outputs[0], 0),
            place(f.inputs[2], 0),      place(f.inputs[3], 0)};
  return {place(f.inputs[0], 0), nullptr, vector(1), vector(2), place(f.outputs[0], 0), nullptr, nullptr};
}

void rows_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const oar_frame_t& f = *job.frame;
  for (int64_t r = begin; r < end; ++r) {
    NormRow row = row_of(job, r, 0);
    if (job.gradient) {
      job.kernels->backward(row, job.length);
      continue;
    }
    double unwanted[2];
    row.mean = &unwanted[0];
    row.inverse = &unwanted[1];
    if (f.n_outputs > 1 && f.outputs[1] != nullptr)
      row.mean = at(*f.outputs[1], row_offset(job, *f.outputs[1], r), job.size);
    if (f.n_outputs > 2 && f.outputs[2] != nullptr)
      row.inverse = at(*f.outputs[2], row_offset(job, *f.outputs[2], r), job.size);
    job.kernels->forward(row, job.length, job.epsilon);
  }
}

void columns_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t column = unit * kColumns, n = std::min(kColumns, job.length - column);
    double dscale[kColumns] = {}, dbias[kColumns] = {};
    for (int64_t r = 0; r < job.rows; ++r) job.kernels->columns(row_of(job, r, column), n, dscale, dbias);
    const oar_view_t* out[] = {job.frame->outputs[1], job.frame->outputs[2]};
    for (int64_t i = 0; i < n; ++i) {
      oar_kit_store(out[0]->data, out[0]->dtype, (column + i) * out[0]->strides[0], dscale[i]);
      oar_kit_store(out[1]->data, out[1]->dtype, (column + i) * out[1]->strides[0], dbias[i]);
    }
  }
}

constexpr bool kIsGradient[] = {false, true};

oar_status_t run(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const oar_view_t& x = *frame->inputs[0];
  Job job;
  job.frame = frame;
  job.gradient = *static_cast<const bool*>(decl->user);
  job.size = size_of(x.dtype);
  job.kernels = job.size == 8 ? &pack->kernels.norm_f64 : &pack->kernels.norm_f32;
  job.length = x.shape[x.n_dims - 1];
  job.rows = 1;
  for (int d = 0; d + 1 < x.n_dims; ++d) job.rows *= x.shape[d];
  job.epsilon = job.gradient ? 0 : kit::attr_float(*frame->call, 0, 1e-5);
  const int64_t grain = std::max<int64_t>(1, kParallelElements / 4 / std::max<int64_t>(job.length, 1));
  if (!job.gradient || job.length != 0) parallel(pack, job.rows, grain, rows_body, &job);
  if (!job.gradient) return OAR_OK;
  const int64_t units = (job.length + kColumns - 1) / kColumns;
  parallel(pack, units, std::max<int64_t>(1, kParallelElements / 4 / kColumns / std::max<int64_t>(job.rows, 1)),
           columns_body, &job);
  return OAR_OK;
}

oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  const bool gradient = *static_cast<const bool*>(decl->user);
  for (uint32_t i = 0; i < call->n_inputs; ++i) {
    const oar_value_t* value = call->inputs[i];
    if (value == nullptr) continue;
    if (value->dtype != call->inputs[0]->dtype)
      return oar_kit_refuse(out_verdict, OAR_REASON_DTYPE, static_cast<int>(i), "all operands must have one dtype");
    if (gradient && (i == 2 || i == 3)) continue;
    const uint32_t last = value->n_dims - 1;
    if (value->layout == OAR_LAYOUT_STRIDED && value->shape[last] > 1 && value->strides[last] != 1)
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "the last axis must lie dense");
  }
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kF32 | kF64};
constexpr oar_kernel_decl_t kDecls[] = {
    declare("layer_norm", kTypes, run, &kIsGradient[0], nullptr, check),
    declare("layer_norm_gradient", kTypes, run, &kIsGradient[1], nullptr, check),
};

}  // namespace

HWY_EXPORT(layer_norm_table);
void layer_norm_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(layer_norm_table)(out); }

Declarations layer_norm_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
#endif
