// Arithmetic, maxima, minima, clip, relu and its gradient, of f32 and f64 over dense blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "arithmetic.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class T>
using Tag = hn::ScalableTag<T>;

// x86's max yields its second operand if either is NaN; here NaN wins wherever it is.
template <class V>
HWY_INLINE V nan_max(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b)));
}

template <class V>
HWY_INLINE V nan_min(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b)));
}

struct Add {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Subtract {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Sub(a, b);
  }
};
struct Multiply {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct Divide {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Div(a, b);
  }
};
struct Maximum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return nan_max(a, b);
  }
};
struct Minimum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return nan_min(a, b);
  }
};
struct Abs {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::Abs(a);
  }
};
struct Square {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::Mul(a, a);
  }
};
struct Cube {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::Mul(hn::Mul(a, a), a);
  }
};
struct Reciprocal {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::Div(hn::Set(hn::DFromV<V>(), 1), a);
  }
};
struct Rsqrt {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::Div(hn::Set(hn::DFromV<V>(), 1), hn::Sqrt(a));
  }
};
struct Negative {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::Neg(a);
  }
};
struct Relu {
  template <class V>
  HWY_INLINE V operator()(V a) const {
    return hn::IfThenZeroElse(hn::Lt(a, hn::Zero(hn::DFromV<V>())), a);
  }
};
struct ReluGradient {  // NaN is not positive
  template <class V>
  HWY_INLINE V operator()(V dy, V out) const {
    return hn::IfThenElseZero(hn::Gt(out, hn::Zero(hn::DFromV<V>())), dy);
  }
};

template <class T, class F>
void binary(const void* a, const void* b, const void*, void* out, int64_t n) {
  map(Tag<T>(), static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), n, F());
}
template <class T, class F>
void unary(const void* a, const void*, const void*, void* out, int64_t n) {
  map(Tag<T>(), static_cast<const T*>(a), static_cast<T*>(out), n, F());
}

// The nearer limit; max wins where it is below min. NaN wins wherever it is.
template <class T>
void clip(const void* px, const void* plow, const void* phigh, void* pout, int64_t n) {
  const Tag<T> d;
  const int64_t lanes = hn::Lanes(d);
  const T *x = static_cast<const T*>(px), *low = static_cast<const T*>(plow), *high = static_cast<const T*>(phigh);
  T* out = static_cast<T*>(pout);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(nan_min(nan_max(hn::LoadU(d, x + i), hn::LoadU(d, low + i)), hn::LoadU(d, high + i)), d, out + i);
  if (i == n) return;
  const auto left = static_cast<size_t>(n - i);
  const auto raised = nan_max(load_part(d, x + i, left), load_part(d, low + i, left));
  store_part(nan_min(raised, load_part(d, high + i, left)), d, out + i, left);
}

template <class T>
void fill_real(Kernels* k, int dtype) {
  k->element[kAdd][dtype] = binary<T, Add>;
  k->element[kSubtract][dtype] = binary<T, Subtract>;
  k->element[kMultiply][dtype] = binary<T, Multiply>;
  k->element[kDivide][dtype] = binary<T, Divide>;
  k->element[kMaximum][dtype] = binary<T, Maximum>;
  k->element[kNegative][dtype] = unary<T, Negative>;
  k->element[kRelu][dtype] = unary<T, Relu>;
  k->element[kReluGradient][dtype] = binary<T, ReluGradient>;
  k->element[kMinimum][dtype] = binary<T, Minimum>;
  k->element[kAbs][dtype] = unary<T, Abs>;
  k->element[kSquare][dtype] = unary<T, Square>;
  k->element[kCube][dtype] = unary<T, Cube>;
  k->element[kReciprocal][dtype] = unary<T, Reciprocal>;
  k->element[kRsqrt][dtype] = unary<T, Rsqrt>;
  k->element[kClip][dtype] = clip<T>;
}
}  // namespace

void arithmetic_table(Kernels* k) {
  fill_real<float>(k, OAR_DTYPE_F32);
  fill_real<double>(k, OAR_DTYPE_F64);
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(arithmetic_table);
void arithmetic_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(arithmetic_table)(out); }
}  // namespace oarlock::simd
#endif
