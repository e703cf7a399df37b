// The row steps of attention and its gradient: dense f32 scores to weights, and weights to the scores' gradient.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "math-inl.h"
#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// x * scale, then -infinity behind the row: its exponential is 0 whatever the scale's sign.
HWY_INLINE V load_scaled(D d, const float* x, int64_t left, V scale) {
  if (left >= static_cast<int64_t>(hn::Lanes(d))) return hn::Mul(hn::LoadU(d, x), scale);
  return hn::IfThenElse(hn::FirstN(d, left), hn::Mul(load_part(d, x, left), scale),
                        hn::Set(d, -std::numeric_limits<float>::infinity()));
}

float weights(float* row, int64_t n, float scale) {
  const D d;
  const int64_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, scale);
  V most = load_scaled(d, row, n, by);
  for (int64_t i = lanes; i < n; i += lanes) most = hn::Max(most, load_scaled(d, row + i, n - i, by));
  const float top = hn::GetLane(hn::MaxOfLanes(d, most));
  if (top == -std::numeric_limits<float>::infinity()) {
    std::fill_n(row, n, 0.0f);
    return top;
  }
  const V level = hn::Set(d, top);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += 64 * lanes) {  // sums in f32 over 64 vectors, then in double
    const int64_t end = std::min(n, begin + 64 * lanes);
    V sum = hn::Zero(d);
    for (int64_t i = begin; i < end; i += lanes) {
      const V e = exp_full(d, hn::Sub(load_scaled(d, row + i, n - i, by), level));
      sum = hn::Add(sum, e);
      if (n - i >= lanes) hn::StoreU(e, d, row + i);
      else store_part(e, d, row + i, n - i);
    }
    total += hn::GetLane(hn::SumOfLanes(d, sum));
  }
  const V part = hn::Set(d, static_cast<float>(1 / total));
  map(d, row, row, n, [part](V v) HWY_ATTR { return hn::Mul(v, part); });
  return static_cast<float>(top + std::log(total));
}

template <bool Whole>
HWY_INLINE void gradient_step(D d, float* row, float* dp, int64_t left, V by, V level, V middle) {
  const V s = hn::Sub(hn::Mul(load_lanes<Whole>(d, row, left), by), level);
  // At most 1 by its meaning, whatever rounding says; not Min, which may lose NaN.
  const V p = exp_full(d, hn::IfThenElse(hn::Gt(s, hn::Zero(d)), hn::Zero(d), s));
  const V ds = hn::Mul(hn::Mul(p, hn::Sub(load_lanes<Whole>(d, dp, left), middle)), by);
  store_lanes<Whole>(p, d, row, left);
  store_lanes<Whole>(ds, d, dp, left);
}
void gradient(float* row, float* dp, int64_t n, float scale, float log_sum, float along) {
  const D d;
  const int64_t lanes = hn::Lanes(d);
  if (log_sum == -std::numeric_limits<float>::infinity()) {
    std::fill_n(row, n, 0.0f);
    std::fill_n(dp, n, 0.0f);
    return;
  }
  const V by = hn::Set(d, scale), level = hn::Set(d, log_sum), middle = hn::Set(d, along);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) gradient_step<true>(d, row + i, dp + i, lanes, by, level, middle);
  if (i < n) gradient_step<false>(d, row + i, dp + i, n - i, by, level, middle);
}

}  // namespace

void attention_table(Kernels* k) { k->attention = {weights, gradient}; }

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(attention_table);
void attention_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(attention_table)(out); }
}  // namespace oarlock::simd
#endif
