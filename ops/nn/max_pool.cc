#include "core/op/opdef.h"
namespace oarlock::op::max_pool_ {
static InferRule infer;
static GradientRule gradient;
static ReferenceKernel reference;

extern constinit const OpDef def = define({
    .name = "max_pool",
    .summary =
        "Greatest element of each window that slides over the axes behind [N, C]; NaN if one is there. Padding "
        "never wins: a window of padding alone gives -infinity, or the lowest integer. padding: as of conv. "
        "ceil_mode: a last window may reach over the end, unless it starts in the padding behind x. The gradient "
        "goes to the first of equal elements. indices: places in x, row-major; x's number of elements for a "
        "window of padding alone.",
    .source = "ONNX operator set 22, MaxPool, storage order 0",
    .inputs = {{"x", "[N, C, *D]"}},
    .outputs = {{"out", "[N, C, *E]"}, {"indices", "i64[N, C, *E]", hidden}},
    .types = {{"T", kNumeric}},
    .attributes = {integers("kernel").at_least(1).at_most(INT32_MAX),
                   integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), flag("ceil_mode", false)},
    .infer = infer,
    .gradient = gradient,
    .saves = {{"indices"}},
    .reference = reference,
    .cases = {{"two axes", "N=2 C=3 D=5x4", "kernel=3,2 stride=2 padding=1", "x: distinct"},
              {"a last window starts in the padding", "N=1 C=2 D=3x6x5",
               "kernel=3 stride=3 padding=1 dilation=1 ceil_mode=true", "x: distinct"},
              {"a last window reaches over the end", "N=1 C=2 D=5x5", "kernel=2 stride=2 padding=0 ceil_mode=true",
               "x: distinct"},
              {"padded at the end only", "N=1 C=1 D=4x4", "kernel=2 stride=1 padding=0,0,1,1", "x: distinct"},
              {"spread", "N=1 C=2 D=9", "kernel=3 dilation=3", "x: distinct"},
              {"padding alone", "N=1 C=1 D=1", "kernel=2 stride=1 padding=1 dilation=2 ceil_mode=false", "x: distinct"},
              {"nan wins", "N=1 C=1 D=8", "kernel=3 padding=0", "x: nan inf -inf"},
              {"no images", "N=0 C=2 D=5", "kernel=2"},
              {"no elements", "N=1 C=2 D=0x3", "kernel=2,1 stride=1 padding=0 dilation=1"}},
});
}  // namespace oarlock::op::max_pool_

#include "rules.h"
#include "elementwise.h"
#include "window.h"
namespace oarlock::op::max_pool_ {
static constexpr WindowLists kLists{1, 2, 3};
static void infer(InferCall& c) { infer_pooling(c, kLists, 0, c.attrs.flag(4)); }
static void gradient(GradientCall& c) {
  Shape size;
  size.push(c.in(0).shape().begin() + 2, c.in(0).rank() - 2);
  c.set(0, max_pool_gradient(c.dout(0), c.out(1), size));
}
template <class Acc>
static void pool(KernelCall& c) {
  const oar_view_t &x = c.in(0), &out = c.out(0);
  int axes = x.n_dims - 2;
  int64_t kernel[kMaxRank];
  for (int i = 0; i < axes; ++i) kernel[i] = c.attrs.at(0, i, 1);
  Windows w(x.shape + 2, kernel, out.shape + 2, axes, c.attrs, kLists);
  std::vector<Acc> from = dense<Acc>(x), best(size_t(count(out)), lowest<Acc>(dtype(x)));
  std::vector<int64_t> index(best.size(), w.plane);
  int64_t planes = x.shape[0] * x.shape[1];
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t t = 0; t < w.taps; ++t)
      for (int64_t i = 0; i < w.places; ++i) {
        int64_t at = w.tap(t)[i];
        if (at < 0) continue;
        Acc v = from[size_t(at + p * w.plane)], &b = best[size_t(p * w.places + i)];
        int64_t& k = index[size_t(p * w.places + i)];
        bool first = k == w.plane;
        if (!first && !(v > b || (v != v && b == b))) continue;
        b = v;
        k = at;
      }
  store_dense(out, best);
  if (c.outputs[1]) store_dense(*c.outputs[1], index);
}
static void reference(KernelCall& c) {
  with_accumulator(dtype(c.in(0)), [&](auto acc) { pool<decltype(acc)>(c); });
}
}  // namespace oarlock::op::max_pool_
