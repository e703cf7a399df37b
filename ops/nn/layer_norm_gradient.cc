#include "core/op/opdef.h"
namespace oarlock::op::layer_norm_gradient_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "layer_norm_gradient",
    .summary = "The gradients of layer_norm's result with respect to x, scale and bias, from the mean and the inverse "
               "deviation 1 / sqrt(variance + epsilon) that it used. Computed in at least f32.",
    .source = "Ba et al. 2016, Layer normalization",
    .inputs = {{"dy", "[*L, C]"},
               {"x", "[*L, C]"},
               {"mean", "T+[*L]"},
               {"inverse_std", "T+[*L]"},
               {"scale", "P[C]", optional}},
    .outputs = {{"dx", "[*L, C]"}, {"dscale", "T+[C]"}, {"dbias", "T+[C]"}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"a batch", "L=2x3 C=4"}, {"a single row", "L= C=5"}, {"no rows", "L=0 C=3"}, {"no elements", "L=2 C=0"}},
});
}  // namespace oarlock::op::layer_norm_gradient_

#include "rules.h"
namespace oarlock::op::layer_norm_gradient_ {
static void decompose(RuleCall& c) {
  DType own = at_least_f32(c.in(0).dtype());
  Tensor dy = as(c.in(0), own), x = as(c.in(1), own), inverse = unsqueeze(c.in(3), {-1});
  Tensor normal = multiply(subtract(x, unsqueeze(c.in(2), {-1})), inverse);
  Tensor d = c.has(4) ? multiply(dy, as(c.in(4), own)) : dy, n = number(x.shape()[x.rank() - 1], x);
  Tensor level = divide(sum(d, {-1}, true), n), tilt = divide(sum(multiply(d, normal), {-1}, true), n);
  Tensor dx = multiply(subtract(subtract(d, level), multiply(normal, tilt)), inverse);
  Axes rows(x.shape(), x.rank() - 1);
  c.set(0, as(dx, c.in(0).dtype()));
  c.set(1, sum(multiply(dy, normal), rows));
  c.set(2, sum(dy, rows));
}
}  // namespace oarlock::op::layer_norm_gradient_
