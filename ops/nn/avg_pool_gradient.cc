#include "core/op/opdef.h"
namespace oarlock::op::avg_pool_gradient_ {
static InferRule infer;
static GradientRule gradient;
static DecomposeRule decompose;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "avg_pool_gradient",
    .summary = "The gradient of avg_pool with respect to x, linear in dy: each element gets its share of every window "
               "that counted it. size: of x behind [N, C]. The other attributes are those of avg_pool.",
    .source = "ONNX operator set 22, AveragePool",
    .inputs = {{"dy", "[N, C, *E]"}},
    .outputs = {{"dx", "[N, C, *size]"}},
    .types = {{"T", kFloat}},
    .attributes = {dims("size"), integers("kernel").at_least(1).at_most(INT32_MAX),
                   integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), flag("ceil_mode", false),
                   flag("count_include_pad", false)},
    .infer = infer,
    .gradient = gradient,
    .decompose = decompose,
    .reference = reference,
    .tolerance = {.of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 E=3x3", "size=5,4 kernel=3,2 stride=2 padding=1 dilation=1 ceil_mode=false"},
              {"what is over the padding does not count", "N=1 C=1 E=3x3",
               "size=4,4 kernel=3 stride=2 padding=1 dilation=1 ceil_mode=true count_include_pad=true"},
              {"elements alone", "N=1 C=1 E=3x3",
               "size=4,4 kernel=3 stride=2 padding=1 dilation=1 ceil_mode=true count_include_pad=false"},
              {"padded at the end only", "N=1 C=1 E=4x4", "size=4,4 kernel=2 stride=1 padding=0,0,1,1"},
              {"spread", "N=1 C=2 E=3", "size=9 kernel=3 stride=1 padding=0 dilation=3"},
              {"padding alone", "N=1 C=1 E=1", "size=1 kernel=2 stride=1 padding=1 dilation=2 ceil_mode=false"},
              {"no images", "N=0 C=2 E=4", "size=5 kernel=2"},
              {"no elements", "N=1 C=2 E=0x3", "size=0,3 kernel=2,1 stride=1 padding=0 dilation=1"}},
});
}  // namespace oarlock::op::avg_pool_gradient_

#include "rules.h"
#include "window.h"
namespace oarlock::op::avg_pool_gradient_ {
static constexpr WindowLists kLists{2, 3, 4};
static void infer(InferCall& c) {
  int axes = c.in[0]->rank - 2;
  if (!window_lists(c, kLists, 1, axes)) return;
  Dim kernel[kMaxRank];
  for (int i = 0; i < axes; ++i) kernel[i] = c.attrs.at(1, i, 1);
  same_windows(c, 0, c.attrs.dims(0), {kernel, size_t(axes)}, kLists, c.attrs.flag(5), "size");
}
static void gradient(GradientCall& c) {
  c.set(0, avg_pool(c.dout(0), c.attrs.integers(1), c.attrs.integers(2), c.attrs.integers(3), c.attrs.integers(4),
                    c.attrs.flag(5), c.attrs.flag(6)));
}
// The gradient of a convolution, channel by channel, with weights of one.
static void decompose(RuleCall& c) {
  const Tensor& dy = c.in(0);
  const Shape& s = dy.shape();
  DType own = at_least_f32(dy.dtype());
  int axes = s.rank - 2;
  auto size = c.attrs.dims(0);
  Dim kernel[kMaxRank];
  Shape ones{s[1], 1};
  for (int i = 0; i < axes; ++i) ones.push(kernel[i] = c.attrs.at(1, i, 1));
  WindowPlan plan(c.attrs, kLists, {kernel, size_t(axes)});
  std::span<const Dim> places(s.d + 2, size_t(axes));
  Tensor each = divide(as(dy, own), window_counts(size, plan, c.attrs.flag(6), places, own));
  int64_t stride[kMaxRank], dilation[kMaxRank], padding[2 * kMaxRank];
  for (int i = 0; i < axes; ++i) {
    const WindowAxis& a = plan.axis[i];
    stride[i] = a.stride;
    dilation[i] = a.dilation;
    padding[i] = a.before;
    int64_t reach = (places[size_t(i)].n - 1) * a.stride + (kernel[i].n - 1) * a.dilation + 1;
    padding[axes + i] = std::max<int64_t>(0, reach - size[size_t(i)].n - a.before);  // to the last window's end
  }
  Shape planes{s[0], s[1]}, image;
  for (Dim d : size) {
    planes.push(d);
    image.push(d);
  }
  size_t n = size_t(axes);
  using List = std::span<const int64_t>;
  Tensor dx = s[1] == 0 ? full(planes, 0, own)
              : !axes   ? each
                        : conv_input_gradient(each, full(ones, 1, own), image, List(stride, n), List(padding, 2 * n),
                                              List(dilation, n), s[1].n);
  c.set(0, as(dx, dy.dtype()));
}
static void reference(KernelCall& c) {
  const oar_view_t &dy = c.in(0), &dx = c.out(0);
  int axes = dx.n_dims - 2;
  int64_t kernel[kMaxRank];
  for (int i = 0; i < axes; ++i) kernel[i] = c.attrs.at(1, i, 1);
  Windows w(dx.shape + 2, kernel, dy.shape + 2, axes, c.attrs, kLists);
  std::vector<double> from = dense<double>(dy), sum(size_t(count(dx)));
  std::vector<int64_t> counts =
      counts_of(w, dx.shape + 2, kernel, dy.shape + 2, axes, c.attrs, kLists, c.attrs.flag(6));
  int64_t planes = dx.shape[0] * dx.shape[1];
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t t = 0; t < w.taps; ++t)
      for (int64_t i = 0; i < w.places; ++i)
        if (w.tap(t)[i] >= 0)
          sum[size_t(p * w.plane + w.tap(t)[i])] += from[size_t(p * w.places + i)] / double(counts[size_t(i)]);
  store_dense(dx, sum);
}
}  // namespace oarlock::op::avg_pool_gradient_
