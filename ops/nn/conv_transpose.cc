#include "core/op/opdef.h"
namespace oarlock::op::conv_transpose_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "conv_transpose",
    .summary =
        "Transposed convolution: the input gradient of a conv from O to C channels. Padding cuts off that much of "
        "the result, output_padding adds to its end; it is less than stride or dilation. The rest is as of "
        "conv.",
    .source = "ONNX operator set 22, ConvTranspose; weights as torch.nn.ConvTranspose2d",
    .inputs = {{"x", "[N, C, *D]"}, {"w", "[C, O/groups, *K]"}, {"bias", "[O]", optional}},
    .outputs = {{"out", "[N, O, *E]"}},
    .types = {{"T", kFloat}},
    .attributes = {integers("stride", 1).at_least(1).at_most(INT32_MAX),
                   integers("padding", 0).at_least(0).at_most(INT32_MAX),
                   integers("dilation", 1).at_least(1).at_most(INT32_MAX), integer("groups", 1).at_least(1),
                   integers("output_padding", 0).at_least(0).at_most(INT32_MAX)},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 D=3x4 O=2 K=3x2", "stride=2 padding=1,0 output_padding=1 dilation=1 groups=1"},
              {"groups", "N=1 C=4 D=5 O=6 K=3", "stride=2 padding=1 groups=2"},
              {"padded by less than the dilation", "N=1 C=2 D=3 O=2 K=2",
               "stride=1 padding=1 dilation=3 output_padding=2"},
              {"cut off at the end only", "N=1 C=2 D=3 O=2 K=3", "stride=2 padding=0,1 output_padding=0"},
              {"three axes", "N=1 C=2 D=2x2x2 O=2 K=2x2x2", "stride=2 padding=0 dilation=1"},
              {"no images", "N=0 C=2 D=5 O=3 K=2", "stride=1 padding=0"},
              {"no channels", "N=2 C=0 D=5 O=3 K=2", "stride=1 padding=0"},
              {"no elements", "N=2 C=2 D=0 O=3 K=2"}},
});
}  // namespace oarlock::op::conv_transpose_

#include "rules.h"
#include "window.h"
namespace oarlock::op::conv_transpose_ {
static constexpr WindowLists kLists{0, 1, 2};
static void infer(InferCall& c) {
  const Shape &x = *c.in[0], &w = *c.in[1];
  int axes = x.rank - 2;
  int64_t groups = c.attrs.integer(3);
  if (w.rank != x.rank) return void(c.fail("rank disagrees: " + c.input_text(0) + ", " + c.input_text(1)));
  if (!window_lists(c, kLists, 4, axes)) return;
  if (x[1].known() && x[1].n % groups)
    return void(c.fail("C is not a multiple of groups: " + c.input_text(0) + " (C=" + to_string(x[1]) +
                       "), groups=" + std::to_string(groups)));
  Shape& out = c.open(0);
  for (int i = 0; i < axes; ++i) {
    WindowAxis a = window_axis(c.attrs, kLists, i, axes);
    Dim n = x[i + 2], k = w[i + 2];
    int64_t more = c.attrs.at(4, i, 0);
    std::string where = " along axis " + std::to_string(i + 2) + ": " + c.input_text(0) + ", " + c.input_text(1);
    if (more >= a.stride && more >= a.dilation)
      return void(c.fail("output_padding " + std::to_string(more) + " is less than neither stride " +
                         std::to_string(a.stride) + " nor dilation " + std::to_string(a.dilation) + where));
    if (k.n == 0) return void(c.fail("a window has no taps" + where));
    Dim all = (n - 1) * a.stride + (k - 1) * a.dilation + 1 + more;
    if (n.known() && k.known() && n.n > 0 && all.n < a.before + a.after)
      return void(c.fail("padding " + std::to_string(a.before) + " and " + std::to_string(a.after) + " is more than " +
                         to_string(all) + where));
    out.push(n.n == 0 ? Dim(0) : all - (a.before + a.after));
  }
}
static void decompose(RuleCall& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  int axes = x.rank() - 2;
  int64_t groups = c.attrs.integer(3);
  auto stride = c.attrs.integers(0), dilation = c.attrs.integers(2);
  bool late = false, none = false;  // more output padding than one window step; no windows at all
  Shape size, whole, start{0, 0}, before{0, 0}, after{0, 0}, result{x.shape()[0], w.shape()[1] * groups};
  for (int i = 0; i < axes; ++i) {
    WindowAxis a = window_axis(c.attrs, kLists, i, axes);
    int64_t more = c.attrs.at(4, i, 0);
    Dim n = x.shape()[i + 2], plain = (n - 1) * a.stride + (w.shape()[i + 2] - 1) * a.dilation + 1;
    Dim cut = n.n == 0 ? Dim(0) : plain + more - (a.before + a.after);
    late |= more >= a.stride;
    none |= n.n == 0;
    size.push(cut);
    result.push(cut);
    whole.push(plain);
    start.push(a.before);
    before.push(0);
    after.push(more);
  }
  Tensor out;
  if (none) out = full(result, 0, x.dtype());
  else if (!late) out = conv_input_gradient(x, w, size, stride, c.attrs.integers(1), dilation, groups);
  else out = slice(pad(conv_input_gradient(x, w, whole, stride, {}, dilation, groups), before, after), start, result);
  if (c.has(2)) out = add(out, with_axes_behind(c.in(2), axes));
  c.set(0, out);
}
}  // namespace oarlock::op::conv_transpose_
