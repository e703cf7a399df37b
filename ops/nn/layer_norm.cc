#include "core/op/opdef.h"
namespace oarlock::op::layer_norm_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "layer_norm",
    .summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis, with the variance over C; no "
               "scale is 1, no bias 0. Computed in at least f32.",
    .source = "Ba et al. 2016, Layer normalization; ONNX operator set 17, LayerNormalization",
    .inputs = {{"x", "[*L, C]"}, {"scale", "P[C]", optional}, {"bias", "P[C]", optional}},
    .outputs = {{"out", "[*L, C]"}, {"mean", "T+[*L]", hidden}, {"inverse_std", "T+[*L]", hidden}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .attributes = {real("epsilon", 1e-5).at_least(0)},
    .gradient = gradient,
    .saves = {{"x"}, {"scale", "x"}, {"mean"}, {"inverse_std"}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"a batch", "L=2x3 C=4", "epsilon=0.00001"},
              {"all equal", "L=2 C=3", "epsilon=0.00001", "x: 0.5"},
              {"a single row", "L= C=5", "epsilon=0.00001"},
              {"no rows", "L=0 C=3"},
              {"no elements", "L=2 C=0"}},
});
}  // namespace oarlock::op::layer_norm_

#include "rules.h"
namespace oarlock::op::layer_norm_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &mean = c.out(1), &inverse = c.out(2);
  Tensor scale = c.count() > 1 ? c.in(1) : Tensor(), bias = c.count() > 2 ? c.in(2) : Tensor(), dx;
  if (c.dout(0)) {
    LayerNormGradientResult d = layer_norm_gradient(c.dout(0), x, mean, inverse, scale);
    dx = d.dx;
    if (scale && c.wants(1)) c.set(1, as(d.dscale, scale.dtype()));
    if (bias && c.wants(2)) c.set(2, as(d.dbias, bias.dtype()));
  }
  if (c.wants(0) && (c.dout(1) || c.dout(2))) {  // higher orders: the statistics depend on x too
    Tensor n = number(x.shape()[x.rank() - 1], mean), more;
    if (c.dout(1)) more = expand(unsqueeze(divide(c.dout(1), n), {-1}), x.shape());
    if (c.dout(2)) {
      Tensor cube = multiply(inverse, multiply(inverse, inverse));
      Tensor by = unsqueeze(divide(negative(multiply(c.dout(2), cube)), n), {-1});
      Tensor part = multiply(subtract(as(x, mean.dtype()), unsqueeze(mean, {-1})), by);
      more = more ? add(more, part) : part;
    }
    more = as(more, x.dtype());
    dx = dx ? add(dx, more) : more;
  }
  if (dx) c.set(0, dx);
}
static void decompose(RuleCall& c) {
  DType own = at_least_f32(c.in(0).dtype());
  Tensor x = as(c.in(0), own), n = number(x.shape()[x.rank() - 1], x);
  Tensor mean = divide(sum(x, {-1}, true), n), centred = subtract(x, mean);
  Tensor var = divide(sum(multiply(centred, centred), {-1}, true), n);
  Tensor inverse = divide(number(1, var), sqrt(add(var, number(c.attrs.real(0), var))));
  Tensor out = multiply(centred, inverse);
  if (c.has(1)) out = multiply(out, as(c.in(1), own));
  if (c.has(2)) out = add(out, as(c.in(2), own));
  c.set(0, as(out, c.in(0).dtype()));
  c.set(1, squeeze(mean, {-1}));
  c.set(2, squeeze(inverse, {-1}));
}
}  // namespace oarlock::op::layer_norm_
