// x / 2 * (1 + erf(x / sqrt(2))), and the same by tanh, in the orders that people write them in.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

Pattern half_of(const Pattern& x) { return either(call("multiply", {x, number(0.5)}), call("divide", {x, number(2)})); }
// Half of x times `gate`.
std::vector<Pattern> gated(const Pattern& x, const Pattern& gate) {
  return {call("multiply", {half_of(x), gate}).where(is_f32_or_f64),
          half_of(call("multiply", {x, gate}).where(is_f32_or_f64)),
          call("multiply", {x, half_of(gate)}).where(is_f32_or_f64)};
}

}  // namespace

int recognise_gelu(Program& p) {
  const Pattern x = any("x");
  const Pattern by_erf = call("erf", {either(call("multiply", {x, number(0.7071067811865476)}),
                                             call("divide", {x, number(1.4142135623730951)}))});
  auto mul = [](Pattern a, Pattern b) { return call("multiply", {std::move(a), std::move(b)}); };
  const Pattern square = either(mul(x, x), either(call("square", {x}), call("power", {x, number(2)})));
  const Pattern cube = either(call("power", {x, number(3)}), mul(x, square));
  const Pattern c = number(0.044715), k = number(0.7978845608028654);
  const Pattern bent = call("add", {x, either(mul(c, cube), mul(mul(mul(c, x), x), x))});
  const Pattern factor = call("add", {number(1), either(mul(c, square), mul(mul(c, x), x))});
  const Pattern by_tanh = call("tanh", {either(mul(k, bent), either(mul(mul(k, x), factor), mul(k, mul(x, factor))))});
  std::vector<Rule> rules;
  for (const Pattern& pattern : gated(x, call("add", {by_erf, number(1)})))
    rules.push_back({pattern, [](const Found& found) { return gelu(found("x")); }});
  for (const Pattern& pattern : gated(x, call("add", {by_tanh, number(1)})))
    rules.push_back({pattern, [](const Found& found) { return gelu(found("x"), "tanh"); }});
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
