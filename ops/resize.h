// Where each element of a resized axis reads, and with what weight: what resize and its gradient share.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "elementwise.h"
#include "window.h"

namespace oarlock::op {

struct ResizeTaps {
  std::array<int64_t, 4> at;
  std::array<double, 4> weight;
  int count = 0;
  void add(int64_t index, double w, int64_t n) {  // edges repeat; what has no weight is not read, it might be infinite
    if (w == 0) return;
    at[size_t(count)] = std::clamp<int64_t>(index, 0, n - 1);
    weight[size_t(count++)] = w;
  }
};

inline int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Taps of all `out` elements of an axis of n. The source coordinate is kept as a fraction, so that roundings are exact.
inline std::vector<ResizeTaps> resize_taps(int64_t n, int64_t out, std::string_view mode, std::string_view coordinates,
                                           std::string_view rounding) {
  std::vector<ResizeTaps> all(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    int64_t above = i * n, below = out;  // asymmetric
    if (coordinates == "align_corners") {
      above = out == 1 ? 0 : i * (n - 1);
      below = std::max<int64_t>(out - 1, 1);
    } else if (coordinates == "half_pixel" || out > 1) {
      if (coordinates != "asymmetric") above = (2 * i + 1) * n - out, below = 2 * out;
    } else if (coordinates == "pytorch_half_pixel") {
      above = 0;
    }
    ResizeTaps& t = all[size_t(i)];
    if (mode == "nearest") {
      int64_t at = rounding == "floor"               ? floor_of(above, below)
                   : rounding == "ceil"              ? -floor_of(-above, below)
                   : rounding == "round_prefer_ceil" ? floor_of(2 * above + below, 2 * below)
                                                     : -floor_of(below - 2 * above, 2 * below);
      t.add(at, 1, n);
      continue;
    }
    if (mode == "linear") above = std::clamp<int64_t>(above, 0, (n - 1) * below);
    int64_t first = floor_of(above, below);
    double f = double(above - first * below) / double(below);
    if (mode == "linear") {
      t.add(first, 1 - f, n);
      t.add(first + 1, f, n);
    } else {  // Keys 1981 with a = -0.75
      constexpr double a = -0.75;
      auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
      auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      t.add(first - 1, far(f + 1), n);
      t.add(first, near(f), n);
      t.add(first + 1, near(1 - f), n);
      t.add(first + 2, far(2 - f), n);
    }
  }
  return all;
}

// .infer of both: attribute 0 is the sizes behind [N, C].
inline void infer_resize(InferCall& c) {
  const Shape& x = *c.in[0];
  auto size = c.attrs.dims(0);
  if (int(size.size()) != x.rank - 2)
    return void(c.fail("size has " + std::to_string(size.size()) + " entries, " + c.input_text(0) + ". Give " +
                       std::to_string(x.rank - 2)));
  for (int i = 0; i < x.rank - 2; ++i) {
    Dim d = size[size_t(i)];
    if (d.n == kRest) return void(c.fail("a size is negative: " + c.input_text(0)));
    if ((x[i + 2].n == 0) != (d.n == 0) && d.known() && x[i + 2].known())
      return void(c.fail("nothing can't be resized to something, nor back: " + c.input_text(0) + ", size " +
                         to_string(d) + " at axis " + std::to_string(i + 2)));
  }
}

// Axis by axis, in double. forward: from x; else from the gradient of the result, of sizes `result`.
inline void resize_axes(KernelCall& c, bool forward) {
  const oar_view_t &in = c.in(0), &out = c.out(0);
  std::vector<double> data = dense<double>(in);
  int64_t shape[kMaxRank]{};
  std::copy_n(in.shape, in.n_dims, shape);
  for (int axis = 2; axis < in.n_dims; ++axis) {
    int64_t outer = 1, inner = 1, n = in.shape[axis], m = out.shape[axis];
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < in.n_dims; ++i) inner *= shape[i];
    shape[axis] = m;
    std::vector<double> next(size_t(outer * m * inner));
    if (n && m) {
      auto taps = resize_taps(forward ? n : m, forward ? m : n, c.attrs.text(1), c.attrs.text(2), c.attrs.text(3));
      for (int64_t o = 0; o < outer; ++o)
        for (size_t i = 0; i < taps.size(); ++i)
          for (int k = 0; k < taps[i].count; ++k) {
            int64_t from = forward ? taps[i].at[size_t(k)] : int64_t(i),
                    to = forward ? int64_t(i) : taps[i].at[size_t(k)];
            const double* source = data.data() + (o * n + from) * inner;
            double* target = next.data() + (o * m + to) * inner;
            for (int64_t j = 0; j < inner; ++j) target[j] += taps[i].weight[size_t(k)] * source[j];
          }
    }
    data = std::move(next);
  }
  store_dense(out, data);
}

}  // namespace oarlock::op
