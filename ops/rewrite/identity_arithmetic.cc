// What gives its operand back, whatever that holds: NaN, both zeros, every integer.
#include <cmath>

#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

Pattern one() {
  return any("").where([](const Scope& s, ValueId v) { return s.number(v) == 1.0; });
}
// -0 + 0 is 0: of floats, only -0 can be added, and only 0 taken away.
Pattern zero(bool negative) {
  return any("").where([negative](const Scope& s, ValueId v) {
    std::optional<double> n = s.number(v);
    return n == 0.0 && (!(set_of(s[v].dtype) & kFloat) || std::signbit(*n) == negative);
  });
}
// Does `to` hold every value of `from`?
bool widens(DType from, DType to) {
  const DTypeSet f = set_of(from), t = set_of(to);
  if (f & (set_of(DType::f16) | set_of(DType::bf16))) return t & (set_of(DType::f32) | set_of(DType::f64));
  if (from == DType::f32) return to == DType::f64;
  const bool grows = info(to).bits > info(from).bits;
  return grows && (((f & kSigned) && (t & kSigned)) || ((f & kUnsigned) && (t & kInt)));
}
Tensor operand(const Found& found) { return found("x"); }
Tensor cast_once(const Found& found) {
  if (!widens(found.match.value("x").dtype, found.match.value("wide").dtype)) return {};
  return op::as(found("x"), found.match.value("out").dtype);
}

}  // namespace

int identity_arithmetic(Program& p) {
  const Pattern x = any("x");
  const Rule rules[] = {
      {call("multiply", {x, one()}), operand},
      {call("divide", {x, one()}), operand},
      {call("power", {x, one()}), operand},
      {call("add", {x, zero(true)}), operand},
      {call("subtract", {x, zero(false)}), operand},
      {call("negative", {call("negative", {x})}), operand, true},
      {call("cast", {x}), operand},  // to the dtype it has
      {call("cast", {call("cast", {x}).as("wide")}).as("out"), cast_once, true},
      {call("copy", {x}), operand},
      {call("concat", {x}), operand},
  };
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
