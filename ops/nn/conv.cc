#include "core/op/opdef.h"
namespace oarlock::op::conv_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "conv",
    .summary = "Convolution (cross-correlation: the window is not turned) over the axes behind [N, C], any number of "
               "them, padded with zeros. padding: an entry for each axis pads both ends; two for each axis are all "
               "beginnings, then all ends; one entry is for all. Group g of the outputs reads group g of the channels.",
    .source = "ONNX operator set 11, Conv; weights as torch.nn.Conv2d",
    .inputs = {{"x", "[N, C, *D]"}, {"w", "[O, C/groups, *K]"}, {"bias", "[O]", optional}},
    .outputs = {{"out", "[N, O, *E]"}},
    .types = {{"T", kFloat}},
    .attributes = {integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), integer("groups", 1).at_least(1)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"w", "x"}, {"x", "w"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 D=5x4 O=2 K=3x2", "padding=1 stride=2,1"},
              {"padded at the end only", "N=1 C=1 D=4x4 O=1 K=2x2", "padding=0,0,1,1"},
              {"groups", "N=1 C=4 D=6 O=6 K=3", "groups=2"},
              {"each channel alone", "N=2 C=3 D=4x4 O=3 K=3x3", "groups=3 padding=1 dilation=1"},
              {"spread", "N=1 C=2 D=7x7 O=2 K=3x3", "dilation=2,3"},
              {"three axes", "N=1 C=2 D=3x4x3 O=2 K=2x2x2"},
              {"no images", "N=0 C=2 D=5 O=3 K=2"},
              {"no channels", "N=2 C=0 D=5 O=3 K=2"},
              {"nothing but padding", "N=1 C=2 D=0 O=3 K=2", "padding=1"},
              {"no results", "N=1 C=2 D=3 O=0 K=2"}},
});
}  // namespace oarlock::op::conv_

#include "rules.h"
#include "window.h"
namespace oarlock::op::conv_ {
static constexpr WindowLists kLists{0, 1, 2};
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &w = *c.in[1];
  int axes = x.rank - 2;
  int64_t groups = c.attrs.integer(3);
  if (w.rank != x.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1)));
  if (!window_lists(c, kLists, -1, axes)) return;
  if (w[0].known() && w[0].n % groups)
    return void(c.fail("O is not a multiple of groups: " + c.input_text(1) + " (O=" + to_string(w[0]) +
                       "), groups=" + std::to_string(groups)));
  Shape& out = c.open(0);
  for (int i = 0; i < axes; ++i) {
    Dim n = 0;
    if (!count_windows(c, x[i + 2], w[i + 2], window_axis(c.attrs, kLists, i, axes), false, i + 2,
                       c.input_text(0) + ", " + c.input_text(1), n))
      return;
    out.push(n);
  }
}
static void gradient(GradientCall& c) {
  const Tensor& d = c.dout(0);
  auto stride = c.attrs.integers(0), padding = c.attrs.integers(1), dilation = c.attrs.integers(2);
  int64_t groups = c.attrs.integer(3);
  auto behind = [](const Shape& s) {
    Shape out;
    out.push(s.d + 2, s.rank - 2);
    return out;
  };
  if (c.wants(0)) c.set(0, conv_input_gradient(d, c.in(1), behind(c.in(0).shape()), stride, padding, dilation, groups));
  if (c.wants(1))
    c.set(1, conv_weight_gradient(d, c.in(0), behind(c.in(1).shape()), stride, padding, dilation, groups));
  if (c.count() > 2 && c.wants(2)) {
    int64_t axes[kMaxRank] = {0};
    for (int i = 1; i < d.rank() - 1; ++i) axes[i] = i + 1;
    c.set(2, sum(d, std::span<const int64_t>(axes, size_t(d.rank()) - 1)));
  }
}
static void decompose(RuleCall& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  const Shape& s = w.shape();
  int64_t groups = c.attrs.integer(3);
  WindowPlan plan(c.attrs, kLists, {s.d + 2, size_t(s.rank) - 2});
  Tensor all = unfolded(x, plan, 0, {});
  Tensor rows = window_rows(all, plan.axes, groups);
  Tensor weights = reshape(w, {groups, s[0] / groups, rows.shape()[2]});
  Tensor out =
      rows_to_images(matmul(rows, permute(weights, {0, 2, 1})), x.shape()[0], {all.shape().d + 2, size_t(plan.axes)});
  c.set(0, c.has(2) ? add(out, with_axes_behind(c.in(2), plan.axes)) : out);
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &w = c.in(1), &out = c.out(0);
  std::vector<double> y(size_t(count(out)));
  if (c.has(2)) {
    std::vector<double> bias = dense<double>(c.in(2));
    int64_t channels = out.shape[1], places = 1;
    for (int i = 2; i < out.n_dims; ++i) places *= out.shape[i];
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias[size_t(int64_t(i) / places % channels)];
  }
  Convolution(x, w, out, c.attrs.integer(3), c.attrs, kLists).forward(dense<double>(x), dense<double>(w), y);
  store_dense(out, y);
}
}  // namespace oarlock::op::conv_
