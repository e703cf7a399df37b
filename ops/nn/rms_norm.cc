#include "core/op/opdef.h"
namespace oarlock::op::rms_norm_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "rms_norm",
    .summary = "x / sqrt(mean of x * x + epsilon) * scale over the last axis; no scale is 1. Computed in at least f32.",
    .source = "Zhang and Sennrich 2019, Root mean square layer normalization; ONNX operator set 23, RMSNormalization",
    .inputs = {{"x", "[*L, C]"}, {"scale", "P[C]", optional}},
    .outputs = {{"out", "[*L, C]"}, {"inverse_rms", "T+[*L]", hidden}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .attributes = {real("epsilon", 1e-5).at_least(0)},
    .gradient = gradient,
    .saves = {{"x"}, {"scale", "x"}, {"inverse_rms"}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"a batch", "L=2x3 C=4", "epsilon=0.00001"},
              {"zeros", "L=2 C=3", "epsilon=0.00001", "x: 0"},
              {"a single row", "L= C=5", "epsilon=0.00001"},
              {"no rows", "L=0 C=3"},
              {"no elements", "L=2 C=0"}},
});
}  // namespace oarlock::op::rms_norm_

#include "rules.h"
namespace oarlock::op::rms_norm_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &inverse = c.out(1);
  Tensor scale = c.count() > 1 ? c.in(1) : Tensor(), dx;
  if (c.dout(0)) {
    RmsNormGradientResult d = rms_norm_gradient(c.dout(0), x, inverse, scale);
    dx = d.dx;
    if (scale && c.wants(1)) c.set(1, as(d.dscale, scale.dtype()));
  }
  if (c.wants(0) && c.dout(1)) {  // higher orders: inverse depends on x too
    Tensor n = number(x.shape()[x.rank() - 1], inverse), cube = multiply(inverse, multiply(inverse, inverse));
    Tensor by = unsqueeze(divide(negative(multiply(c.dout(1), cube)), n), {-1});
    Tensor more = as(multiply(as(x, inverse.dtype()), by), x.dtype());
    dx = dx ? add(dx, more) : more;
  }
  if (dx) c.set(0, dx);
}
static void decompose(RuleCall& c) {
  DType own = at_least_f32(c.in(0).dtype());
  Tensor x = as(c.in(0), own), n = number(x.shape()[x.rank() - 1], x);
  Tensor square = divide(sum(multiply(x, x), {-1}, true), n);
  Tensor inverse = divide(number(1, square), sqrt(add(square, number(c.attrs.real(0), square))));
  Tensor out = multiply(x, inverse);
  if (c.has(1)) out = multiply(out, as(c.in(1), own));
  c.set(0, as(out, c.in(0).dtype()));
  c.set(1, squeeze(inverse, {-1}));
}
}  // namespace oarlock::op::rms_norm_
