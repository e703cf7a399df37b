// where over dense blocks. The condition is bool; values move as bits, so one kernel serves all dtypes of a size.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "select.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class T>
void where(const void* pc, const void* pa, const void* pb, void* po, int64_t n) {
  const uint8_t* c = static_cast<const uint8_t*>(pc);
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  T* out = static_cast<T*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const T x = a[i], y = b[i];  // both read, or the loop would not vectorise
    out[i] = c[i] != 0 ? x : y;
  }
}

}  // namespace

void select_table(Kernels* k) {
  for (int dtype = 0; dtype < kDtypes; ++dtype) {
    switch (size_of(dtype)) {
      case 1: k->element[kWhere][dtype] = where<uint8_t>; break;
      case 2: k->element[kWhere][dtype] = where<uint16_t>; break;
      case 4: k->element[kWhere][dtype] = where<uint32_t>; break;
      case 8: k->element[kWhere][dtype] = where<uint64_t>; break;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(select_table);
void select_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(select_table)(out); }
}  // namespace oarlock::simd
#endif
