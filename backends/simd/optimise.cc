// adam_update, adamw_update, rmsprop_update and adagrad_update in place, of f32 and f64: one pass over memory instead of
// one for each of a dozen ops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

// The vector at a place of an operand, or its first lanes.
template <class T, bool Whole>
struct Lanes {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  int64_t at, left;
  HWY_INLINE V get(const void* from) const { return load_lanes<Whole>(D(), static_cast<const T*>(from) + at, left); }
  HWY_INLINE void put(V v, void* to) const { store_lanes<Whole>(v, D(), static_cast<T*>(to) + at, left); }
  static HWY_INLINE V set(double value) { return hn::Set(D(), static_cast<T>(value)); }
  // weight * old + (1 - weight) * now
  static HWY_INLINE V mixed(V old, V now, double weight) {
    return hn::MulAdd(old, set(weight), hn::Mul(now, set(1 - weight)));
  }
};

struct Adam {
  template <class L>
  HWY_INLINE void operator()(const OptimiserStep& s, const L& l) const {
    auto p = l.get(s.p), g = l.get(s.g);
    if (s.decay != 0) {  // nothing of p may reach g where decay is 0, not even 0 * infinity
      if (s.decoupled) p = hn::Sub(p, hn::Mul(p, L::set(s.rate * s.decay)));
      else g = hn::MulAdd(p, L::set(s.decay), g);
    }
    const auto m = L::mixed(l.get(s.a), g, s.beta1);
    auto v = L::mixed(l.get(s.b), hn::Mul(g, g), s.beta2);
    l.put(m, s.a);
    l.put(v, s.b);
    if (s.c != nullptr) {
      const auto most = l.get(s.c);
      v = hn::IfThenElse(hn::Or(hn::Le(v, most), hn::IsNaN(most)), most, v);
      l.put(v, s.c);
    }
    const auto size = hn::Add(hn::Div(hn::Sqrt(v), L::set(s.root)), L::set(s.epsilon));
    l.put(hn::Sub(p, hn::Mul(L::set(s.ratio), hn::Div(m, size))), s.p);
  }
};
struct Rmsprop {
  template <class L>
  HWY_INLINE void operator()(const OptimiserStep& s, const L& l) const {
    const auto p = l.get(s.p);
    auto g = l.get(s.g);
    if (s.decay != 0) g = hn::MulAdd(p, L::set(s.decay), g);
    const auto before = l.get(s.a);
    auto v = L::mixed(before, hn::Mul(g, g), s.beta1);
    l.put(v, s.a);
    if (s.b != nullptr) {  // as the op's decomposition: no cancellation of the new gradient
      const auto mean = l.get(s.b), away = hn::Sub(g, mean);
      const auto spread = hn::MulAdd(hn::Mul(away, away), L::set(1 - s.beta1), hn::NegMulAdd(mean, mean, before));
      v = hn::Max(hn::Mul(spread, L::set(s.beta1)), L::set(0));
      l.put(L::mixed(mean, g, s.beta1), s.b);
    }
    auto move = hn::Div(g, hn::Add(hn::Sqrt(v), L::set(s.epsilon)));
    if (s.c != nullptr) {
      move = hn::MulAdd(l.get(s.c), L::set(s.beta2), move);
      l.put(move, s.c);
    }
    l.put(hn::Sub(p, hn::Mul(L::set(s.rate), move)), s.p);
  }
};
struct Adagrad {
  template <class L>
  HWY_INLINE void operator()(const OptimiserStep& s, const L& l) const {
    const auto p = l.get(s.p);
    auto g = l.get(s.g);
    if (s.decay != 0) g = hn::MulAdd(p, L::set(s.decay), g);
    const auto total = hn::MulAdd(g, g, l.get(s.a));
    l.put(total, s.a);
    const auto move = hn::Div(g, hn::Add(hn::Sqrt(total), L::set(s.epsilon)));
    l.put(hn::Sub(p, hn::Mul(L::set(s.rate), move)), s.p);
  }
};

template <class T, class F>
void step(const OptimiserStep& s, int64_t n) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) F()(s, Lanes<T, true>{i, lanes});
  if (i < n) F()(s, Lanes<T, false>{i, n - i});
}

template <class T>
OptimiserKernels kernels() {
  return {{step<T, Adam>, step<T, Rmsprop>, step<T, Adagrad>}};
}

}  // namespace

void optimise_table(Kernels* k) {
  k->optimise_f32 = kernels<float>();
  k->optimise_f64 = kernels<double>();
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(optimise_table);
void optimise_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(optimise_table)(out); }
}  // namespace oarlock::simd
#endif
