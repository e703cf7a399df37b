// sigmoid, silu, gelu and its gradient, sin, cos and power over dense blocks of f32 and f64 (gelu by erf: f32 alone).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "math-inl.h"
#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class V>
using Tag = hn::DFromV<V>;
template <class V>
HWY_INLINE V constant(double value) {
  return hn::Set(Tag<V>(), static_cast<hn::TFromV<V>>(value));
}

template <class V>
HWY_INLINE V grown(V x) {  // 1 + exp(-x)
  return hn::Add(constant<V>(1), exp_full(Tag<V>(), hn::Neg(x)));
}
struct Sigmoid {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return hn::Div(constant<V>(1), grown(x));
  }
};
struct Silu {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return hn::Div(x, grown(x));
  }
};
struct Gelu {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const V e = erf_full(Tag<V>(), hn::Mul(x, constant<V>(0.7071067811865476)));
    return hn::Mul(hn::Mul(x, constant<V>(0.5)), hn::Add(constant<V>(1), e));
  }
};
struct GeluTanh {  // tanh is 1 long before 30, and a cube of more might overflow
  template <class V>
  HWY_INLINE V operator()(V x) const {
    constexpr double kScale = 0.7978845608028654, kCube = 0.044715;  // sqrt(2 / pi)
    const V near = hn::Min(hn::Max(x, constant<V>(-30)), constant<V>(30));
    const V slope = hn::MulAdd(hn::Mul(near, near), constant<V>(kCube * kScale), constant<V>(kScale));
    const V t = tanh_full(Tag<V>(), hn::Mul(near, slope));
    const V y = hn::Mul(hn::Mul(x, constant<V>(0.5)), hn::Add(constant<V>(1), t));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};

struct GeluGradient {  // dy, x
  template <class V>
  HWY_INLINE V operator()(V dy, V x) const {
    const V e = erf_full(Tag<V>(), hn::Mul(x, constant<V>(0.7071067811865476)));
    const V density = hn::Mul(exp_full(Tag<V>(), hn::Mul(hn::Mul(x, x), constant<V>(-0.5))),
                              constant<V>(0.3989422804014327));  // 1 / sqrt(2 pi)
    return hn::Mul(dy, hn::MulAdd(x, density, hn::MulAdd(e, constant<V>(0.5), constant<V>(0.5))));
  }
};
struct GeluTanhGradient {
  template <class V>
  HWY_INLINE V operator()(V dy, V x) const {
    constexpr double kScale = 0.7978845608028654, kCube = 0.044715;
    const V near = hn::Min(hn::Max(x, constant<V>(-30)), constant<V>(30));
    const V square = hn::Mul(near, near), one = constant<V>(1);
    const V slope = hn::MulAdd(square, constant<V>(kCube * kScale), constant<V>(kScale));
    const V t = tanh_full(Tag<V>(), hn::Mul(near, slope));
    const V inner = hn::MulAdd(square, constant<V>(3 * kCube * kScale), constant<V>(kScale));
    const V rise = hn::Mul(hn::Mul(near, inner), hn::NegMulAdd(t, t, one));
    const V y = hn::Mul(dy, hn::Mul(hn::Add(hn::Add(one, t), rise), constant<V>(0.5)));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};

// Highway's are good to 3 ulp up to 39000; vectors with anything else, NaN included, go lane by lane.
template <class V, class Fast, class Slow>
HWY_INLINE V near_zero(V x, Fast fast, Slow slow) {
  const Tag<V> d;
  using T = hn::TFromV<V>;
  if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, static_cast<T>(30000)))))) return fast(d, x);
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<T>(slow(static_cast<double>(lanes[i])));
  return hn::Load(d, lanes);
}
struct Sin {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return near_zero(
        x, [](auto d, V v) HWY_ATTR { return hn::Sin(d, v); }, [](double v) { return std::sin(v); });
  }
};
struct Cos {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return near_zero(
        x, [](auto d, V v) HWY_ATTR { return hn::Cos(d, v); }, [](double v) { return std::cos(v); });
  }
};

template <class T, class F>
void unary(const void* x, const void*, const void*, void* out, int64_t n) {
  map(hn::ScalableTag<T>(), static_cast<const T*>(x), static_cast<T*>(out), n, F());
}
template <class T, class F>
void binary(const void* a, const void* b, const void*, void* out, int64_t n) {
  map(hn::ScalableTag<T>(), static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), n, F());
}
template <class T>
void power(const void* pa, const void* pb, const void*, void* po, int64_t n) {
  const T *a = static_cast<const T*>(pa), *b = static_cast<const T*>(pb);
  T* out = static_cast<T*>(po);
  for (int64_t i = 0; i < n; ++i) out[i] = std::pow(a[i], b[i]);
}

template <class T>
void fill_real(Kernels* k, int dtype) {
  k->element[kSigmoid][dtype] = unary<T, Sigmoid>;
  k->element[kSilu][dtype] = unary<T, Silu>;
  k->element[kGeluTanh][dtype] = unary<T, GeluTanh>;
  k->element[kGeluTanhGradient][dtype] = binary<T, GeluTanhGradient>;
  k->element[kSin][dtype] = unary<T, Sin>;
  k->element[kCos][dtype] = unary<T, Cos>;
  k->element[kPower][dtype] = power<T>;
}

}  // namespace

void activation_table(Kernels* k) {
  fill_real<float>(k, OAR_DTYPE_F32);
  fill_real<double>(k, OAR_DTYPE_F64);
  k->element[kGelu][OAR_DTYPE_F32] = unary<float, Gelu>;
  k->element[kGeluGradient][OAR_DTYPE_F32] = binary<float, GeluGradient>;
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(activation_table);
void activation_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(activation_table)(out); }
}  // namespace oarlock::simd
#endif
