// Integer arithmetic, and equal and less of every dtype, over dense blocks. Plain loops: the compiler vectorises them
// for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

// Integers wrap: they are computed without sign, and in 32 bits at least, or small ones would promote to int.
template <class T>
using Wrap = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
struct IntAdd {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return T(Wrap<T>(a) + Wrap<T>(b));
  }
};
struct IntSubtract {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return T(Wrap<T>(a) - Wrap<T>(b));
  }
};
struct IntMultiply {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return T(Wrap<T>(a) * Wrap<T>(b));
  }
};
struct IntMaximum {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Equal {
  template <class T>
  HWY_INLINE uint8_t operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <class T>
  HWY_INLINE uint8_t operator()(T a, T b) const {
    return a < b;
  }
};

template <class T, class R, class F>
void binary_plain(const void* pa, const void* pb, const void*, void* po, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  R* out = static_cast<R*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = F()(a[i], b[i]);
}
template <class T>
void negative_plain(const void* pa, const void*, const void*, void* po, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  T* out = static_cast<T*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = T(Wrap<T>(0) - Wrap<T>(a[i]));
}
template <class T>
void relu_plain(const void* pa, const void*, const void*, void* po, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  T* out = static_cast<T*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] < T(0) ? T(0) : a[i];
}

template <class T>
void fill_integer(Kernels* k, int dtype) {
  k->element[kAdd][dtype] = binary_plain<T, T, IntAdd>;
  k->element[kSubtract][dtype] = binary_plain<T, T, IntSubtract>;
  k->element[kMultiply][dtype] = binary_plain<T, T, IntMultiply>;
  k->element[kMaximum][dtype] = binary_plain<T, T, IntMaximum>;
  k->element[kNegative][dtype] = negative_plain<T>;
  k->element[kRelu][dtype] = relu_plain<T>;
}
template <class T>
void fill_compare(Kernels* k, int dtype) {
  k->element[kEqual][dtype] = binary_plain<T, uint8_t, Equal>;
  k->element[kLess][dtype] = binary_plain<T, uint8_t, Less>;
}

}  // namespace

void integer_table(Kernels* k) {
  fill_integer<int8_t>(k, OAR_DTYPE_I8);
  fill_integer<int16_t>(k, OAR_DTYPE_I16);
  fill_integer<int32_t>(k, OAR_DTYPE_I32);
  fill_integer<int64_t>(k, OAR_DTYPE_I64);
  fill_integer<uint8_t>(k, OAR_DTYPE_U8);
  fill_integer<uint16_t>(k, OAR_DTYPE_U16);
  fill_integer<uint32_t>(k, OAR_DTYPE_U32);
  fill_integer<uint64_t>(k, OAR_DTYPE_U64);
  fill_compare<float>(k, OAR_DTYPE_F32);
  fill_compare<double>(k, OAR_DTYPE_F64);
  fill_compare<int8_t>(k, OAR_DTYPE_I8);
  fill_compare<int16_t>(k, OAR_DTYPE_I16);
  fill_compare<int32_t>(k, OAR_DTYPE_I32);
  fill_compare<int64_t>(k, OAR_DTYPE_I64);
  fill_compare<uint8_t>(k, OAR_DTYPE_U8);
  fill_compare<uint16_t>(k, OAR_DTYPE_U16);
  fill_compare<uint32_t>(k, OAR_DTYPE_U32);
  fill_compare<uint64_t>(k, OAR_DTYPE_U64);
  k->element[kEqual][OAR_DTYPE_BOOL] = k->element[kEqual][OAR_DTYPE_U8];
  k->element[kLess][OAR_DTYPE_BOOL] = k->element[kLess][OAR_DTYPE_U8];
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(integer_table);
void integer_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(integer_table)(out); }
}  // namespace oarlock::simd
#endif
