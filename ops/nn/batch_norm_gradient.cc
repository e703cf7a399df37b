#include "core/op/opdef.h"
namespace oarlock::op::batch_norm_gradient_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "batch_norm_gradient",
    .summary = "The gradients of batch_norm's result with respect to x, scale and bias, from the mean and the inverse "
               "deviation 1 / sqrt(variance + epsilon) that it used. When training these depend on x, else they don't. "
               "Computed in at least f32.",
    .source = "Ioffe and Szegedy 2015, Batch normalization, section 3",
    .inputs = {{"dy", "[N, C, *D]"},
               {"x", "[N, C, *D]"},
               {"mean", "T+[C]"},
               {"inverse_std", "T+[C]", 0, "positive"},
               {"scale", "P[C]", optional}},
    .outputs = {{"dx", "[N, C, *D]"}, {"dscale", "T+[C]"}, {"dbias", "T+[C]"}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .attributes = {flag("training", true)},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 D=4x3", "training=true"},
              {"running statistics", "N=2 C=3 D=4", "training=false"},
              {"without axes behind", "N=5 C=3 D="},
              {"no images", "N=0 C=2 D=3"},
              {"no channels", "N=2 C=0 D=3"}},
});
}  // namespace oarlock::op::batch_norm_gradient_

#include "rules.h"
namespace oarlock::op::batch_norm_gradient_ {
static void decompose(RuleCall& c) {
  DType own = at_least_f32(c.in(0).dtype());
  Tensor dy = as(c.in(0), own), x = as(c.in(1), own);
  Axes axes(x.shape(), 1);
  int behind = x.rank() - 2;
  Tensor normal = multiply(subtract(x, with_axes_behind(c.in(2), behind)), with_axes_behind(c.in(3), behind));
  Tensor dbias = sum(dy, axes), dscale = sum(multiply(dy, normal), axes);
  Tensor factor = c.has(4) ? multiply(c.in(3), as(c.in(4), own)) : c.in(3), d = dy;
  if (c.attrs.flag(0) && axes.elements.n != 0) {
    Tensor n = number(axes.elements, x);
    d = subtract(dy, add(with_axes_behind(divide(dbias, n), behind),
                         multiply(normal, with_axes_behind(divide(dscale, n), behind))));
  }
  c.set(0, as(multiply(d, with_axes_behind(factor, behind)), c.in(0).dtype()));
  c.set(1, dscale);
  c.set(2, dbias);
}
}  // namespace oarlock::op::batch_norm_gradient_
