#include "core/op/opdef.h"
namespace oarlock::op::avg_pool_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "avg_pool",
    .summary = "Mean of each window that slides over the axes behind [N, C]. count_include_pad: over the elements and "
               "the padding, which is 0, else over the elements alone; what ceil_mode lets a window reach over the "
               "padding is never counted. A window without anything to count gives 0. The rest is as of max_pool.",
    .source = "ONNX operator set 22, AveragePool",
    .inputs = {{"x", "[N, C, *D]"}},
    .outputs = {{"out", "[N, C, *E]"}},
    .types = {{"T", kFloat}},
    .attributes = {integers("kernel").at_least(1).at_most(INT32_MAX),
                   integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), flag("ceil_mode", false),
                   flag("count_include_pad", false)},
    .infer = infer,
    .gradient = gradient,
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 D=5x4", "kernel=3,2 stride=2 padding=1"},
              {"what is over the padding does not count", "N=1 C=1 D=4x4",
               "kernel=3 stride=2 padding=1 dilation=1 ceil_mode=true count_include_pad=true"},
              {"elements alone", "N=1 C=1 D=4x4",
               "kernel=3 stride=2 padding=1 dilation=1 ceil_mode=true count_include_pad=false"},
              {"padded at the end only", "N=1 C=1 D=4x4", "kernel=2 stride=1 padding=0,0,1,1"},
              {"spread", "N=1 C=2 D=9", "kernel=3 dilation=3"},
              {"padding alone", "N=1 C=1 D=1", "kernel=2 stride=1 padding=1 dilation=2 ceil_mode=false"},
              {"no images", "N=0 C=2 D=5", "kernel=2"},
              {"no elements", "N=1 C=2 D=0x3", "kernel=2,1 stride=1 padding=0 dilation=1"}},
});
}  // namespace oarlock::op::avg_pool_

#include "rules.h"
#include "window.h"
namespace oarlock::op::avg_pool_ {
static constexpr WindowLists kLists{1, 2, 3};
static void infer(InferCall& c) { infer_pooling(c, kLists, 0, c.attrs.flag(4)); }
static void gradient(GradientCall& c) {
  const Shape& x = c.in(0).shape();
  Shape size;
  size.push(x.d + 2, x.rank - 2);
  c.set(0, avg_pool_gradient(c.dout(0), size, c.attrs.integers(0), c.attrs.integers(1), c.attrs.integers(2),
                             c.attrs.integers(3), c.attrs.flag(4), c.attrs.flag(5)));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  const Shape& s = x.shape();
  DType own = at_least_f32(x.dtype());
  int axes = s.rank - 2;
  Dim kernel[kMaxRank], places[kMaxRank];
  for (int i = 0; i < axes; ++i) kernel[i] = c.attrs.at(0, i, 1);
  WindowPlan plan(c.attrs, kLists, {kernel, size_t(axes)});
  for (int i = 0; i < axes; ++i) places[i] = windows_that_fit(s[i + 2], kernel[i], plan.axis[i], c.attrs.flag(4));
  Tensor all = as(unfolded(x, plan, 0, {places, size_t(axes)}), own);
  int64_t taps[kMaxRank];
  for (int i = 0; i < axes; ++i) taps[i] = 2 + axes + i;
  if (axes) all = sum(all, std::span<const int64_t>(taps, size_t(axes)));
  Tensor counts = window_counts({s.d + 2, size_t(axes)}, plan, c.attrs.flag(5), {places, size_t(axes)}, own);
  c.set(0, as(divide(all, counts), x.dtype()));
}
static void reference(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  int axes = x.n_dims - 2;
  int64_t kernel[kMaxRank];
  for (int i = 0; i < axes; ++i) kernel[i] = c.attrs.at(0, i, 1);
  Windows w(x.shape + 2, kernel, out.shape + 2, axes, c.attrs, kLists);
  std::vector<double> from = dense<double>(x), sum(size_t(count(out)));
  std::vector<int64_t> counts =
      counts_of(w, x.shape + 2, kernel, out.shape + 2, axes, c.attrs, kLists, c.attrs.flag(5));
  int64_t planes = x.shape[0] * x.shape[1];
  for (int64_t p = 0; p < planes; ++p) {
    double* to = sum.data() + p * w.places;
    for (int64_t t = 0; t < w.taps; ++t)
      for (int64_t i = 0; i < w.places; ++i)
        if (w.tap(t)[i] >= 0) to[i] += from[size_t(p * w.plane + w.tap(t)[i])];
    for (int64_t i = 0; i < w.places; ++i) to[i] = counts[size_t(i)] ? to[i] / double(counts[size_t(i)]) : 0;
  }
  store_dense(out, sum);
}
}  // namespace oarlock::op::avg_pool_
