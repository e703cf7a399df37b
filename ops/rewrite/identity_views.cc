// Views that change nothing, and views of views that one can say.
#include "ops/rewrite/rewrites.h"

namespace oarlock::rewrite {
namespace {

// All that keep the elements and their order.
const char* const kReshapes[] = {"reshape", "flatten", "squeeze", "unsqueeze"};

Tensor operand(const Found& found) { return found("x"); }
Tensor reshaped(const Found& found) { return reshape(found("x"), found.match.value("out").shape); }
Tensor permuted_once(const Found& found) {
  auto inner = found.match.attrs("inner").integers(0), outer = found.match.attrs("out").integers(0);
  std::vector<int64_t> axes;
  for (int64_t a : outer) axes.push_back(inner[size_t(a)]);
  return permute(found("x"), std::span<const int64_t>(axes));
}
bool in_order(op::Attrs a) {
  auto axes = a.integers(0);
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != int64_t(i)) return false;
  return true;
}
bool from_the_start(op::Attrs a) {
  for (Dim start : a.dims(0))
    if (start.n != 0) return false;
  for (int64_t step : a.integers(2))
    if (step != 1) return false;
  return true;
}

}  // namespace

int identity_views(Program& p) {
  const Pattern x = any("x");
  std::vector<Rule> rules;
  for (const char* op : kReshapes) {
    rules.push_back({call(op, {x}), operand});  // to the shape it has
    for (const char* inner : kReshapes) rules.push_back({call(op, {call(inner, {x})}).as("out"), reshaped, true});
  }
  rules.push_back({call("expand", {x}), operand});
  rules.push_back({call("slice", {x}).with(from_the_start), operand});
  rules.push_back({call("permute", {x}).with(in_order), operand});
  rules.push_back({call("permute", {call("permute", {x}).as("inner")}).as("out"), permuted_once, true});
  rules.push_back({call("matrix_transpose", {call("matrix_transpose", {x})}), operand, true});
  for (Rule& rule : rules) rule.is_view = true;
  return rewrite_by(p, rules);
}

}  // namespace oarlock::rewrite
