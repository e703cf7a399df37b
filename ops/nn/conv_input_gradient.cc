#include "core/op/opdef.h"
namespace oarlock::op::conv_input_gradient_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "conv_input_gradient",
    .summary = "The gradient of conv with respect to x, linear in dy and in w; a transposed convolution. size: of x "
               "behind [N, C]. The other attributes are those of conv.",
    .source = "Dumoulin and Visin 2016, A guide to convolution arithmetic for deep learning, chapter 4",
    .inputs = {{"dy", "[N, O, *E]"}, {"w", "[O, C, *K]"}},
    .outputs = {{"dx", "[N, C*groups, *size]"}},
    .types = {{"T", kFloat}},
    .attributes = {dims("size"), integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), integer("groups", 1).at_least(1)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"w", "dy"}, {"dy", "w"}},
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"two axes", "N=2 O=2 E=3x5 C=3 K=3x2", "size=5,4 padding=1 stride=2,1"},
              {"padded at the end only", "N=1 O=1 E=4x4 C=1 K=2x2", "size=4,4 padding=0,0,1,1"},
              {"what no window reaches", "N=1 O=2 E=2 C=2 K=2", "size=6 stride=3"},
              {"groups", "N=1 O=6 E=4 C=2 K=3", "size=6 groups=2"},
              {"spread", "N=1 O=2 E=3x1 C=2 K=3x3", "size=7,7 dilation=2,3"},
              {"three axes", "N=1 O=2 E=2x3x2 C=2 K=2x2x2", "size=3,4,3"},
              {"no images", "N=0 O=3 E=4 C=2 K=2", "size=5"},
              {"no results", "N=2 O=0 E=4 C=2 K=2", "size=5"},
              {"to nothing", "N=1 O=3 E=1 C=2 K=2", "size=0 padding=1"},
              {"no channels", "N=1 O=3 E=4 C=0 K=2", "size=5"}},
});
}  // namespace oarlock::op::conv_input_gradient_

#include "rules.h"
#include "window.h"
namespace oarlock::op::conv_input_gradient_ {
static constexpr WindowLists kLists{1, 2, 3};
static void infer(InferCall& c) {
  const Shape &dy = *c.in[0], &w = *c.in[1];
  int64_t groups = c.attrs.integer(4);
  if (w.rank != dy.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1)));
  if (!window_lists(c, kLists, -1, dy.rank - 2)) return;
  if (w[0].known() && w[0].n % groups)
    return void(c.fail("O is not a multiple of groups: " + c.input_text(1) + " (O=" + to_string(w[0]) +
                       "), groups=" + std::to_string(groups)));
  same_windows(c, 0, c.attrs.dims(0), {w.d + 2, size_t(w.rank) - 2}, kLists, false, "size");
}
static void gradient(GradientCall& c) {
  const Tensor& d = c.dout(0);
  auto stride = c.attrs.integers(1), padding = c.attrs.integers(2), dilation = c.attrs.integers(3);
  int64_t groups = c.attrs.integer(4);
  if (c.wants(0)) c.set(0, conv(d, c.in(1), {}, stride, padding, dilation, groups));
  if (!c.wants(1)) return;
  const Shape& w = c.in(1).shape();
  Shape size;
  size.push(w.d + 2, w.rank - 2);
  c.set(1, conv_weight_gradient(c.in(0), d, size, stride, padding, dilation, groups));
}
// dy spread out by the stride, in as much nothing as the windows of dx reach over, read by the weights turned around.
static void decompose(RuleCall& c) {
  const Tensor &dy = c.in(0), &w = c.in(1);
  const Shape& s = w.shape();
  int64_t groups = c.attrs.integer(4);
  auto size = c.attrs.dims(0);
  WindowPlan plan(c.attrs, kLists, {s.d + 2, size_t(s.rank) - 2});
  Shape before{0, 0}, after{0, 0}, starts{0, 0}, kept{dy.shape()[0], dy.shape()[1]};
  int64_t between[kMaxRank] = {0, 0}, turned[kMaxRank];
  for (int i = 0; i < plan.axes; ++i) {
    WindowAxis& a = plan.axis[i];
    Dim n = dy.shape()[i + 2], reach = (plan.kernel[i] - 1) * a.dilation, want = size[size_t(i)] + reach;
    Dim have = n == 0 ? Dim(0) : (n - 1) * a.stride + 1, first = reach - a.before, last = want - have - first,
        skipped = 0;
    if (reach.known() && want.known() && have.known()) {  // differences of sizes stop at 0
      int64_t begin = reach.n - a.before, end = want.n - have.n - begin;
      first = std::max<int64_t>(begin, 0);
      skipped = std::max<int64_t>(-begin, 0);  // that much of dy is never read
      last = std::max<int64_t>(end, 0);
    }
    before.push(first);
    after.push(last);
    starts.push(skipped);
    kept.push(want);
    between[i + 2] = a.stride - 1;
    turned[i] = i + 2;
    a.stride = 1;
    a.before = a.after = 0;
  }
  size_t axes = size_t(plan.axes);
  Tensor spread = pad(dy, before, after, std::span<const int64_t>(between, axes + 2));
  if (!(spread.shape() == kept)) spread = slice(spread, starts, kept);
  Tensor rows = window_rows(unfolded(spread, plan, 0, {}), plan.axes, groups);
  Shape split{groups, s[0] / groups};
  split.push(s.d + 1, s.rank - 1);
  int64_t order[kMaxRank] = {0, 1};
  for (int i = 0; i < plan.axes; ++i) order[i + 2] = i + 3;
  order[axes + 2] = 2;
  Tensor weights = reshape(axes ? flip(w, std::span<const int64_t>(turned, axes)) : w, split);
  weights = reshape(permute(weights, std::span<const int64_t>(order, axes + 3)), {groups, rows.shape()[2], s[1]});
  c.set(0, rows_to_images(matmul(rows, weights), dy.shape()[0], size));
}
static void reference(KernelCall& c) {
  const oar_view_t &dy = c.in(0), &w = c.in(1), &dx = c.out(0);
  std::vector<double> sum(size_t(count(dx)));
  Convolution(dx, w, dy, c.attrs.integer(4), c.attrs, kLists).to_input(dense<double>(dy), dense<double>(w), sum);
  store_dense(dx, sum);
}
}  // namespace oarlock::op::conv_input_gradient_
