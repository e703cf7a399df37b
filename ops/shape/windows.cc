#include "core/op/opdef.h"
namespace oarlock::op::windows_ {
static ViewRule view;
static GradientRule gradient;

extern constinit const OpDef def = define({
    .name = "windows",
    .summary = "All windows of `size` elements along an axis: that axis counts them, and a new last axis goes through "
               "each. Windows start "
               "every step elements and take every dilation-th. The result shares x's elements.",
    .source = "numpy.lib.stride_tricks.sliding_window_view; torch.Tensor.unfold",
    .inputs = {{"x", "[*S]"}},
    .outputs = {{"out", "[*R]"}},
    .types = {{"T", kAny | kStorage}},
    .attributes = {dim("size").at_least(1), axis("axis", -1), integer("step", 1).at_least(1),
                   integer("dilation", 1).at_least(1)},
    .view = view,
    .gradient = gradient,
    .cases = {{"overlapping", "S=2x7", "size=3"},
              {"too short", "S=2", "size=3"},
              {"spread", "S=9x2", "size=3 axis=0 step=2 dilation=2"}},
});
}  // namespace oarlock::op::windows_

#include "rules.h"
namespace oarlock::op::windows_ {
static bool view(ViewCall& c) {
  Dim size = c.attrs.dim(0);
  int axis = int(c.attrs.integer(1));
  int64_t step = c.attrs.integer(2), dilation = c.attrs.integer(3);
  if (c.in.rank == kMaxRank) return c.fail(c.input_text() + ", and one axis more is too many");
  Dim n = c.in[axis], span = (size - 1) * dilation + 1;
  c.out = c.in;
  c.out.d[axis] = n.known() && span.known() && n.n < span.n ? Dim(0) : (n - span) / step + 1;
  c.out.push(size);
  if (c.in_strides) {
    std::copy_n(c.in_strides, c.in.rank, c.out_strides);
    bool one = c.out(axis) <= 1;  // its stride is never used, and might overflow
    c.out_strides[axis] = one ? c.in_strides[axis] : c.in_strides[axis] * step;
    c.out_strides[c.in.rank] = size.n == 1 || c.out(axis) == 0 ? c.in_strides[axis] : c.in_strides[axis] * dilation;
  }
  return true;
}
static void gradient(GradientCall& c) {  // every element gets what its windows got
  const Shape& in = c.in(0).shape();
  int rank = in.rank, axis = int(c.attrs.integer(1));
  const Tensor& d = c.dout(0);
  Dim windows = d.shape()[axis], size = d.shape()[rank];
  Tensor start = reshape(arange(windows), {windows, 1}), inside = arange(size);
  Tensor index = add(multiply(start, number(double(c.attrs.integer(2)), start)),
                     multiply(inside, number(double(c.attrs.integer(3)), inside)));
  int64_t first[kMaxRank + 1] = {axis, rank}, back[kMaxRank];
  int at = 2;
  Shape shape{in[axis]};
  for (int i = 0; i < rank; ++i) {
    if (i == axis) continue;
    shape.push(in[i]);
    first[at++] = i;
  }
  for (int i = 0; i < rank; ++i) back[i] = i == axis ? 0 : i < axis ? i + 1 : i;
  Tensor updates = permute(d, std::span<const int64_t>(first, size_t(rank) + 1));
  c.set(0,
        permute(scatter_add(full(shape, 0, d.dtype()), index, updates), std::span<const int64_t>(back, size_t(rank))));
}
}  // namespace oarlock::op::windows_
