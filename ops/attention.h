// What attention and its gradient share.
#pragma once
#include <cmath>
#include <optional>

#include "rules.h"

namespace oarlock::op {

// q k^T * scale, with -infinity where a query must not look, in at least f32. scale: none is 1 / sqrt(E).
inline Tensor attention_scores(const Tensor& q, const Tensor& k, const Tensor& mask, bool causal, const Tensor& scale) {
  DType t = at_least_f32(q.dtype());
  Tensor s = as(matmul(multiply(q, scale), matrix_transpose(k)), t);
  Tensor never = number(-INFINITY, s);
  if (mask) s = mask.dtype() == DType::boolean ? where(mask, s, never) : add(s, as(mask, t));
  if (causal) {
    const Shape& shape = s.shape();
    Tensor row = arange(shape[shape.rank - 2]), column = arange(shape[shape.rank - 1]);
    s = where(less_equal(column, unsqueeze(row, {-1})), s, never);
  }
  return s;
}
inline std::optional<double> given_scale(const Attrs& attrs) {  // attribute 1 of both
  return attrs.none(1) ? std::nullopt : std::optional(attrs.real(1));
}
inline Tensor attention_scale(const Tensor& q, std::optional<double> given) {
  Dim width = q.shape()[q.rank() - 1];
  if (given || width.n == 0) return number(given.value_or(1), q);
  if (width.known()) return number(1 / std::sqrt(double(width.n)), q);
  return divide(number(1, q), sqrt(number(width, q)));
}
// x [..., A, B] with all the sizes before the last two that `others`, with `behind` axes each, broadcast to.
inline Tensor with_batch_of(const Tensor& x, std::initializer_list<std::pair<const Tensor*, int>> others) {
  Shape full = x.shape();
  for (auto [t, behind] : others) {
    if (!*t) continue;
    const Shape& s = t->shape();
    while (full.rank - 2 < s.rank - behind) {
      full.push(1);
      for (int i = full.rank - 1; i > 0; --i) full.d[i] = full.d[i - 1];
      full.d[0] = 1;
    }
    for (int i = 0; i < s.rank - behind; ++i) {
      Dim& d = full.d[full.rank - 2 - (s.rank - behind) + i];
      if (d.n == 1) d = s[i];
    }
  }
  return full == x.shape() ? x : expand(x, full);
}
// exp(scores - total), at most 1, and 0 in rows that look nowhere: their total, the logarithm of a sum of exponentials, is -infinity.
inline Tensor attention_weights(const Tensor& scores, const Tensor& total) {
  Tensor t = unsqueeze(total, {-1}), none = equal(t, number(-INFINITY, t)), zero = number(0, t);
  return exp(minimum(subtract(scores, where(none, zero, t)), zero));
}

}  // namespace oarlock::op
