// exp, log, sqrt, tanh (f32, f64) and erf (f32) over dense blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transcendental.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "math-inl.h"
#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class V>
using Tag = hn::DFromV<V>;

struct Exp {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return exp_full(Tag<V>(), x);
  }
};
struct Log {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return log_full(Tag<V>(), x);
  }
};
struct Sqrt {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return hn::Sqrt(x);
  }
};
struct Tanh {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return tanh_full(Tag<V>(), x);
  }
};
struct Erf {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return erf_full(Tag<V>(), x);
  }
};

template <class T, class F>
void unary(const void* x, const void*, const void*, void* out, int64_t n) {
  map(hn::ScalableTag<T>(), static_cast<const T*>(x), static_cast<T*>(out), n, F());
}

template <class T>
void fill_real(Kernels* k, int dtype) {
  k->element[kExp][dtype] = unary<T, Exp>;
  k->element[kLog][dtype] = unary<T, Log>;
  k->element[kSqrt][dtype] = unary<T, Sqrt>;
  k->element[kTanh][dtype] = unary<T, Tanh>;
}

}  // namespace

void transcendental_table(Kernels* k) {
  fill_real<float>(k, OAR_DTYPE_F32);
  fill_real<double>(k, OAR_DTYPE_F64);
  k->element[kErf][OAR_DTYPE_F32] = unary<float, Erf>;
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(transcendental_table);
void transcendental_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(transcendental_table)(out); }
}  // namespace oarlock::simd
#endif
