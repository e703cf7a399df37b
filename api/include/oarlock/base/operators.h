// a + b, a * 2.0 and the like. A number takes the dtype of the tensor beside it, unless its kind is higher: a fraction
// beside integers makes f32.
#pragma once
#include <cmath>

#include <oarlock/base/ops.h>

namespace oarlock {

namespace detail {
// A rank-0 tensor for `value` beside t, on t's device.
OAR_EXPORT Tensor beside(const Tensor& t, double value);
}  // namespace detail

#define OAR_OPERATOR(symbol, function)                                                                   \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return function(a, b); }             \
  inline Tensor operator symbol(const Tensor& a, double b) { return function(a, detail::beside(a, b)); } \
  inline Tensor operator symbol(double a, const Tensor& b) { return function(detail::beside(b, a), b); }
OAR_OPERATOR(+, add)
OAR_OPERATOR(-, subtract)
OAR_OPERATOR(*, multiply)
OAR_OPERATOR(/, divide)
#undef OAR_OPERATOR
inline Tensor operator-(const Tensor& a) { return negative(a); }

}  // namespace oarlock
