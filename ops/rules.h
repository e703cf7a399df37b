// What the rules half of an op file includes: the calls, elements, the typed functions of every op, and the few things that
// many rules say.
#pragma once
#include <numbers>

#include <oarlock/base/ops.h>

#include "core/op/calls.h"
#include "core/op/element.h"

namespace oarlock::op {

// A number of x's dtype, to combine with x. Ops without a tensor operand, called in a rule, work on the device of the call.
inline Tensor number(double v, const Tensor& x) { return full({}, v, x.dtype()); }
// The same for a size, which need not be known yet.
inline Tensor number(Dim d, const Tensor& x) {
  return d.known() ? full({}, double(d.n), x.dtype()) : dim_value(d, x.dtype());
}
inline Tensor as(const Tensor& x, DType t) { return x.dtype() == t ? x : cast(x, t); }
// x, but f32 for f16 and bf16: sums of halves overflow, and a count of elements may be more than they hold.
inline Tensor wide(const Tensor& x) { return as(x, at_least_f32(x.dtype())); }
inline Tensor zeros_like(const Tensor& x) { return full(x.shape(), 0, x.dtype()); }

// The shape with size 1 at every reduced axis.
inline Shape kept_shape(const Shape& s, std::span<const int64_t> axes) {
  Shape out = s;
  for (int64_t a : axes) out.d[a] = 1;
  return out;
}

// All axes but `kept`, and how many elements they hold.
struct Axes {
  int64_t list[kMaxRank];
  size_t count = 0;
  Dim elements = 1;
  Axes(const Shape& s, int kept) {
    for (int i = 0; i < s.rank; ++i)
      if (i != kept) {
        list[count++] = i;
        elements = elements * s[i];
      }
  }
  operator Integers() const { return std::span<const int64_t>(list, count); }
};
// [C] as [C, 1, ...], with so many axes behind it.
inline Tensor with_axes_behind(const Tensor& x, int n) {
  Shape s = x.shape();
  for (int i = 0; i < n; ++i) s.push(1);
  return n ? reshape(x, s) : x;
}

// .infer of every reduction: attributes 0 and 1 are axes and keepdims, open name 0 is the result's shape.
inline void infer_reduction(InferCall& c) {
  Shape& out = c.open(0);
  uint32_t reduced = 0;
  for (int64_t a : c.attrs.integers(0)) reduced |= 1u << a;
  for (int i = 0; i < c.in[0]->rank; ++i) {
    if (!(reduced >> i & 1)) out.push(c.in[0]->d[i]);
    else if (c.attrs.flag(1)) out.push(1);
  }
}

}  // namespace oarlock::op
