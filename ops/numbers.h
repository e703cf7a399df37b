// Numbers that belong to a dtype.
#pragma once
#include <cfloat>

#include "rules.h"

namespace oarlock::op {

// The step from 1 to the next number of a float dtype.
inline double epsilon(DType t) {
  return t == DType::f64 ? 0x1p-52 : t == DType::f32 ? 0x1p-23 : t == DType::f16 ? 0x1p-10 : 0x1p-7;
}
// The largest finite number of a float dtype.
inline double largest(DType t) {
  return t == DType::f64 ? DBL_MAX : t == DType::f32 ? FLT_MAX : t == DType::f16 ? 65504 : 0x1.fep127;
}
// An integer with every bit turned around: it orders them the other way round, and none overflows as -x does.
inline Tensor inverted(const Tensor& x) {
  bool has_sign = set_of(x.dtype()) & kSigned;
  return subtract(number(has_sign ? -1.0 : 0x1p64, x), x);  // 2^64 is cast to the largest
}

}  // namespace oarlock::op
