// Ops along one axis or some: where the axes go, and loops over the lanes of a view.
#pragma once
#include <algorithm>

#include "elementwise.h"
#include "rules.h"

namespace oarlock::op {

// The order of axes that puts some last, the others before them as they were.
struct AxesLast {
  int rank;
  int64_t there[kMaxRank], back[kMaxRank];
  AxesLast(int rank, std::span<const int64_t> axes) : rank(rank) {
    int n = 0;
    for (int i = 0; i < rank; ++i)
      if (std::find(axes.begin(), axes.end(), i) == axes.end()) there[n++] = i;
    for (int64_t a : axes) there[n++] = a;
    for (int i = 0; i < rank; ++i) back[there[i]] = i;
  }
  Tensor of(const Tensor& x) const { return permute(x, std::span<const int64_t>(there, size_t(rank))); }
  Tensor undone(const Tensor& x) const { return permute(x, std::span<const int64_t>(back, size_t(rank))); }
};

// x with axis `from` moved to place `to`.
inline Tensor axis_moved(const Tensor& x, int from, int to) {
  int64_t axes[kMaxRank];
  int n = 0;
  for (int i = 0; i < x.rank(); ++i)
    if (i != from) axes[n++] = i;
  std::copy_backward(axes + to, axes + n, axes + n + 1);
  axes[to] = from;
  return permute(x, std::span<const int64_t>(axes, size_t(x.rank())));
}

// `size` elements of one axis from `start` on.
inline Tensor part(const Tensor& x, int axis, Dim start, Dim size) {
  Shape starts, sizes = x.shape();
  for (int i = 0; i < sizes.rank; ++i) starts.push(0);
  starts.d[axis] = start;
  sizes.d[axis] = size;
  return slice(x, starts, sizes);
}
// out[i] = x[i - by] along an axis, 0 where there is none; by is 1 or -1.
inline Tensor shifted(const Tensor& x, int axis, int by) {
  Shape before, after;
  for (int i = 0; i < x.rank(); ++i) {
    before.push(i == axis && by > 0 ? 1 : 0);
    after.push(i == axis && by < 0 ? 1 : 0);
  }
  return part(pad(x, before, after), axis, by > 0 ? 0 : 1, x.shape()[axis]);
}

// Calls f(index) once for each lane of v along an axis; index[axis] is 0.
template <class F>
void each_lane(const oar_view_t& v, int axis, F f) {
  int64_t shape[kMaxRank] = {};
  std::copy_n(v.shape, v.n_dims, shape);
  shape[axis] = std::min<int64_t>(shape[axis], 1);
  for (Walk w(shape, v.n_dims); w.more(); w.next()) f(static_cast<const int64_t*>(w.index));
}

// The order that sorting uses: NaN is the greatest.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_same_v<T, double>) return a < b || (b != b && a == a);
  else return a < b;
}

}  // namespace oarlock::op
