// With its running statistics a batch norm is a factor and a term for each channel. Weights that are constants take them in:
// Jacob et al. 2018, Quantization and training of neural networks for efficient integer-arithmetic-only inference, 3.2.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

Pattern maybe_constant(std::string name) {
  Pattern p = maybe(std::move(name));
  p.accepts = [](const Scope& s, ValueId v) { return s[v].kind == graph::Kind::constant; };
  return p;
}
Pattern norm_of(Pattern x) {
  return call("batch_norm",
              {std::move(x), constant("mean"), constant("var"), maybe_constant("scale"), maybe_constant("bias")})
      .as("norm")
      .where(is_f32_or_f64)
      .with([](op::Attrs a) { return !a.flag(0); });
}

struct Channels {  // [C] each, in the dtype that the op computes in
  Tensor factor, term;
  // before: what is added to each channel in front of the batch norm; may have no value.
  Channels(const Found& found, Tensor before) {
    const DType t = promote(found.match.value("norm").dtype, found.match.value("mean").dtype);
    Tensor mean = op::as(found("mean"), t), var = op::as(found("var"), t);
    Tensor epsilon = op::number(found.match.attrs("norm").real(2), var);
    factor = divide(op::number(1, var), sqrt(add(var, epsilon)));
    if (Tensor scale = found("scale"); scale.defined()) factor = multiply(factor, op::as(scale, t));
    Tensor from = before.defined() ? subtract(op::as(before, t), mean) : negative(mean);
    term = multiply(from, factor);
    if (Tensor bias = found("bias"); bias.defined()) term = add(term, op::as(bias, t));
  }
};

Tensor into_conv(const Found& found) {
  const Channels c(found, found("b"));
  const Tensor w = found("w");
  const Tensor weights = multiply(op::as(w, c.factor.dtype()), op::with_axes_behind(c.factor, w.rank() - 1));
  const op::Attrs a = found.match.attrs("conv");
  return conv(found("x"), op::as(weights, w.dtype()), op::as(c.term, w.dtype()), a.integers(0), a.integers(1),
              a.integers(2), a.integer(3));
}
Tensor into_matmul(const Found& found) {
  // The channels are axis 1: of a product of more axes that is not the last one, which the weights give.
  if (found.match.value("norm").shape.rank != 2 || found.match.value("w").shape.rank != 2) return {};
  const Channels c(found, found("b"));
  const bool turned = found.match["turned"] != kNone;  // matrix_transpose(w), w [C, K]
  const Tensor w = found("w");
  const Tensor factor = turned ? op::with_axes_behind(c.factor, 1) : c.factor;
  const Tensor weights = op::as(multiply(op::as(w, factor.dtype()), factor), w.dtype());
  return add(matmul(found("x"), turned ? matrix_transpose(weights) : weights), op::as(c.term, w.dtype()));
}

}  // namespace

int fold_batch_norm(Program& p) {
  const Pattern conv = call("conv", {any("x"), constant("w"), maybe_constant("b")}).as("conv");
  const Pattern weights = either(call("matrix_transpose", {constant("w")}).as("turned"), constant("w"));
  const Pattern product = call("matmul", {any("x"), weights});
  const Rule rules[] = {
      {norm_of(conv), into_conv, false, {"w"}},
      {norm_of(either(call("add", {product, constant("b")}), product)), into_matmul, false, {"w"}},
  };
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
