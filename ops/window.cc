#include "window.h"

#define EIGEN_DONT_PARALLELIZE  // one thread: the same sum in the same order on every machine
#include <Eigen/Core>
#include <algorithm>

#include "elementwise.h"

namespace oarlock::op {

// ---- shapes -------------------------------------------------------------------------------------------------------------
WindowAxis window_axis(const Attrs& a, WindowLists at, int axis, int axes) {
  const oar_attr_t& p = a[at.padding];
  bool two = p.is_set && p.count > 1 && int(p.count) == 2 * axes;
  return {a.at(at.stride, axis, 1), two ? p.value.ints[axis] : a.at(at.padding, axis, 0),
          two ? p.value.ints[axes + axis] : a.at(at.padding, axis, 0), a.at(at.dilation, axis, 1)};
}

bool window_lists(InferCall& c, WindowLists at, int kernel, int axes) {
  if (axes > kMaxWindowAxes)
    return c.fail(c.input_text(0) + " with " + std::to_string(axes) +
                  " axes behind [N, C]; windows slide over at most " + std::to_string(kMaxWindowAxes));
  for (int i : {at.stride, at.padding, at.dilation, kernel}) {
    if (i < 0) continue;
    int n = int(c.attrs[i].count);
    if (n == 1 || n == axes || (i == at.padding && n == 2 * axes)) continue;
    return c.fail(std::string(c.def.attributes[i].name) + " has " + std::to_string(n) + " entries, " + c.input_text(0) +
                  " with " + std::to_string(axes) + " axes behind [N, C]. Give 1 or " + std::to_string(axes) +
                  (i == at.padding ? ", or " + std::to_string(2 * axes) + " for beginnings and ends" : ""));
  }
  return true;
}

Dim windows_that_fit(Dim n, Dim kernel, WindowAxis w, bool partial) {
  Dim span = (kernel - 1) * w.dilation + 1, all = n + w.before + w.after;
  if (!all.known() || !span.known()) {
    int64_t over = span.known() ? std::min<int64_t>(w.after + w.stride - span.n, 0) : 0;
    if (partial) return (n + w.before + (over + w.stride - 1)) / w.stride;  // operator- would stop at 0
    return (all - span) / w.stride + 1;
  }
  int64_t over = std::min<int64_t>(w.after + w.stride - span.n, 0);
  int64_t room = partial ? n.n + w.before + over : all.n - span.n + w.stride;
  return room <= 0 ? 0 : partial ? (room + w.stride - 1) / w.stride : room / w.stride;
}
bool count_windows(InferCall& c, Dim n, Dim kernel, WindowAxis w, bool partial, int axis, const std::string& what,
                   Dim& out_count) {
  if (kernel.n == 0)
    return c.fail("a window has no taps along axis " + std::to_string(axis) + ": " + what + ". Give at least 1");
  out_count = windows_that_fit(n, kernel, w, partial);
  if (out_count.n == 0 && n.n > 0)
    return c.fail("a window of " + to_string((kernel - 1) * w.dilation + 1) + " does not fit into " +
                  to_string(n + w.before + w.after) + " along axis " + std::to_string(axis) + ": " + what +
                  ". Take a smaller one, or more padding");
  return true;
}

bool same_windows(InferCall& c, int j, std::span<const Dim> size, std::span<const Dim> kernel, WindowLists at,
                  bool partial, std::string_view size_name) {
  const Shape& y = *c.in[j];
  int axes = int(size.size());
  Shape given;
  given.push(size.data(), axes);
  std::string what = std::string(size_name) + " is " + to_string(given);
  if (axes != y.rank - 2)
    return c.fail(what + ", " + c.input_text(j) + ". Give " + std::to_string(y.rank - 2) + " sizes");
  for (int i = 0; i < axes; ++i) {
    if (size[size_t(i)].n == kRest) return c.fail(what + ": a size is not negative");
    Dim n = 0;
    if (!count_windows(c, size[size_t(i)], kernel[size_t(i)], window_axis(c.attrs, at, i, axes), partial, i + 2, what,
                       n))
      return false;
    if (!c.agree(n, y[i + 2], "number of windows along axis " + std::to_string(i + 2), j, -1)) return false;
  }
  return true;
}

void infer_pooling(InferCall& c, WindowLists at, int kernel, bool partial) {
  const Shape& x = *c.in[0];
  int axes = x.rank - 2;
  if (!window_lists(c, at, kernel, axes)) return;
  Shape& out = c.open(0);
  for (int i = 0; i < axes; ++i) {
    Dim n = 0;
    if (!count_windows(c, x[i + 2], c.attrs.at(kernel, i, 1), window_axis(c.attrs, at, i, axes), partial, i + 2,
                       c.input_text(0), n))
      return;
    out.push(n);
  }
}

// ---- kernels ------------------------------------------------------------------------------------------------------------
Windows::Windows(const int64_t* in, const int64_t* kernel, const int64_t* out, int axes, const Attrs& attrs,
                 WindowLists lists) {
  for (int i = 0; i < axes; ++i) {
    taps *= kernel[i];
    places *= out[i];
    plane *= in[i];
  }
  at.resize(size_t(taps * places));
  WindowAxis w[kMaxRank];
  for (int i = 0; i < axes; ++i) w[i] = window_axis(attrs, lists, i, axes);
  int64_t* to = at.data();
  for (Walk t(kernel, axes); t.more(); t.next())
    for (Walk p(out, axes); p.more(); p.next()) {
      int64_t place = 0;
      bool inside = true;
      for (int i = 0; i < axes; ++i) {
        int64_t k = p.index[i] * w[i].stride - w[i].before + t.index[i] * w[i].dilation;
        inside &= k >= 0 && k < in[i];
        place = place * in[i] + k;
      }
      *to++ = inside ? place : -1;
    }
}

std::vector<int64_t> counts_of(const Windows& windows, const int64_t* in, const int64_t* kernel, const int64_t* out,
                               int axes, const Attrs& attrs, WindowLists lists, bool padding) {
  std::vector<int64_t> counts;
  counts.reserve(size_t(windows.places));
  for (Walk p(out, axes); p.more(); p.next()) {
    int64_t n = 1;
    for (int i = 0; i < axes; ++i) {
      WindowAxis w = window_axis(attrs, lists, i, axes);
      int64_t start = p.index[i] * w.stride - w.before, low = padding ? -w.before : 0;
      int64_t high = padding ? in[i] + w.after : in[i], here = 0;
      for (int64_t t = 0; t < kernel[i]; ++t) here += start + t * w.dilation >= low && start + t * w.dilation < high;
      n *= here;
    }
    counts.push_back(n);
  }
  return counts;
}

template <class Acc>
std::vector<Acc> dense(const oar_view_t& v) {
  std::vector<Acc> out(size_t(count(v)));
  if (row_major(v) && dtype(v) == DType::f32) std::copy_n(elements<const float>(v), out.size(), out.begin());
  else if (row_major(v) && dtype(v) == DType::f64) std::copy_n(elements<const double>(v), out.size(), out.begin());
  else {
    size_t n = 0;
    for (Walk w(v); w.more(); w.next()) out[n++] = load<Acc>(v, offset(v, w.index, v.n_dims));
  }
  return out;
}
template <class Acc>
void store_dense(const oar_view_t& v, const std::vector<Acc>& from) {
  if (row_major(v) && dtype(v) == DType::f32) std::copy_n(from.begin(), from.size(), elements<float>(v));
  else if (row_major(v) && dtype(v) == DType::f64) std::copy_n(from.begin(), from.size(), elements<double>(v));
  else {
    size_t n = 0;
    for (Walk w(v); w.more(); w.next()) store<Acc>(v, offset(v, w.index, v.n_dims), from[n++]);
  }
}
template std::vector<double> dense<double>(const oar_view_t&);
template std::vector<int64_t> dense<int64_t>(const oar_view_t&);
template std::vector<uint64_t> dense<uint64_t>(const oar_view_t&);
template void store_dense<double>(const oar_view_t&, const std::vector<double>&);
template void store_dense<int64_t>(const oar_view_t&, const std::vector<int64_t>&);
template void store_dense<uint64_t>(const oar_view_t&, const std::vector<uint64_t>&);

namespace {
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
using In = Eigen::Map<const Matrix, 0, Strides>;
using Out = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
}  // namespace

Convolution::Convolution(const oar_view_t& x, const oar_view_t& w, const oar_view_t& y, int64_t groups,
                         const Attrs& attrs, WindowLists lists)
    : windows_(x.shape + 2, w.shape + 2, y.shape + 2, x.n_dims - 2, attrs, lists),
      images_(x.shape[0]),
      groups_(groups),
      in_(x.shape[1] / groups),
      out_(y.shape[1] / groups),
      rows_(in_ * windows_.taps),
      block_(std::clamp<int64_t>((1 << 18) / std::max<int64_t>(rows_, 1), 16, 4096)) {}

template <class F>
void Convolution::each_block(F f) const {
  if (rows_ == 0 || out_ == 0) return;
  for (int64_t n = 0; n < images_; ++n)
    for (int64_t g = 0; g < groups_; ++g)
      for (int64_t first = 0; first < windows_.places; first += block_)
        f(n, g, first, std::min(block_, windows_.places - first));
}

void Convolution::gather(const double* x, int64_t first, int64_t n, double* columns) const {
  for (int64_t c = 0; c < in_; ++c, x += windows_.plane)
    for (int64_t t = 0; t < windows_.taps; ++t, columns += n) {
      const int64_t* at = windows_.tap(t) + first;
      for (int64_t i = 0; i < n; ++i) columns[i] = at[i] < 0 ? 0 : x[at[i]];
    }
}

void Convolution::forward(const std::vector<double>& x, const std::vector<double>& w, std::vector<double>& y) const {
  std::vector<double> columns(size_t(rows_ * block_));
  each_block([&](int64_t image, int64_t group, int64_t first, int64_t n) {
    int64_t place = image * groups_ + group;
    gather(x.data() + place * in_ * windows_.plane, first, n, columns.data());
    Out(y.data() + place * out_ * windows_.places + first, out_, n, Eigen::OuterStride<>(windows_.places)).noalias() +=
        In(w.data() + group * out_ * rows_, out_, rows_, Strides(rows_, 1)) *
        In(columns.data(), rows_, n, Strides(n, 1));
  });
}

void Convolution::to_input(const std::vector<double>& dy, const std::vector<double>& w, std::vector<double>& dx) const {
  std::vector<double> columns(size_t(rows_ * block_));
  each_block([&](int64_t image, int64_t group, int64_t first, int64_t n) {
    int64_t place = image * groups_ + group;
    Out(columns.data(), rows_, n, Eigen::OuterStride<>(n)).noalias() =
        In(w.data() + group * out_ * rows_, rows_, out_, Strides(1, rows_)) *
        In(dy.data() + place * out_ * windows_.places + first, out_, n, Strides(windows_.places, 1));
    double* to = dx.data() + place * in_ * windows_.plane;
    const double* from = columns.data();
    for (int64_t c = 0; c < in_; ++c, to += windows_.plane)
      for (int64_t t = 0; t < windows_.taps; ++t, from += n) {
        const int64_t* at = windows_.tap(t) + first;
        for (int64_t i = 0; i < n; ++i)
          if (at[i] >= 0) to[at[i]] += from[i];
      }
  });
}

void Convolution::to_weight(const std::vector<double>& dy, const std::vector<double>& x,
                            std::vector<double>& dw) const {
  std::vector<double> columns(size_t(rows_ * block_));
  each_block([&](int64_t image, int64_t group, int64_t first, int64_t n) {
    int64_t place = image * groups_ + group;
    gather(x.data() + place * in_ * windows_.plane, first, n, columns.data());
    Out(dw.data() + group * out_ * rows_, out_, rows_, Eigen::OuterStride<>(rows_)).noalias() +=
        In(dy.data() + place * out_ * windows_.places + first, out_, n, Strides(windows_.places, 1)) *
        In(columns.data(), n, rows_, Strides(1, n));
  });
}

}  // namespace oarlock::op
