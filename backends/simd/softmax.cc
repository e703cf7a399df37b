// softmax, log_softmax and log(sum(exp)) of dense rows of f32. The maximum is taken off first; sums of exponentials run
// in vectors of f32 and every 64 vectors in double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softmax.cc"
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

// What lies behind the row reads as -infinity, whose exponential is 0.
HWY_INLINE V load_row(D d, const float* x, int64_t left) {
  const int64_t lanes = hn::Lanes(d);
  if (left >= lanes) return hn::LoadU(d, x);
  return hn::IfThenElse(hn::FirstN(d, left), load_part(d, x, left),
                        hn::Set(d, -std::numeric_limits<float>::infinity()));
}

// NaN anywhere makes the sum below NaN, so here it need not win.
float row_max(const float* x, int64_t n) {
  const D d;
  const int64_t lanes = hn::Lanes(d);
  V most = load_row(d, x, n);
  for (int64_t i = lanes; i < n; i += lanes) most = hn::Max(most, load_row(d, x + i, n - i));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// Stores the exponentials where out is not NULL.
double sum_exp(const float* x, int64_t n, float most, float* out) {
  const D d;
  const int64_t lanes = hn::Lanes(d);
  const V top = hn::Set(d, most);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += 64 * lanes) {
    const int64_t end = std::min(n, begin + 64 * lanes);
    V sum = hn::Zero(d);
    for (int64_t i = begin; i < end; i += lanes) {
      const V e = exp_full(d, hn::Sub(load_row(d, x + i, n - i), top));
      sum = hn::Add(sum, e);
      if (out == nullptr) continue;
      if (n - i >= lanes) hn::StoreU(e, d, out + i);
      else store_part(e, d, out + i, n - i);
    }
    total += hn::GetLane(hn::SumOfLanes(d, sum));
  }
  return total;
}

void softmax(const float* x, float* out, int64_t n) {
  const D d;
  const V scale = hn::Set(d, static_cast<float>(1.0 / sum_exp(x, n, row_max(x, n), out)));
  map(d, out, out, n, [scale](V v) HWY_ATTR { return hn::Mul(v, scale); });
}

void log_softmax(const float* x, float* out, int64_t n) {
  const D d;
  const float most = row_max(x, n);
  const V top = hn::Set(d, most);
  const V log_sum = hn::Set(d, static_cast<float>(std::log(sum_exp(x, n, most, nullptr))));
  map(d, x, out, n, [top, log_sum](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, top), log_sum); });
}

float log_sum_exp(const float* x, int64_t n) {
  const float most = row_max(x, n);
  return static_cast<float>(most + std::log(sum_exp(x, n, most, nullptr)));
}

}  // namespace

void softmax_table(Kernels* k) { k->rows = {softmax, log_softmax, log_sum_exp}; }

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(softmax_table);
void softmax_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(softmax_table)(out); }
}  // namespace oarlock::simd
#endif
