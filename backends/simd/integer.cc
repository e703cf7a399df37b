// Integer arithmetic, comparisons of every dtype and logic of bools, over dense blocks. Plain loops: the compiler vectorises them
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
struct IntMinimum {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct NotEqual {
  template <class T>
  HWY_INLINE uint8_t operator()(T a, T b) const {
    return a != b;
  }
};
struct Greater {
  template <class T>
  HWY_INLINE uint8_t operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  HWY_INLINE uint8_t operator()(T a, T b) const {
    return a >= b;
  }
};
struct LessEqual {
  template <class T>
  HWY_INLINE uint8_t operator()(T a, T b) const {
    return a <= b;
  }
};
struct LogicalAnd {
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) & (b != 0); }
};
struct LogicalOr {
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) | (b != 0); }
};
struct LogicalXor {
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return (a != 0) ^ (b != 0); }
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
void abs_plain(const void* pa, const void*, const void*, void* po, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  T* out = static_cast<T*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] < T(0) ? T(Wrap<T>(0) - Wrap<T>(a[i])) : a[i];
}
template <class T>
void square_plain(const void* pa, const void*, const void*, void* po, int64_t n) {
  const T* a = static_cast<const T*>(pa);
  T* out = static_cast<T*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = T(Wrap<T>(a[i]) * Wrap<T>(a[i]));
}
template <class T>
void clip_plain(const void* px, const void* plow, const void* phigh, void* po, int64_t n) {
  const T *x = static_cast<const T*>(px), *low = static_cast<const T*>(plow), *high = static_cast<const T*>(phigh);
  T* out = static_cast<T*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const T raised = x[i] > low[i] ? x[i] : low[i];
    out[i] = raised < high[i] ? raised : high[i];
  }
}
void not_plain(const void* pa, const void*, const void*, void* po, int64_t n) {
  const uint8_t* a = static_cast<const uint8_t*>(pa);
  uint8_t* out = static_cast<uint8_t*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] == 0;
}

template <class T>
void fill_integer(Kernels* k, int dtype) {
  k->element[kAdd][dtype] = binary_plain<T, T, IntAdd>;
  k->element[kSubtract][dtype] = binary_plain<T, T, IntSubtract>;
  k->element[kMultiply][dtype] = binary_plain<T, T, IntMultiply>;
  k->element[kMaximum][dtype] = binary_plain<T, T, IntMaximum>;
  k->element[kNegative][dtype] = negative_plain<T>;
  k->element[kRelu][dtype] = relu_plain<T>;
  k->element[kMinimum][dtype] = binary_plain<T, T, IntMinimum>;
  k->element[kAbs][dtype] = abs_plain<T>;
  k->element[kSquare][dtype] = square_plain<T>;
  k->element[kClip][dtype] = clip_plain<T>;
}
template <class T>
void fill_compare(Kernels* k, int dtype) {
  k->element[kEqual][dtype] = binary_plain<T, uint8_t, Equal>;
  k->element[kLess][dtype] = binary_plain<T, uint8_t, Less>;
  k->element[kNotEqual][dtype] = binary_plain<T, uint8_t, NotEqual>;
  k->element[kGreater][dtype] = binary_plain<T, uint8_t, Greater>;
  k->element[kGreaterEqual][dtype] = binary_plain<T, uint8_t, GreaterEqual>;
  k->element[kLessEqual][dtype] = binary_plain<T, uint8_t, LessEqual>;
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
  k->element[kNotEqual][OAR_DTYPE_BOOL] = k->element[kNotEqual][OAR_DTYPE_U8];
  k->element[kLogicalAnd][OAR_DTYPE_BOOL] = binary_plain<uint8_t, uint8_t, LogicalAnd>;
  k->element[kLogicalOr][OAR_DTYPE_BOOL] = binary_plain<uint8_t, uint8_t, LogicalOr>;
  k->element[kLogicalXor][OAR_DTYPE_BOOL] = binary_plain<uint8_t, uint8_t, LogicalXor>;
  k->element[kLogicalNot][OAR_DTYPE_BOOL] = not_plain;
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
