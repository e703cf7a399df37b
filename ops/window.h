// Windows that slide over the axes behind [N, C]: what convolutions and poolings share. Along each axis a window has
// `kernel` taps, `dilation` elements apart; windows start `stride` elements apart, the first one `before` elements outside.
#pragma once
#include <cstdint>
#include <vector>

#include "core/op/calls.h"
#include "core/op/element.h"

namespace oarlock::op {

// A window is a view with two axes for each axis behind [N, C], and groups take one more: that has to fit into 16.
inline constexpr int kMaxWindowAxes = 6;

// Where an op has its lists among the attributes. An entry of `padding` for each axis pads both of its ends, two for each
// axis are all beginnings, then all ends (as in ONNX); one entry is for all of them.
struct WindowLists {
  int stride, padding, dilation;
};
struct WindowAxis {
  int64_t stride, before, after, dilation;
};
WindowAxis window_axis(const Attrs& a, WindowLists at, int axis, int axes);

// For .infer: do the lists have entries for so many axes? kernel: another list, by position, or -1.
bool window_lists(InferCall& c, WindowLists at, int kernel, int axes);
// How many windows fit along an axis of n elements.
Dim windows_that_fit(Dim n, Dim kernel, WindowAxis w, bool partial);
// The same for .infer. partial (ceil_mode): a last one may reach over the end, but not start behind the last element and
// the padding before the first; PyTorch and ONNX (operator set 16 with its errata) agree on that. None if n is 0 and too
// few. Fails if a window is longer than what there is. what: "x is [1, 3, 4, 4]".
bool count_windows(InferCall& c, Dim n, Dim kernel, WindowAxis w, bool partial, int axis, const std::string& what,
                   Dim& out_count);
// For .infer of gradients: did `size` give the windows that input j has from its axis 2 on?
bool same_windows(InferCall& c, int j, std::span<const Dim> size, std::span<const Dim> kernel, WindowLists at,
                  bool partial, std::string_view size_name);

// .infer of a pooling: its windows are the open name. kernel: by position.
void infer_pooling(InferCall& c, WindowLists at, int kernel, bool partial);

// Every tap of every window: its place in a plane of x (row-major), or -1 in the padding.
struct Windows {
  int64_t taps = 1, places = 1, plane = 1;
  std::vector<int64_t> at;  // [taps][places]
  // Sizes of the axes: of x, of a window, and of the result.
  Windows(const int64_t* in, const int64_t* kernel, const int64_t* out, int axes, const Attrs& attrs,
          WindowLists lists);
  const int64_t* tap(int64_t t) const { return at.data() + t * places; }
};

// How many taps of each window count for a mean: those on elements, and with `padding` also those in the padding.
std::vector<int64_t> counts_of(const Windows& w, const int64_t* in, const int64_t* kernel, const int64_t* out, int axes,
                               const Attrs& attrs, WindowLists lists, bool padding);

// All elements in row-major order, in the accumulator's type; and back.
template <class Acc>
std::vector<Acc> dense(const oar_view_t& v);
template <class Acc>
void store_dense(const oar_view_t& v, const std::vector<Acc>& from);

// -- Decompositions: windows as views, so that a device needs no kernel of its own for these ops.
struct WindowPlan {
  int axes = 0;
  WindowAxis axis[kMaxRank];
  Dim kernel[kMaxRank];
  WindowPlan(const Attrs& a, WindowLists at, std::span<const Dim> kernel);
};
// [N, C, *D] as [N, C, *E, *K]: windows of x with fill around it; count: how many along each axis, if not all that fit (one
// more may reach over the end).
Tensor unfolded(const Tensor& x, const WindowPlan& plan, double fill, std::span<const Dim> count);
// [N, G * C, *E, *K] as rows [G, N * E, C * K] of a product.
Tensor window_rows(const Tensor& unfolded, int axes, int64_t groups);
// [G, N * E, O] as [N, G * O, *E].
Tensor rows_to_images(const Tensor& rows, Dim images, std::span<const Dim> places);
// How many elements of each window count for a mean, [*E] in dtype t: those of the image, with padding also those in it;
// at least 1.
Tensor window_counts(std::span<const Dim> size, const WindowPlan& plan, bool padding, std::span<const Dim> count,
                     DType t);

// A convolution as matrix products, image by image and group by group: columns hold what the taps read. Sums in double.
class Convolution {
 public:
  // Views of x, w and the result, or of what has their shapes.
  Convolution(const oar_view_t& x, const oar_view_t& w, const oar_view_t& y, int64_t groups, const Attrs& attrs,
              WindowLists lists);
  void forward(const std::vector<double>& x, const std::vector<double>& w, std::vector<double>& y) const;  // y += ...
  void to_input(const std::vector<double>& dy, const std::vector<double>& w, std::vector<double>& dx) const;
  void to_weight(const std::vector<double>& dy, const std::vector<double>& x, std::vector<double>& dw) const;

 private:
  template <class F>
  void each_block(F f) const;  // f(image, group, first place, count)
  void gather(const double* x, int64_t first, int64_t n, double* columns) const;

  Windows windows_;
  int64_t images_, groups_, in_, out_;  // channels in and out, of one group
  int64_t rows_, block_;                // rows of the columns; places in a block
};

}  // namespace oarlock::op
