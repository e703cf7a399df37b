// conv(x, w) + c, where c has one element for each channel: its bias.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

Tensor put(const Found& found) {
  const Shape &out = found.match.value("out").shape, &c = found.match.value("c").shape;
  const int at = c.rank - (out.rank - 1);  // of the channels in c, whose last axis is that of out
  if (at < 0 || at >= c.rank) return {};
  for (int i = 0; i < c.rank; ++i)
    if (c[i] != (i == at ? out[1] : Dim(1))) return {};
  const op::Attrs a = found.match.attrs("conv");
  return conv(found("x"), found("w"), reshape(found("c"), {out[1]}), a.integers(0), a.integers(1), a.integers(2),
              a.integer(3));
}

}  // namespace

int fold_conv_bias(Program& p) {
  const Pattern product = call("conv", {any("x"), any("w")}).as("conv");
  const Rule rules[] = {{call("add", {product, any("c")}).as("out").where(is_f32_or_f64), put}};
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
