// exp, log, tanh and erf of vectors of f32 and f64 (erf: f32 alone), right at every input: infinities, NaN, zeros of
// either sign, denormals. exp, log and tanh are Highway's (1, 4 and 4 ulp) with the arguments outside its valid range
// put right.
#if defined(OARLOCK_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OARLOCK_SIMD_MATH_INL_H_
#undef OARLOCK_SIMD_MATH_INL_H_
#else
#define OARLOCK_SIMD_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Horner's rule, highest power first.
template <class D, class V>
HWY_INLINE V polynomial(D, V, V sum) {
  return sum;
}
template <class D, class V, class... Rest>
HWY_INLINE V polynomial(D d, V x, V sum, hn::TFromD<D> next, Rest... rest) {
  return polynomial(d, x, hn::MulAdd(sum, x, hn::Set(d, next)), rest...);
}

template <class D, class V>
HWY_INLINE V exp_full(D d, V x) {
  using T = hn::TFromD<D>;
  const V high = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 88.72283935546875 : 709.78271289338397));
  const V y = hn::IfThenElse(hn::Gt(x, high), hn::Set(d, std::numeric_limits<T>::infinity()), hn::Exp(d, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V>
HWY_INLINE V log_full(D d, V x) {
  using T = hn::TFromD<D>;
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), x, y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V>
HWY_INLINE V tanh_full(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
}

// Abramowitz and Stegun 7.1: the odd series' form x p(x^2) up to |x| = 1, and 1 - exp(-t q(t)) above, where q stands
// for -log(erfc(t)) / t. p and q are our own minimax fits (relative error 2^-29 and 2^-31 in exact arithmetic) on [0,
// 1] and [1, 4]; from 3.93 on the result rounds to 1.
template <class D, class V>
HWY_INLINE V erf_full(D d, V x) {
  const V t = hn::Min(hn::Abs(x), hn::Set(d, 4.0f));
  const V s = hn::Mul(x, x);
  const V p = polynomial(d, s, hn::Set(d, 7.853851e-05f), -0.0008010191f, 0.0051883273f, -0.026853811f, 0.112835854f,
                         -0.37612626f, 0.12837917f);
  const V small = hn::MulAdd(p, x, x);
  const V q = polynomial(d, t, hn::Set(d, 1.3962747e-05f), -0.00035059504f, 0.003757489f, -0.024010094f, 0.1065309f,
                         0.63496953f, 0.12869434f);
  const V large = hn::Sub(hn::Set(d, 1.0f), hn::Exp(d, hn::Neg(hn::MulAdd(q, t, t))));
  const V y = hn::IfThenElse(hn::Lt(t, hn::Set(d, 1.0f)), small, hn::CopySign(large, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();
#endif
