// Scaled dot-product attention. A row that may look nowhere gives NaN by softmax and 0 by attention, so a mask has to be
// known, and finite.
#include <cmath>

#include "core/dispatch/recorder.h"
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

bool is_finite(const Scope& s, ValueId v) {
  dispatch::RecorderPause pause;
  const Tensor lowest = min(s[v].data), highest = max(s[v].data);
  return std::isfinite(lowest.item()) && std::isfinite(highest.item());
}
bool along_the_last(const Scope& s, ValueId v) { return s.maker(v)->attrs.view().integer(0) == s[v].shape.rank - 1; }
Tensor put(const Found& found) {
  const Match& m = found.match;
  double scale = 1;
  if (m["by"] != kNone) scale = m.number("by");
  else if (m["over"] != kNone) scale = 1 / m.number("over");
  return attention(found("q"), matrix_transpose(found("kt")), found("v"), found("mask"), false, scale);
}

}  // namespace

int recognise_attention(Program& p) {
  const Pattern product = call("matmul", {any("q"), any("kt")});
  const Pattern scores =
      either(either(call("multiply", {product, number("by")}), call("divide", {product, number("over")})), product);
  const Pattern masked = either(call("add", {scores, constant("mask").where(is_finite)}), scores);
  const Pattern weights = call("softmax", {masked}).where(along_the_last);
  const Rule rules[] = {{call("matmul", {weights, any("v")}).where(is_f32_or_f64), put}};
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
