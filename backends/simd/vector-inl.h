// Loops over dense memory for one Highway target. Included once per target, after highway.h.
#if defined(OARLOCK_SIMD_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OARLOCK_SIMD_VECTOR_INL_H_
#undef OARLOCK_SIMD_VECTOR_INL_H_
#else
#define OARLOCK_SIMD_VECTOR_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// No two iterations touch the same memory, but operands may coincide.
#if defined(__clang__)
#define OARLOCK_SIMD_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define OARLOCK_SIMD_LOOP _Pragma("GCC ivdep")
#endif

// A short loop over registers: -O2 alone leaves it a loop, and arrays of vectors in memory.
#if defined(__clang__)
#define OARLOCK_SIMD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define OARLOCK_SIMD_UNROLL _Pragma("GCC unroll 8")
#endif

// The first n < Lanes(d) elements, the rest zero, without touching what lies behind them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* from, size_t n) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, n), d, from);
#else
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
  std::memcpy(lanes, from, n * sizeof(T));
  return hn::Load(d, lanes);
#endif
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_part(hn::Vec<D> v, D d, T* to, size_t n) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, n), d, to);
#else
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, n * sizeof(T));
#endif
}

// The vector at `from`, or, if not Whole, its first lanes.
template <bool Whole, class D, class T>
HWY_INLINE hn::Vec<D> load_lanes(D d, const T* from, int64_t left) {
  if constexpr (Whole) return hn::LoadU(d, from);
  else return load_part(d, from, static_cast<size_t>(left));
}
template <bool Whole, class D, class T>
HWY_INLINE void store_lanes(hn::Vec<D> v, D d, T* to, int64_t left) {
  if constexpr (Whole) hn::StoreU(v, d, to);
  else store_part(v, d, to, static_cast<size_t>(left));
}

// out[i] = f(a[i]). The last full vector is loaded before anything is stored, so out may be a.
template <class D, class T, class F>
HWY_INLINE void map(D d, const T* a, T* out, size_t n, F f) {
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) {
    if (n != 0) store_part(f(load_part(d, a, n)), d, out, n);
    return;
  }
  const auto last = hn::LoadU(d, a + n - lanes);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i)), d, out + i);
  if (i != n) hn::StoreU(f(last), d, out + n - lanes);
}
// out[i] = f(a[i], b[i]); out may be a or b.
template <class D, class T, class F>
HWY_INLINE void map(D d, const T* a, const T* b, T* out, size_t n, F f) {
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) {
    if (n != 0) store_part(f(load_part(d, a, n), load_part(d, b, n)), d, out, n);
    return;
  }
  const auto last_a = hn::LoadU(d, a + n - lanes);
  const auto last_b = hn::LoadU(d, b + n - lanes);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  if (i != n) hn::StoreU(f(last_a, last_b), d, out + n - lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();
#endif
