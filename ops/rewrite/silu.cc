// 1 / (1 + exp(-x)), and x times that.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {

int recognise_silu(Program& p) {
  const Pattern x = any("x");
  const Pattern minus = either(call("negative", {x}), call("multiply", {x, number(-1)}));
  const Pattern below = call("add", {number(1), call("exp", {minus})});
  auto put_sigmoid = [](const Found& found) { return sigmoid(found("x")); };
  auto put_silu = [](const Found& found) { return silu(found("x")); };
  const Rule rules[] = {
      {call("divide", {number(1), below}).where(is_f32_or_f64), put_sigmoid},
      {call("reciprocal", {below}).where(is_f32_or_f64), put_sigmoid},
      {call("multiply", {x, call("sigmoid", {x})}).where(is_f32_or_f64), put_silu},
      {call("divide", {x, below}).where(is_f32_or_f64), put_silu},
  };
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
