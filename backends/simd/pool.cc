// Poolings' inner loops. A maximum is taken from a later tap only where that is greater, or the first NaN.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pool.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class T>
using Tag = hn::ScalableTag<T>;

template <class T, bool Whole>
HWY_INLINE void max_values(const T* x, const int64_t* at, int64_t taps, int64_t left, T* out, bool first) {
  const Tag<T> d;
  auto best = first ? load_lanes<Whole>(d, x + at[0], left) : load_lanes<Whole>(d, out, left);
  for (int64_t t = first; t < taps; ++t) {
    const auto v = load_lanes<Whole>(d, x + at[t], left);
    best = hn::IfThenElse(hn::Or(hn::Lt(v, best), hn::IsNaN(best)), best, v);
  }
  store_lanes<Whole>(best, d, out, left);
}

// Places are counted in integers as wide as T.
template <class T, bool Whole>
HWY_INLINE void max_places(const T* x, const int64_t* at, const int64_t* place, int64_t taps, int64_t left, T* out,
                           int64_t* index, bool first) {
  const Tag<T> d;
  const hn::RebindToSigned<Tag<T>> di;
  using I = hn::TFromD<decltype(di)>;
  HWY_ALIGN I places[HWY_MAX_BYTES / sizeof(T)] = {};
  auto best = load_lanes<Whole>(d, first ? x + at[0] : out, left);
  if (!first)
    for (int64_t i = 0; i < left; ++i) places[i] = static_cast<I>(index[i]);
  auto where = first ? hn::Set(di, static_cast<I>(place[0])) : hn::Load(di, places);
  for (int64_t t = first; t < taps; ++t) {
    const auto v = load_lanes<Whole>(d, x + at[t], left);
    const auto keep = hn::Or(hn::Le(v, best), hn::IsNaN(best));
    best = hn::IfThenElse(keep, best, v);
    where = hn::IfThenElse(hn::RebindMask(di, keep), where, hn::Set(di, static_cast<I>(place[t])));
  }
  store_lanes<Whole>(best, d, out, left);
  hn::Store(where, di, places);
  for (int64_t i = 0; i < left; ++i) index[i] = places[i];
}

template <class T>
void max_taps(const void* px, const int64_t* at, const int64_t* place, int64_t taps, int64_t n, void* pout,
              int64_t* index, bool first) {
  const int64_t lanes = hn::Lanes(Tag<T>());
  const T* x = static_cast<const T*>(px);
  T* out = static_cast<T*>(pout);
  int64_t i = 0;
  if (index == nullptr) {
    for (; i + lanes <= n; i += lanes) max_values<T, true>(x + i, at, taps, lanes, out + i, first);
    if (i < n) max_values<T, false>(x + i, at, taps, n - i, out + i, first);
  } else {
    for (; i + lanes <= n; i += lanes) max_places<T, true>(x + i, at, place, taps, lanes, out + i, index + i, first);
    if (i < n) max_places<T, false>(x + i, at, place, taps, n - i, out + i, index + i, first);
  }
}

// Sixteen taps at a time: the error grows with their number's root, not with their number.
template <class T, bool Whole>
HWY_INLINE void sum_lanes(const T* x, const int64_t* at, int64_t taps, int64_t left, double divisor, T* out,
                          bool first) {
  const Tag<T> d;
  auto total = first ? hn::Zero(d) : load_lanes<Whole>(d, out, left);
  for (int64_t t = 0; t < taps;) {
    const int64_t end = std::min<int64_t>(taps, t + 16);
    auto sum = load_lanes<Whole>(d, x + at[t], left);
    for (++t; t < end; ++t) sum = hn::Add(sum, load_lanes<Whole>(d, x + at[t], left));
    total = hn::Add(total, sum);
  }
  if (divisor != 0) total = hn::Div(total, hn::Set(d, static_cast<T>(divisor)));
  store_lanes<Whole>(total, d, out, left);
}
template <class T>
void sum_taps(const void* px, const int64_t* at, int64_t taps, int64_t n, double divisor, void* pout, bool first) {
  const int64_t lanes = hn::Lanes(Tag<T>());
  const T* x = static_cast<const T*>(px);
  T* out = static_cast<T*>(pout);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum_lanes<T, true>(x + i, at, taps, lanes, divisor, out + i, first);
  if (i < n) sum_lanes<T, false>(x + i, at, taps, n - i, divisor, out + i, first);
}

template <class T, bool Whole>
HWY_INLINE void spread_lanes(const T* dy, double divisor, T* dx, const int64_t* at, int64_t taps, int64_t left) {
  const Tag<T> d;
  const auto share = hn::Div(load_lanes<Whole>(d, dy, left), hn::Set(d, static_cast<T>(divisor)));
  for (int64_t t = 0; t < taps; ++t)
    store_lanes<Whole>(hn::Add(load_lanes<Whole>(d, dx + at[t], left), share), d, dx + at[t], left);
}
template <class T>
void spread_taps(const void* pdy, double divisor, void* pdx, const int64_t* at, int64_t taps, int64_t n) {
  const int64_t lanes = hn::Lanes(Tag<T>());
  const T* dy = static_cast<const T*>(pdy);
  T* dx = static_cast<T*>(pdx);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) spread_lanes<T, true>(dy + i, divisor, dx + i, at, taps, lanes);
  if (i < n) spread_lanes<T, false>(dy + i, divisor, dx + i, at, taps, n - i);
}

// Strides of 1 and 2 by name: the compiler loads vectors for them.
template <class F>
HWY_INLINE void with_stride(int64_t stride, F f) {
  if (stride == 1) f(std::integral_constant<int64_t, 1>());
  else if (stride == 2) f(std::integral_constant<int64_t, 2>());
  else f(stride);
}
template <class T, class Stride>
HWY_INLINE void max_strided(const T* x, Stride stride, int64_t place, int64_t step, int64_t n, T* best,
                            hwy::MakeSigned<T>* index, int64_t nowhere) {
  using I = hwy::MakeSigned<T>;
  const I none = static_cast<I>(nowhere), first = static_cast<I>(place), by = static_cast<I>(step);
  const I count = static_cast<I>(n);
  OARLOCK_SIMD_LOOP
  for (I i = 0; i < count; ++i) {
    const T v = x[i * stride], b = best[i];
    const I k = index[i];
    const bool keep = (k != none) & ((v <= b) | (b != b));
    best[i] = keep ? b : v;
    index[i] = keep ? k : first + i * by;
  }
}
template <class T>
void max_line(const void* x, int64_t stride, int64_t place, int64_t step, int64_t n, void* best, void* index,
              int64_t nowhere) {
  with_stride(stride, [&](auto by) HWY_ATTR {
    max_strided(static_cast<const T*>(x), by, place, step, n, static_cast<T*>(best),
                static_cast<hwy::MakeSigned<T>*>(index), nowhere);
  });
}
template <class T, class Stride>
HWY_INLINE void sum_strided(const T* x, Stride stride, int64_t n, double* sum) {
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(x[i * stride]);
}
template <class T>
void sum_line(const void* x, int64_t stride, int64_t n, double* sum) {
  with_stride(stride, [&](auto by) HWY_ATTR { sum_strided(static_cast<const T*>(x), by, n, sum); });
}
template <class T>
void spread_line(const double* share, int64_t n, void* pdx, int64_t stride) {
  T* dx = static_cast<T*>(pdx);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) dx[i * stride] += static_cast<T>(share[i]);
}

template <class T>
PoolKernels pool_kernels() {
  return {max_taps<T>, sum_taps<T>, spread_taps<T>, max_line<T>, sum_line<T>, spread_line<T>};
}

}  // namespace

void pool_table(Kernels* k) {
  k->pool_f32 = pool_kernels<float>();
  k->pool_f64 = pool_kernels<double>();
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(pool_table);
void pool_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(pool_table)(out); }
}  // namespace oarlock::simd
#endif
