// layer_norm and its gradient, of rows that lie dense. Sums run in vectors over 64 steps, then in double. Rows of f16 and
// bf16 are computed in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "layer_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

// The sums of up to two functions of the elements: f(i, left, whole, sum_a, sum_b) adds those of one vector, zero behind
// `left`. Four sums run side by side, so that no addition waits for the one before.
template <class T, class F>
HWY_INLINE void sums(int64_t n, double* out_a, double* out_b, F f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  double a = 0, b = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(n, i + 64 * lanes);
    auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      f(i, lanes, std::true_type(), &a0, &b0);
      f(i + lanes, lanes, std::true_type(), &a1, &b1);
      f(i + 2 * lanes, lanes, std::true_type(), &a2, &b2);
      f(i + 3 * lanes, lanes, std::true_type(), &a3, &b3);
    }
    for (; i + lanes <= end; i += lanes) f(i, lanes, std::true_type(), &a0, &b0);
    if (i < end) {
      f(i, end - i, std::false_type(), &a1, &b1);
      i = end;
    }
    a += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)))));
    b += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)))));
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

// dx of one row, and what it adds to dscale and dbias.
template <class T>
void backward(const NormRow& row, int64_t n) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const T *x = static_cast<const T*>(row.x), *dy = static_cast<const T*>(row.dy);
  const T* scale = static_cast<const T*>(row.scale);
  T *dx = static_cast<T*>(row.out), *dscale = static_cast<T*>(row.dscale), *dbias = static_cast<T*>(row.dbias);
  const V centre = hn::Set(d, *static_cast<const T*>(row.mean)), by = hn::Set(d, *static_cast<const T*>(row.inverse));
  auto scaled = [&](V v, int64_t i, int64_t left, auto whole)
                    HWY_ATTR { return scale == nullptr ? v : hn::Mul(v, load_lanes<whole.value>(d, scale + i, left)); };
  auto normal = [&](int64_t i, int64_t left, auto whole)
                    HWY_ATTR { return hn::Mul(hn::Sub(load_lanes<whole.value>(d, x + i, left), centre), by); };
  double level, tilt;
  sums<T>(n, &level, &tilt, [&](int64_t i, int64_t left, auto whole, V* a, V* b) HWY_ATTR {
    const V g = scaled(load_lanes<whole.value>(d, dy + i, left), i, left, whole);
    *a = hn::Add(*a, g);
    *b = hn::MulAdd(g, normal(i, left, whole), *b);
  });
  const V mean_level = hn::Set(d, static_cast<T>(level / static_cast<double>(n)));
  const V mean_tilt = hn::Set(d, static_cast<T>(tilt / static_cast<double>(n)));
  each<T>(n, [&](int64_t i, int64_t left, auto whole) HWY_ATTR {
    const V v = load_lanes<whole.value>(d, dy + i, left), unit = normal(i, left, whole);
    const V flat = hn::Sub(scaled(v, i, left, whole), mean_level);
    const V of_scale = hn::MulAdd(v, unit, load_lanes<whole.value>(d, dscale + i, left));
    const V of_bias = hn::Add(v, load_lanes<whole.value>(d, dbias + i, left));
    store_lanes<whole.value>(hn::Mul(hn::NegMulAdd(unit, mean_tilt, flat), by), d, dx + i, left);
    store_lanes<whole.value>(of_scale, d, dscale + i, left);
    store_lanes<whole.value>(of_bias, d, dbias + i, left);
  });
}

// Adds the sums of a few rows to those in double, and empties them.
template <class T>
void fold(void* from, double* to, int64_t n) {
  T* few = static_cast<T*>(from);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) {
    to[i] += static_cast<double>(few[i]);
    few[i] = 0;
  }
}

}  // namespace

void layer_norm_table(Kernels* k) {
  k->norm_f32 = {forward<float>, backward<float>, fold<float>};
  k->norm_f64 = {forward<double>, backward<double>, fold<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
namespace {

constexpr int64_t kRowsInT = 32;     // whose shares of dscale and dbias are added in T before they go to double
constexpr int64_t kMostBlocks = 32;  // of rows; how many there are does not depend on the threads, nor does any result
constexpr int64_t kHalfRow = 4096;   // elements of the longest row of f16 or bf16

// Dense vectors in the workspace: scale and bias where they are halves, then for each block of rows its sums.
struct State {
  oar_pack_t* pack;
  const NormKernels* kernels;
  bool gradient, halves;
  int size;  // bytes of an element of what is computed with
  int64_t length, rows, block, blocks;
  double epsilon;
  uint64_t per_vector = 0, per_block = 0;
};
struct Job {
  const State* state;
  const oar_frame_t* frame;
  char* workspace;
  const void *scale = nullptr, *bias = nullptr;
};

uint64_t rounded(int64_t bytes) { return (static_cast<uint64_t>(bytes) + 63) / 64 * 64; }

// Where row r of a view of [*L, C] or [*L] begins; rank: of L.
struct Rows {
  const oar_view_t* view;
  int rank;
  int64_t step = 0;  // between rows, where it is always the same; else 0
  Rows(const oar_view_t* v, int rank_) : view(v), rank(rank_) {
    if (view == nullptr || rank == 0) return;
    int64_t expected = view->strides[rank - 1];
    step = expected;
    for (int d = rank - 1; d >= 0; --d) {
      if (view->shape[d] != 1 && view->strides[d] != expected) step = 0;
      expected *= view->shape[d];
    }
  }
  void* at(int64_t row) const {
    int64_t offset = row * step;
    if (step == 0)
      for (int d = rank - 1; d >= 0; --d) {
        offset += row % view->shape[d] * view->strides[d];
        row /= view->shape[d];
      }
    return static_cast<char*>(view->data) + offset * size_of(view->dtype);
  }
};
const oar_view_t* output(const oar_frame_t& f, uint32_t j) { return j < f.n_outputs ? f.outputs[j] : nullptr; }

// The row itself, or its elements in f32.
const void* as_computed(const State& s, const void* row, uint32_t dtype, float* buffer) {
  if (!s.halves) return row;
  s.pack->kernels.cast[dtype][OAR_DTYPE_F32](row, nullptr, nullptr, buffer, s.length);
  return buffer;
}

void forward_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const State& s = *job.state;
  const oar_frame_t& f = *job.frame;
  const int rank = f.inputs[0]->n_dims - 1;
  const Rows x(f.inputs[0], rank), out(f.outputs[0], rank), mean(output(f, 1), rank), inverse(output(f, 2), rank);
  float buffer[kHalfRow];
  for (int64_t r = begin; r < end; ++r) {
    double unwanted[2];
    void* to = out.at(r);
    s.kernels->forward({.x = as_computed(s, x.at(r), x.view->dtype, buffer),
                        .scale = job.scale,
                        .bias = job.bias,
                        .out = s.halves ? buffer : to,
                        .mean = mean.view ? mean.at(r) : &unwanted[0],
                        .inverse = inverse.view ? inverse.at(r) : &unwanted[1]},
                       s.length, s.epsilon);
    if (s.halves) s.pack->kernels.cast[OAR_DTYPE_F32][out.view->dtype](buffer, nullptr, nullptr, to, s.length);
  }
}

// Units: blocks of rows.
void backward_body(void* context, int64_t begin, int64_t end) {
  const Job& job = *static_cast<const Job*>(context);
  const State& s = *job.state;
  const oar_frame_t& f = *job.frame;
  const int rank = f.inputs[1]->n_dims - 1;
  const Rows dy(f.inputs[0], rank), x(f.inputs[1], rank), mean(f.inputs[2], rank), inverse(f.inputs[3], rank);
  const Rows dx(f.outputs[0], rank);
  float x_buffer[kHalfRow], dy_buffer[kHalfRow];
  for (int64_t unit = begin; unit < end; ++unit) {
    char* sums = job.workspace + 2 * s.per_vector + static_cast<uint64_t>(unit) * s.per_block;
    std::memset(sums, 0, s.per_block);
    double *dscale = reinterpret_cast<double*>(sums), *dbias = dscale + s.length;
    char* few = sums + rounded(2 * s.length * 8);
    const int64_t last = std::min(s.rows, (unit + 1) * s.block);
    for (int64_t r = unit * s.block; r < last; ++r) {
      void* to = dx.at(r);
      s.kernels->backward({.x = as_computed(s, x.at(r), x.view->dtype, x_buffer),
                           .dy = as_computed(s, dy.at(r), dy.view->dtype, dy_buffer),
                           .scale = job.scale,
                           .out = s.halves ? x_buffer : to,
                           .mean = mean.at(r),
                           .inverse = inverse.at(r),
                           .dscale = few,
                           .dbias = few + s.length * s.size},
                          s.length);
      if (s.halves) s.pack->kernels.cast[OAR_DTYPE_F32][dx.view->dtype](x_buffer, nullptr, nullptr, to, s.length);
      if (r + 1 != last && (r + 1) % kRowsInT != 0) continue;
      s.kernels->fold(few, dscale, s.length);
      s.kernels->fold(few + s.length * s.size, dbias, s.length);
    }
  }
}

oar_status_t launch(void* state, const oar_frame_t* frame) {
  const State& s = *static_cast<const State*>(state);
  Job job = {&s, frame, static_cast<char*>(frame->workspace.data) + frame->workspace.byte_offset};
  auto vector = [&](uint32_t i, uint64_t place) -> const void* {
    const oar_view_t* v = i < frame->n_inputs ? frame->inputs[i] : nullptr;
    if (v == nullptr || !is_half(v->dtype)) return v == nullptr ? nullptr : v->data;
    s.pack->kernels.cast[v->dtype][OAR_DTYPE_F32](v->data, nullptr, nullptr, job.workspace + place, s.length);
    return job.workspace + place;
  };
  job.scale = vector(s.gradient ? 4 : 1, 0);
  if (!s.gradient) job.bias = vector(2, s.per_vector);
  const int64_t grain = std::max<int64_t>(1, kParallelElements / 4 / std::max<int64_t>(s.length, 1));
  if (!s.gradient) {
    parallel(s.pack, s.rows, grain, forward_body, &job);
    return OAR_OK;
  }
  parallel(s.pack, s.blocks, std::max<int64_t>(1, grain / s.block), backward_body, &job);
  for (uint32_t j = 1; j < 3; ++j) {
    const oar_view_t* out = output(*frame, j);
    if (out == nullptr) continue;
    for (int64_t i = 0; i < s.length; ++i) {
      double total = 0;
      for (int64_t b = 0; b < s.blocks; ++b)
        total += reinterpret_cast<const double*>(job.workspace + 2 * s.per_vector +
                                                 static_cast<uint64_t>(b) * s.per_block)[(j - 1) * s.length + i];
      oar_kit_store(out->data, out->dtype, i * out->strides[0], total);
    }
  }
  return OAR_OK;
}
void release(void* state) { delete static_cast<State*>(state); }

constexpr bool kIsGradient[] = {false, true};

oar_status_t prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                     oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t& x = *call->inputs[0];
    auto s = std::make_unique<State>();
    s->pack = pack;
    s->gradient = *static_cast<const bool*>(decl->user);
    s->halves = is_half(x.dtype);
    s->size = x.dtype == OAR_DTYPE_F64 ? 8 : 4;
    s->kernels = s->size == 8 ? &pack->kernels.norm_f64 : &pack->kernels.norm_f32;
    s->length = x.shape[x.n_dims - 1];
    s->rows = 1;
    for (uint32_t d = 0; d + 1 < x.n_dims; ++d) s->rows *= x.shape[d];
    s->block = std::max<int64_t>(kRowsInT, (s->rows + kMostBlocks - 1) / kMostBlocks);
    s->blocks = (s->rows + s->block - 1) / s->block;
    s->epsilon = s->gradient ? 0 : kit::attr_float(*call, 0, 1e-5);
    bool half_vectors = false;
    for (uint32_t i = s->gradient ? 4 : 1; i < call->n_inputs && (s->gradient || i < 3); ++i)
      half_vectors |= call->inputs[i] != nullptr && is_half(call->inputs[i]->dtype);
    if (half_vectors) s->per_vector = rounded(s->length * 4);
    if (s->gradient) s->per_block = rounded(2 * s->length * 8) + rounded(2 * s->length * s->size);
    out_prepared->workspace_bytes = 2 * s->per_vector + static_cast<uint64_t>(s->blocks) * s->per_block;
    out_prepared->workspace_alignment = 64;
    out_prepared->state = s.release();
  });
}

oar_status_t check(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                   oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK) return status;
  const bool gradient = *static_cast<const bool*>(decl->user);
  const oar_value_t& x = *call->inputs[0];
  const uint32_t wide = x.dtype == OAR_DTYPE_F64 ? OAR_DTYPE_F64 : OAR_DTYPE_F32;
  if (is_half(x.dtype) && x.shape[x.n_dims - 1] > kHalfRow)
    return oar_kit_refuse(out_verdict, OAR_REASON_SHAPE, 0, "rows of f16 or bf16 hold %d elements at most",
                          static_cast<int>(kHalfRow));
  for (uint32_t i = 0; i < call->n_inputs; ++i) {
    const oar_value_t* value = call->inputs[i];
    if (value == nullptr) continue;
    const bool row = gradient ? i < 2 : i == 0, factor = gradient ? i == 4 : i > 0;
    if (row ? value->dtype != x.dtype : value->dtype != wide && !(factor && is_half(x.dtype) && is_half(value->dtype)))
      return oar_kit_refuse(out_verdict, OAR_REASON_DTYPE, static_cast<int>(i), "the dtypes of the operands differ");
    if (!row && !factor) continue;
    const uint32_t last = value->n_dims - 1;
    if (value->layout == OAR_LAYOUT_STRIDED && value->shape[last] > 1 && value->strides[last] != 1)
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "the last axis must lie dense");
  }
  return OAR_OK;
}

constexpr uint64_t kTypes[] = {kF32 | kF64 | kHalf};
constexpr oar_kernel_decl_t norm(const char* op, const bool* gradient) {
  oar_kernel_decl_t decl = declare(op, kTypes, nullptr, gradient, nullptr, check);
  decl.flags = OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT;
  decl.prepare = prepare;
  decl.launch = launch;
  decl.release = release;
  return decl;
}
constexpr oar_kernel_decl_t kDecls[] = {
    norm("layer_norm", &kIsGradient[0]),
    norm("layer_norm_gradient", &kIsGradient[1]),
};

}  // namespace

HWY_EXPORT(layer_norm_table);
void layer_norm_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(layer_norm_table)(out); }

Declarations layer_norm_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
#endif
