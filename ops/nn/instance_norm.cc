#include "core/op/opdef.h"
namespace oarlock::op::instance_norm_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "instance_norm",
    .summary = "layer_norm over the axes behind [N, C], then scale and bias for each channel.",
    .source = "Ulyanov et al. 2016, Instance normalization; ONNX operator set 22, InstanceNormalization",
    .inputs = {{"x", "[N, C, *D]"}, {"scale", "P[C]", optional}, {"bias", "P[C]", optional}},
    .outputs = {{"out", "[N, C, *D]"}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .attributes = {real("epsilon", 1e-5).at_least(0)},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 D=3x2", "epsilon=0.00001"},
              {"one axis", "N=2 C=4 D=5", "epsilon=0.00001"},
              {"no images", "N=0 C=4 D=3"},
              {"no elements", "N=2 C=4 D=0"}},
});
}  // namespace oarlock::op::instance_norm_

#include "rules.h"
namespace oarlock::op::instance_norm_ {
static void decompose(RuleCall& c) {
  const Tensor& x = c.in(0);
  Dim each = 1;
  for (int i = 2; i < x.rank(); ++i) each = each * x.shape()[i];
  Tensor rows = reshape(x, {x.shape()[0], x.shape()[1], each});
  Tensor out = reshape(layer_norm(rows, {}, {}, c.attrs.real(0)), x.shape());
  if (c.has(1)) out = multiply(out, with_axes_behind(as(c.in(1), x.dtype()), x.rank() - 2));
  if (c.has(2)) out = add(out, with_axes_behind(as(c.in(2), x.dtype()), x.rank() - 2));
  c.set(0, out);
}
}  // namespace oarlock::op::instance_norm_
