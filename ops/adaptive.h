// The windows of adaptive pooling along one axis: window i of E over D elements is [floor(i * D / E), ceil((i + 1) * D / E)).
#pragma once
#include "rules.h"

namespace oarlock::op {

// Every window is D / E elements, known and whole: then it is an ordinary pooling. lengths: of the windows.
inline bool equal_windows(const Shape& x, std::span<const Dim> size, int64_t* lengths) {
  for (int i = 0; i < int(size.size()); ++i) {
    Dim n = x[i + 2], e = size[size_t(i)];
    if (!n.known() || !e.known() || n.n == 0 || e.n == 0 || n.n % e.n) return false;
    lengths[i] = n.n / e.n;
  }
  return true;
}

// Reduces axis `axis` of x window by window: f(elements [E, L, ...], inside bool[E, L, 1...]) reduces axis 1.
template <class F>
Tensor by_windows(const Tensor& x, int axis, Dim size, F f) {
  Dim n = x.shape()[axis];
  int64_t swap[kMaxRank];
  for (int i = 0; i < x.rank(); ++i) swap[i] = i == 0 ? axis : i == axis ? 0 : i;
  std::span<const int64_t> swapped(swap, size_t(x.rank()));
  // Places by counting, without a division: j lies before window i if (j + 1) * E <= i * D, and before its end if
  // j * E < (i + 1) * D.
  Tensor i = unsqueeze(arange(size), {-1}), j = arange(n), one = number(1, i), d = number(n, i), e = number(size, i);
  Tensor first = sum(cast(less_equal(multiply(add(j, one), e), multiply(i, d)), DType::i64), {1}, true);
  Tensor end = sum(cast(less(multiply(j, e), multiply(add(i, one), d)), DType::i64), {1}, true);
  Dim longest = size.n == 0 ? Dim(0) : (n + (size - 1)) / size + 1;
  Tensor place = add(first, arange(longest)), inside = less(place, end);
  Tensor rows = gather(permute(x, swapped), where(inside, place, first));
  return permute(f(rows, with_axes_behind(inside, x.rank() - 1)), swapped);
}

// .infer: attribute 0 is the list of sizes.
inline void infer_adaptive(InferCall& c) {
  const Shape& x = *c.in[0];
  auto size = c.attrs.dims(0);
  if (int(size.size()) != x.rank - 2)
    return void(c.fail("size has " + std::to_string(size.size()) + " entries, " + c.input_text(0) + ". Give " +
                       std::to_string(x.rank - 2)));
  for (Dim d : size)
    if (d.n == kRest) return void(c.fail("a size is negative: " + c.input_text(0)));
}

}  // namespace oarlock::op
