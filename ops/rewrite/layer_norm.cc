// Over the last axis: mean, centred, variance, and the division; then scale and bias.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

// Is v a reduction of the last axis, which keeps its place?
bool of_the_last(const Scope& s, ValueId v) {
  const op::Attrs a = s.maker(v)->attrs.view();
  return keeps_one_axis(a) && a.integers(0)[0] == s[v].shape.rank - 1;
}
// Is v a sum over as many elements as it is divided by?
bool divides_by_size(const Scope& s, ValueId v) {
  const Node& n = *s.maker(v);
  const Shape& of = s[s.now(s.maker(s.now(n.inputs[0]))->inputs[0])].shape;
  const std::optional<double> by = s.number(s.now(n.inputs[1]));
  return by && of[of.rank - 1].known() && *by == double(of[of.rank - 1].n);
}
Pattern mean_of(const Pattern& x) {
  return either(call("mean", {x}).where(of_the_last),
                call("divide", {call("sum", {x}).where(of_the_last), any("")}).where(divides_by_size));
}
Pattern square_of(const Pattern& x) {
  return either(either(call("multiply", {x, x}), call("square", {x})), call("power", {x, number(2)}));
}
Tensor normalised(const Found& found) { return layer_norm(found("x"), {}, {}, found.match.number("epsilon")); }
Tensor scaled(const Found& found) {
  return layer_norm(found("x"), found("scale"), {}, found.match.attrs("norm").real(0));
}
Tensor shifted(const Found& found) {
  return layer_norm(found("x"), found("scale"), found("bias"), found.match.attrs("norm").real(0));
}

}  // namespace

int recognise_layer_norm(Program& p) {
  const Pattern x = any("x"), centred = call("subtract", {x, mean_of(x)}).as("centred");
  const Pattern var = either(mean_of(square_of(centred)),
                             call("var", {x}).where(of_the_last).with([](op::Attrs a) { return a.real(2) == 0; }));
  const Pattern wide = call("add", {var, number("epsilon")}), deviation = call("sqrt", {wide});
  const Pattern inverse = either(either(call("rsqrt", {wide}), call("power", {wide, number(-0.5)})),
                                 either(call("divide", {number(1), deviation}), call("reciprocal", {deviation})));
  const Rule rules[] = {
      {call("divide", {centred, deviation}).where(is_f32_or_f64), normalised},
      {call("multiply", {centred, inverse}).where(is_f32_or_f64), normalised},
      {call("multiply", {call("layer_norm", {x}).as("norm"), any("scale")}).where(is_f32_or_f64), scaled},
      {call("add", {call("layer_norm", {x, maybe("scale")}).as("norm"), any("bias")}).where(is_f32_or_f64), shifted},
  };
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
