#include "core/op/opdef.h"
namespace oarlock::op::group_norm_ {
static InferRule infer;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "group_norm",
    .summary = "layer_norm over the channels of each group and all axes behind them, then scale and bias for each "
               "channel.",
    .source = "Wu and He 2018, Group normalization; ONNX operator set 21, GroupNormalization",
    .inputs = {{"x", "[N, C, *D]"}, {"scale", "P[C]", optional}, {"bias", "P[C]", optional}},
    .outputs = {{"out", "[N, C, *D]"}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .attributes = {integer("groups").at_least(1), real("epsilon", 1e-5).at_least(0)},
    .infer = infer,
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"two groups", "N=2 C=4 D=3x2", "groups=2 epsilon=0.00001"},
              {"one group", "N=2 C=4 D=", "groups=1 epsilon=0.00001"},
              {"each channel alone", "N=2 C=3 D=4", "groups=3 epsilon=0.00001"},
              {"no images", "N=0 C=4 D=3", "groups=2"},
              {"no elements", "N=2 C=4 D=0", "groups=2"}},
});
}  // namespace oarlock::op::group_norm_

#include "rules.h"
namespace oarlock::op::group_norm_ {
static void infer(InferCall& c) {
  Dim channels = c.in[0]->d[1];
  int64_t groups = c.attrs.integer(0);
  if (channels.known() && channels.n % groups)
    c.fail("C is not a multiple of groups: " + c.input_text(0) + " (C=" + to_string(channels) +
           "), groups=" + std::to_string(groups));
}
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  int64_t groups = c.attrs.integer(0);
  Dim each = x.shape()[1] / groups;
  for (int i = 2; i < x.rank(); ++i) each = each * x.shape()[i];
  Tensor out = reshape(layer_norm(reshape(x, {x.shape()[0], groups, each}), {}, {}, c.attrs.real(1)), x.shape());
  if (c.has(1)) out = multiply(out, with_axes_behind(as(c.in(1), x.dtype()), x.rank() - 2));
  if (c.has(2)) out = add(out, with_axes_behind(as(c.in(2), x.dtype()), x.rank() - 2));
  c.set(0, out);
}
}  // namespace oarlock::op::group_norm_
