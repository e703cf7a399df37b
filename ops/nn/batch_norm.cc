#include "core/op/opdef.h"
namespace oarlock::op::batch_norm_ {
static GradientRule gradient;
static DecomposeRule decompose;

extern constinit const OpDef def = define({
    .name = "batch_norm",
    .summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel; no scale is 1, no bias 0. When "
               "training, mean and variance (over n, not n - 1) are those of x, and the new running statistics are "
               "momentum * old + (1 - momentum) * those; else they are the running statistics, which stay. They stay, "
               "too, where a channel has no elements. Computed in at least f32.",
    .source = "Ioffe and Szegedy 2015, Batch normalization; ONNX operator set 15, BatchNormalization",
    .inputs = {{"x", "[N, C, *D]"},
               {"running_mean", "P[C]", constant},
               {"running_var", "P[C]", constant, "positive"},
               {"scale", "P[C]", optional},
               {"bias", "P[C]", optional}},
    .outputs = {{"out", "[N, C, *D]"},
                {"new_mean", "P[C]"},
                {"new_var", "P[C]"},
                {"mean", "T+[C]", hidden},
                {"inverse_std", "T+[C]", hidden}},
    .types = {{"T", kFloat}, {"P", kFloat}},
    .attributes = {flag("training", true), real("momentum", 0.9).at_least(0).at_most(1),
                   real("epsilon", 1e-5).at_least(0)},
    .gradient = gradient,
    .saves = {{"x", "x"}, {"scale", "x"}, {"mean"}, {"inverse_std"}},
    .decompose = decompose,
    .tolerance = {.ulps = 64, .of_absolutes = true},
    .cases = {{"two axes", "N=2 C=3 D=4x3", "training=true epsilon=0.00001", "running_var: 0.5..2"},
              {"without axes behind", "N=5 C=3 D=", "training=true epsilon=0.00001", "running_var: 0.5..2"},
              {"running statistics", "N=2 C=3 D=4", "training=false epsilon=0.00001", "running_var: 0.5..2"},
              {"one element", "N=1 C=2 D=1", "training=true epsilon=0.00001", "running_var: 0.5..2"},
              {"all equal", "N=3 C=1 D=2", "training=true epsilon=0.00001", "x: 0.5 running_var: 0.5..2"},
              {"no images", "N=0 C=2 D=3", "training=true epsilon=0.00001", "running_var: 0.5..2"},
              {"no channels", "N=2 C=0 D=3", "training=true epsilon=0.00001"}},
});
}  // namespace oarlock::op::batch_norm_

#include "rules.h"
namespace oarlock::op::batch_norm_ {
static void gradient(GradientCall& c) {
  const Tensor &x = c.in(0), &mean = c.out(3), &inverse = c.out(4);
  Tensor scale = c.count() > 3 ? c.in(3) : Tensor();
  bool training = c.attrs.flag(0);
  Tensor dx;
  if (c.dout(0)) {
    BatchNormGradientResult d = batch_norm_gradient(c.dout(0), x, mean, inverse, scale, training);
    dx = d.dx;
    if (scale && c.wants(3)) c.set(3, as(d.dscale, scale.dtype()));
    if (c.count() > 4 && c.in(4) && c.wants(4)) c.set(4, as(d.dbias, c.in(4).dtype()));
  }
  Axes axes(x.shape(), 1);
  DType t = mean.dtype();
  if (training && axes.elements.n != 0 && c.wants(0) && (c.dout(1) || c.dout(2) || c.dout(3) || c.dout(4))) {
    // What else depends on x: its mean, and its variance by way of the inverse deviation.
    Tensor rest = number(1 - c.attrs.real(1), mean), dmean, dvar;
    auto plus = [](const Tensor& a, const Tensor& b) { return a ? add(a, b) : b; };
    if (c.dout(3)) dmean = c.dout(3);
    if (c.dout(1)) dmean = plus(dmean, multiply(as(c.dout(1), t), rest));
    if (c.dout(4))
      dvar = multiply(multiply(c.dout(4), number(-0.5, inverse)), multiply(inverse, multiply(inverse, inverse)));
    if (c.dout(2)) dvar = plus(dvar, multiply(as(c.dout(2), t), rest));
    int behind = x.rank() - 2;
    Tensor n = number(axes.elements, mean), more;
    if (dmean) more = expand(with_axes_behind(divide(dmean, n), behind), x.shape());
    if (dvar) {
      Tensor from = subtract(as(x, t), with_axes_behind(mean, behind));
      more = plus(more, multiply(from, with_axes_behind(divide(multiply(dvar, number(2, dvar)), n), behind)));
    }
    more = as(more, x.dtype());
    dx = plus(dx, more);
  }
  if (dx) c.set(0, dx);
}
static void decompose(RuleCall& c) {
  const Tensor &running_mean = c.in(1), &running_var = c.in(2);
  DType p = running_mean.dtype(), own = at_least_f32(c.in(0).dtype()), t = promote(own, p);
  Tensor x = as(c.in(0), t);
  Axes axes(x.shape(), 1);
  int behind = x.rank() - 2;
  Tensor mean, var, centred;
  if (c.attrs.flag(0) && axes.elements.n != 0) {
    Tensor n = number(axes.elements, x);
    Tensor average = divide(sum(x, axes, true), n);
    centred = subtract(x, average);
    var = divide(sum(multiply(centred, centred), axes), n);
    mean = reshape(average, var.shape());
    double m = c.attrs.real(1);
    auto next = [&](const Tensor& old, const Tensor& now) {
      return as(add(multiply(as(old, t), number(m, now)), multiply(now, number(1 - m, now))), p);
    };
    c.set(1, next(running_mean, mean));
    c.set(2, next(running_var, var));
  } else {
    mean = as(running_mean, t);
    var = as(running_var, t);
    centred = subtract(x, with_axes_behind(mean, behind));
    c.set(1, copy(running_mean));
    c.set(2, copy(running_var));
  }
  Tensor inverse = divide(number(1, var), sqrt(add(var, number(c.attrs.real(2), var))));
  Tensor factor = c.has(3) ? multiply(inverse, as(c.in(3), t)) : inverse;
  Tensor out = multiply(centred, with_axes_behind(factor, behind));
  if (c.has(4)) out = add(out, with_axes_behind(as(c.in(4), t), behind));
  c.set(0, as(out, c.in(0).dtype()));
  c.set(3, as(mean, own));
  c.set(4, as(inverse, own));
}
}  // namespace oarlock::op::batch_norm_
