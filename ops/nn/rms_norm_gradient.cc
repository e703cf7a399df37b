#include "core/op/opdef.h"
namespace oarlock::op::rms_norm_gradient_ {
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "rms_norm_gradient",
    .summary = "The gradients of rms_norm's result with respect to x and scale, from the 1 / sqrt(mean of x * x + "
               "epsilon) that it used. Computed in at least f32.",
    .source = "Zhang and Sennrich 2019, Root mean square layer normalization",
    .inputs = {{"dy", "[*L, C]"}, {"x", "[*L, C]"}, {"inverse_rms", "T+[*L]"}, {"scale", "P[C]", optional}},
    .outputs = {{"dx", "[*L, C]"}, {"dscale", "T+[C]"}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"a batch", "L=2x3 C=4"}, {"a single row", "L= C=5"}, {"no rows", "L=0 C=3"}, {"no elements", "L=2 C=0"}},
});
}  // namespace oarlock::op::rms_norm_gradient_

#include "rules.h"
namespace oarlock::op::rms_norm_gradient_ {
static void decompose(RuleCall& c) {
  DType own = at_least_f32(c.in(0).dtype());
  Tensor dy = as(c.in(0), own), x = as(c.in(1), own), inverse = unsqueeze(c.in(2), {-1});
  Tensor normal = multiply(x, inverse), d = c.has(3) ? multiply(dy, as(c.in(3), own)) : dy;
  Tensor tilt = divide(sum(multiply(d, normal), {-1}, true), number(x.shape()[x.rank() - 1], x));
  c.set(0, as(multiply(subtract(d, multiply(normal, tilt)), inverse), c.in(0).dtype()));
  c.set(1, sum(multiply(dy, normal), Axes(x.shape(), x.rank() - 1)));
}
}  // namespace oarlock::op::rms_norm_gradient_
