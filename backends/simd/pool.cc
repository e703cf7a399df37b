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

// -- Lines: element i of a line is x[i * stride]. Strides of 1 and 2 are loaded in vectors; the last vector of a line
// overlaps the one before, so that nothing behind the line's last element is touched. Shorter lines take shorter vectors.
// f(vector tag, first element, how many of its first elements were done before).
template <class T, class F>
HWY_INLINE int64_t in_vectors(int64_t n, F f) {
  auto all = [&](auto d) HWY_ATTR {
    const int64_t lanes = hn::Lanes(d);
    if (n <= lanes) return false;  // a last vector of stride 2 begins an element early
    int64_t i = 0;
    for (; i + lanes < n; i += lanes) f(d, i, 0);
    f(d, n - lanes, i - (n - lanes));
    return true;
  };
  if (all(hn::ScalableTag<T>()) || all(hn::CappedTag<T, 16 / sizeof(T)>())) return n;
  return 0;
}
// Elements i to i + lanes of a line of stride 1 or 2; last: the line may end with them.
template <int Stride, class D, class T>
HWY_INLINE hn::Vec<D> load_line(D d, const T* x, int64_t i, bool last) {
  if constexpr (Stride == 1) {
    return hn::LoadU(d, x + i);
  } else {
    hn::Vec<D> even, odd;
    hn::LoadInterleaved2(d, x + 2 * i - (last ? 1 : 0), even, odd);
    return last ? odd : even;
  }
}
// The lanes behind the first `done`.
template <class D>
HWY_INLINE hn::Vec<D> undone(D d, hn::Vec<D> v, int64_t done) {
  return done == 0 ? v : hn::IfThenZeroElse(hn::FirstN(d, static_cast<size_t>(done)), v);
}

template <int Stride, class T>
HWY_INLINE int64_t max_vectors(const T* x, int64_t place, int64_t step, int64_t n, T* best, hwy::MakeSigned<T>* index,
                               int64_t nowhere) {
  using I = hwy::MakeSigned<T>;
  return in_vectors<T>(n, [&](auto d, int64_t i, int64_t) HWY_ATTR {  // a tap taken twice changes nothing
    const hn::RebindToSigned<decltype(d)> di;
    const auto v = load_line<Stride>(d, x, i, i + static_cast<int64_t>(hn::Lanes(d)) == n);
    const auto b = hn::LoadU(d, best + i);
    const auto k = hn::LoadU(di, index + i);
    const auto none = hn::RebindMask(d, hn::Eq(k, hn::Set(di, static_cast<I>(nowhere))));
    const auto keep = hn::AndNot(none, hn::Or(hn::Le(v, b), hn::IsNaN(b)));
    const auto places = hn::Add(hn::Set(di, static_cast<I>(place + i * step)),
                                hn::Mul(hn::Iota(di, I(0)), hn::Set(di, static_cast<I>(step))));
    hn::StoreU(hn::IfThenElse(keep, b, v), d, best + i);
    hn::StoreU(hn::IfThenElse(hn::RebindMask(di, keep), k, places), di, index + i);
  });
}
template <class T>
void max_line(const void* px, int64_t stride, int64_t place, int64_t step, int64_t n, void* pbest, void* pindex,
              int64_t nowhere) {
  using I = hwy::MakeSigned<T>;
  const T* x = static_cast<const T*>(px);
  T* best = static_cast<T*>(pbest);
  I* index = static_cast<I*>(pindex);
  int64_t i = 0;
  if (sizeof(T) == 4) {  // products of 64-bit integers are slow
    if (stride == 1) i = max_vectors<1>(x, place, step, n, best, index, nowhere);
    else if (stride == 2) i = max_vectors<2>(x, place, step, n, best, index, nowhere);
  }
  for (; i < n; ++i) {
    const T v = x[i * stride], b = best[i];
    const bool keep = index[i] != static_cast<I>(nowhere) && (v <= b || b != b);
    if (keep) continue;
    best[i] = v;
    index[i] = static_cast<I>(place + i * step);
  }
}

// Sums in double.
#if HWY_TARGET != HWY_SCALAR
template <int Stride>
HWY_INLINE int64_t sum_vectors(const float* x, int64_t n, double* sum) {
  return in_vectors<float>(n, [&](auto d, int64_t i, int64_t done) HWY_ATTR {
    const int64_t lanes = hn::Lanes(d);
    const hn::Repartition<double, decltype(d)> dd;
    const hn::Half<decltype(d)> half;
    const auto v = undone(d, load_line<Stride>(d, x, i, i + lanes == n), done);
    double *low = sum + i, *high = low + lanes / 2;
    hn::StoreU(hn::Add(hn::LoadU(dd, low), hn::PromoteTo(dd, hn::LowerHalf(half, v))), dd, low);
    hn::StoreU(hn::Add(hn::LoadU(dd, high), hn::PromoteTo(dd, hn::UpperHalf(half, v))), dd, high);
  });
}
#endif
template <class T>
void sum_line(const void* px, int64_t stride, int64_t n, double* sum) {
  const T* x = static_cast<const T*>(px);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    if (stride == 1) i = sum_vectors<1>(x, n, sum);
    else if (stride == 2) i = sum_vectors<2>(x, n, sum);
  }
#endif
  for (; i < n; ++i) sum[i] += static_cast<double>(x[i * stride]);
}

template <int Stride, class T>
HWY_INLINE int64_t spread_vectors(const T* share, int64_t n, T* dx) {
  return in_vectors<T>(n, [&](auto d, int64_t i, int64_t done) HWY_ATTR {
    const auto v = undone(d, hn::LoadU(d, share + i), done);
    if constexpr (Stride == 1) {
      hn::StoreU(hn::Add(hn::LoadU(d, dx + i), v), d, dx + i);
    } else {
      const bool last = i + static_cast<int64_t>(hn::Lanes(d)) == n;
      T* to = dx + 2 * i - (last ? 1 : 0);
      hn::Vec<decltype(d)> even, odd;
      hn::LoadInterleaved2(d, to, even, odd);
      if (last) hn::StoreInterleaved2(even, hn::Add(odd, v), d, to);
      else hn::StoreInterleaved2(hn::Add(even, v), odd, d, to);
    }
  });
}
template <class T>
void spread_line(const void* pshare, int64_t n, void* pdx, int64_t stride) {
  const T* share = static_cast<const T*>(pshare);
  T* dx = static_cast<T*>(pdx);
  int64_t i = 0;
  if (stride == 1) i = spread_vectors<1>(share, n, dx);
  else if (stride == 2) i = spread_vectors<2>(share, n, dx);
  for (; i < n; ++i) dx[i * stride] += share[i];
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
