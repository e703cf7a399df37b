#include "core/op/opdef.h"
namespace oarlock::op::conv_weight_gradient_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "conv_weight_gradient",
    .summary = "The gradient of conv with respect to w, linear in dy and in x. size: of w behind [O, C/groups]. The "
               "other attributes are those of conv.",
    .source = "Dumoulin and Visin 2016, A guide to convolution arithmetic for deep learning, chapter 4",
    .inputs = {{"dy", "[N, O, *E]"}, {"x", "[N, C, *D]"}},
    .outputs = {{"dw", "[O, C/groups, *size]"}},
    .types = {{"T", kFloat}},
    .attributes = {dims("size"), integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), integer("groups", 1).at_least(1)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"x", "dy"}, {"dy", "x"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"two axes", "N=2 O=2 E=3x5 C=3 D=5x4", "size=3,2 padding=1 stride=2,1"},
              {"padded at the end only", "N=1 O=1 E=4x4 C=1 D=4x4", "size=2,2 padding=0,0,1,1"},
              {"what no window reaches", "N=1 O=2 E=2 C=2 D=6", "size=2 stride=3"},
              {"groups", "N=1 O=6 E=4 C=4 D=6", "size=3 groups=2"},
              {"spread", "N=1 O=2 E=3x1 C=2 D=7x7", "size=3,3 dilation=2,3"},
              {"three axes", "N=1 O=2 E=2x3x2 C=2 D=3x4x3", "size=2,2,2"},
              {"no images", "N=0 O=3 E=4 C=2 D=5", "size=2"},
              {"no results", "N=2 O=0 E=4 C=2 D=5", "size=2"},
              {"nothing but padding", "N=1 O=3 E=1 C=2 D=0", "size=2 padding=1"},
              {"no channels", "N=1 O=3 E=4 C=0 D=5", "size=2"}},
});
}  // namespace oarlock::op::conv_weight_gradient_

#include "rules.h"
#include "window.h"
namespace oarlock::op::conv_weight_gradient_ {
static constexpr WindowLists kLists{1, 2, 3};
static void infer(InferCall& c) {
  const Shape &dy = *c.in[0], &x = *c.in[1];
  int64_t groups = c.attrs.integer(4);
  auto size = c.attrs.dims(0);
  if (x.rank != dy.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1)));
  if (!window_lists(c, kLists, -1, dy.rank - 2)) return;
  if (dy[1].known() && dy[1].n % groups)
    return void(c.fail("O is not a multiple of groups: " + c.input_text(0) + " (O=" + to_string(dy[1]) +
                       "), groups=" + std::to_string(groups)));
  int axes = x.rank - 2;
  Shape given;
  given.push(size.data(), int(size.size()));
  std::string what = "size is " + to_string(given) + ", " + c.input_text(1);
  if (given.rank != axes) return void(c.fail(what + ". Give " + std::to_string(axes) + " sizes"));
  for (int i = 0; i < axes; ++i) {
    Dim n = 0;
    if (given[i].n == kRest) return void(c.fail(what + ": a size is not negative"));
    if (!count_windows(c, x[i + 2], given[i], window_axis(c.attrs, kLists, i, axes), false, i + 2, what, n)) return;
    if (!c.agree(n, dy[i + 2], "number of windows along axis " + std::to_string(i + 2), 0, -1)) return;
  }
}
static void gradient(GradientCall& c) {
  const Tensor& d = c.dout(0);
  auto stride = c.attrs.integers(1), padding = c.attrs.integers(2), dilation = c.attrs.integers(3);
  int64_t groups = c.attrs.integer(4);
  if (c.wants(0)) c.set(0, conv(c.in(1), d, {}, stride, padding, dilation, groups));
  if (!c.wants(1)) return;
  const Shape& x = c.in(1).shape();
  Shape size;
  size.push(x.d + 2, x.rank - 2);
  c.set(1, conv_input_gradient(c.in(0), d, size, stride, padding, dilation, groups));
}
static void decompose(RuleCall& c) {
  const Tensor &dy = c.in(0), &x = c.in(1);
  const Shape& s = dy.shape();
  int64_t groups = c.attrs.integer(4);
  auto size = c.attrs.dims(0);
  WindowPlan plan(c.attrs, kLists, size);
  Tensor rows = window_rows(unfolded(x, plan, 0, {}), plan.axes, groups);
  Shape split{s[0], groups, s[1] / groups}, out{s[1], x.shape()[1] / groups};
  int64_t order[kMaxRank] = {1, 2, 0};
  Dim places = s[0];
  for (int i = 2; i < s.rank; ++i) {
    split.push(s[i]);
    order[i + 1] = i + 1;
    places = places * s[i];
    out.push(size[size_t(i) - 2]);
  }
  Tensor by_channel = permute(reshape(dy, split), std::span<const int64_t>(order, size_t(s.rank) + 1));
  c.set(0, reshape(matmul(reshape(by_channel, {groups, s[1] / groups, places}), rows), out));
}
static void reference(KernelCall& c) {
  const oar_view_t &dy = c.in(0), &x = c.in(1), &dw = c.out(0);
  std::vector<double> sum(size_t(count(dw)));
  Convolution(x, dw, dy, c.attrs.integer(4), c.attrs, kLists).to_weight(dense<double>(dy), dense<double>(x), sum);
  store_dense(dw, sum);
}
}  // namespace oarlock::op::conv_weight_gradient_
