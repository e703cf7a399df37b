// exp(x - max(x)) / sum(exp(x - max(x))) is what softmax is computed as.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

Tensor put(const Found& found) {
  const int64_t axis = found.match.attrs("most").integers(0)[0];
  if (found.match.attrs("total").integers(0)[0] != axis) return {};
  return softmax(found("x"), axis);
}

}  // namespace

int recognise_softmax(Program& p) {
  const Pattern most = call("max", {any("x")}).as("most").with(keeps_one_axis);
  const Pattern e = call("exp", {call("subtract", {any("x"), most})}).as("e");
  const Pattern total = call("sum", {e}).as("total").with(keeps_one_axis);
  const Rule rules[] = {{call("divide", {e, total}).where(is_f32_or_f64), put}};
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
