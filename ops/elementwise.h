// Reference loops of elementwise ops and of reductions: any strides, the widest type inside, and a plain loop where operands
// are row-major f32 or f64.
#pragma once
#include <cmath>
#include <cstdint>

#include "core/op/calls.h"
#include "core/op/element.h"

namespace oarlock::op {

inline bool row_major(const oar_view_t& v) {
  int64_t n = 1;
  for (int i = v.n_dims - 1; i >= 0; --i) {
    if (v.shape[i] != 1 && v.strides[i] != n) return false;
    n *= v.shape[i];
  }
  return true;
}
inline bool same_shape(const oar_view_t& a, const oar_view_t& b) {
  if (a.n_dims != b.n_dims) return false;
  for (int i = 0; i < a.n_dims; ++i)
    if (a.shape[i] != b.shape[i]) return false;
  return true;
}
// What every element of dtype t is at least: where a maximum starts.
template <class Acc>
Acc lowest(DType t) {
  if (set_of(t) & kFloat) return Acc(-INFINITY);
  return set_of(t) & kUnsigned ? Acc(0) : Acc(-(int64_t(1) << (info(t).bits - 2)) * 2);
}
template <class T>
T* elements(const oar_view_t& v) {
  return reinterpret_cast<T*>(static_cast<char*>(v.data) + v.byte_offset);
}

// Integer results wrap: compute in the unsigned type.
template <class Acc, class F>
Acc wrapping(Acc a, Acc b, F f) {
  if constexpr (std::is_same_v<Acc, double>) return f(a, b);
  else return Acc(f(uint64_t(a), uint64_t(b)));
}

// out = f(x) in double.
template <class F>
void unary_reference(KernelCall& c, F f) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  bool plain = x.dtype == out.dtype && row_major(x) && row_major(out);
  int64_t n = count(out);
  if (plain && dtype(x) == DType::f32) {
    const float* from = elements<float>(x);
    float* to = elements<float>(out);
    for (int64_t i = 0; i < n; ++i) to[i] = float(f(double(from[i])));
  } else if (plain && dtype(x) == DType::f64) {
    const double* from = elements<double>(x);
    double* to = elements<double>(out);
    for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
  } else {
    for (Walk w(out); w.more(); w.next())
      store<double>(out, offset(out, w.index, out.n_dims), f(load<double>(x, offset(x, w.index, out.n_dims))));
  }
}

// The same in the widest type of x's dtype; f takes and gives double, int64_t or uint64_t.
template <class F>
void unary_numeric_reference(KernelCall& c, F f) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  if (set_of(dtype(x)) & kFloat) return unary_reference(c, f);
  with_accumulator(dtype(x), [&](auto acc) {
    using Acc = decltype(acc);
    for (Walk w(out); w.more(); w.next())
      store<Acc>(out, offset(out, w.index, out.n_dims), f(load<Acc>(x, offset(x, w.index, out.n_dims))));
  });
}

// out = f(a, b) in the widest type of a's dtype; f takes two of double, int64_t or uint64_t and gives one of them or a bool.
template <class F>
void binary_reference(KernelCall& c, F f) {
  const oar_view_t &a = c.in(0), &b = c.in(1), &out = c.out(0);
  bool plain = a.dtype == b.dtype && a.dtype == out.dtype && same_shape(a, out) && same_shape(b, out) && row_major(a) &&
               row_major(b) && row_major(out);
  int64_t n = count(out);
  if (plain && dtype(a) == DType::f32) {
    const float *x = elements<float>(a), *y = elements<float>(b);
    float* to = elements<float>(out);
    for (int64_t i = 0; i < n; ++i) to[i] = float(f(double(x[i]), double(y[i])));
  } else if (plain && dtype(a) == DType::f64) {
    const double *x = elements<double>(a), *y = elements<double>(b);
    double* to = elements<double>(out);
    for (int64_t i = 0; i < n; ++i) to[i] = double(f(x[i], y[i]));
  } else {
    with_accumulator(dtype(a), [&](auto acc) {
      using Acc = decltype(acc);
      for (Walk w(out); w.more(); w.next()) {
        auto v = f(load<Acc>(a, offset(a, w.index, out.n_dims)), load<Acc>(b, offset(b, w.index, out.n_dims)));
        int64_t at = offset(out, w.index, out.n_dims);
        if constexpr (std::is_same_v<decltype(v), bool>) store<int64_t>(out, at, v);
        else store<Acc>(out, at, v);
      }
    });
  }
}

// Calls each(index of the result, offset in x) for every element of x, x's last axis fastest. axes: those reduced.
// The result may keep them as size 1 or not.
struct Reduction {
  int64_t out_strides[kMaxRank];  // of the result, by x's axes; 0 where reduced
  Reduction(const oar_view_t& x, const oar_view_t& out, std::span<const int64_t> axes) {
    bool kept = out.n_dims == x.n_dims;
    for (int i = 0, k = 0; i < x.n_dims; ++i) {
      bool reduced = false;
      for (int64_t a : axes) reduced |= a == i;
      out_strides[i] = reduced ? 0 : out.strides[kept ? i : k];
      k += !reduced;
    }
  }
};

// Folds x over `axes` into out: acc = first; acc = f(acc, element) in x's order.
template <class First, class F>
void reduction_reference(const oar_view_t& x, const oar_view_t& out, std::span<const int64_t> axes, First first, F f) {
  int rank = x.n_dims;
  int64_t outer[kMaxRank], inner[kMaxRank], outer_x[kMaxRank], outer_out[kMaxRank], inner_x[kMaxRank];
  int n_outer = 0, n_inner = 0;
  Reduction r(x, out, axes);
  for (int i = 0; i < rank; ++i) {
    bool reduced = false;
    for (int64_t a : axes) reduced |= a == i;
    if (reduced) {
      inner[n_inner] = x.shape[i];
      inner_x[n_inner++] = x.strides[i];
    } else {
      outer[n_outer] = x.shape[i];
      outer_x[n_outer] = x.strides[i];
      outer_out[n_outer++] = r.out_strides[i];
    }
  }
  with_accumulator(dtype(x), [&](auto zero) {
    using Acc = decltype(zero);
    for (Walk o(outer, n_outer); o.more(); o.next()) {
      int64_t at_x = 0, at_out = 0;
      for (int i = 0; i < n_outer; ++i) {
        at_x += o.index[i] * outer_x[i];
        at_out += o.index[i] * outer_out[i];
      }
      Acc acc = first(zero);
      for (Walk w(inner, n_inner); w.more(); w.next()) {
        int64_t at = at_x;
        for (int i = 0; i < n_inner; ++i) at += w.index[i] * inner_x[i];
        acc = f(acc, load<Acc>(x, at));
      }
      store<Acc>(out, at_out, acc);
    }
  });
}

}  // namespace oarlock::op
