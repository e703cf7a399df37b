// add, subtract, multiply, divide, maximum, negative, relu and its gradient, of f32 and f64 over dense blocks.
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
