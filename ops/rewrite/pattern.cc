#include "ops/rewrite/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/dispatch/recorder.h"
#include "core/tensor/impl.h"

namespace oarlock::rewrite {

ValueId Scope::now(ValueId v) const {
  while (v != kNone && size_t(v) < moved.size() && moved[size_t(v)] != kNone) v = moved[size_t(v)];
  return v;
}
const Node* Scope::maker(ValueId v) const {
  auto it = makers.find(v);
  return it == makers.end() ? nullptr : it->second;
}
std::optional<double> Scope::number(ValueId v) const {
  if (v == kNone) return {};
  const Value& value = p[v];
  if (value.kind == graph::Kind::constant) {
    const bool one = std::all_of(value.shape.begin(), value.shape.end(), [](Dim d) { return d.n == 1; });
    if (!one || !value.data.defined() || !value.data.impl()->storage || !(set_of(value.dtype) & kAny)) return {};
    dispatch::RecorderPause pause;
    return value.data.item();
  }
  const Node* n = maker(v);
  if (!n || n->op != op::op_of(op::Role::full)) return {};
  return n->attrs.view().real(1);
}

Pattern Pattern::where(std::function<bool(const Scope&, ValueId)> test) && {
  if (!accepts) accepts = std::move(test);
  else
    accepts = [first = std::move(accepts), second = std::move(test)](const Scope& s, ValueId v) {
      return first(s, v) && second(s, v);
    };
  return std::move(*this);
}
Pattern Pattern::with(std::function<bool(op::Attrs)> test) && {
  return std::move(*this).where(
      [test = std::move(test)](const Scope& s, ValueId v) { return test(s.maker(v)->attrs.view()); });
}
Pattern any(std::string name) { return {.name = std::move(name)}; }
Pattern maybe(std::string name) { return {.name = std::move(name), .may_be_absent = true}; }
Pattern constant(std::string name) {
  return any(std::move(name)).where([](const Scope& s, ValueId v) {
    return s[v].kind == graph::Kind::constant && s[v].data.defined();
  });
}
Pattern number(std::string name) {
  return any(std::move(name)).where([](const Scope& s, ValueId v) { return s.number(v).has_value(); });
}
Pattern number(double want) {
  return any("").where([want](const Scope& s, ValueId v) {
    std::optional<double> got = s.number(v);
    const double room = s[v].dtype == DType::f64 ? 0x1p-52 : s[v].dtype == DType::f32 ? 0x1p-23 : 0;
    return got && std::abs(*got - want) <= room * std::abs(want);
  });
}
Pattern call(const char* name, std::vector<Pattern> operands) {
  const bool commutes = operands.size() == 2 && (!std::strcmp(name, "add") || !std::strcmp(name, "multiply"));
  return {.kind = Pattern::call, .parts = std::move(operands), .op = op::find_op(name), .commutes = commutes};
}
Pattern either(Pattern a, Pattern b) { return {.kind = Pattern::either, .parts = {std::move(a), std::move(b)}}; }

ValueId Match::operator[](const std::string& name) const {
  for (const auto& entry : named_)
    if (entry.first == name) return entry.second;
  return kNone;
}
const Node& Match::node(const std::string& name) const { return *scope_->maker((*this)[name]); }

// Tries alternatives until all that comes after agrees as well.
class Matcher {
 public:
  using Rest = std::function<bool()>;
  explicit Matcher(const Scope& s) : s_(s) { found.scope_ = &s; }
  Match found;

  bool match(const Pattern& p, ValueId v, const Rest& rest) {
    if (p.kind == Pattern::either)
      return std::any_of(p.parts.begin(), p.parts.end(), [&](const Pattern& part) { return match(part, v, rest); });
    if (v == kNone) return p.may_be_absent && named(p, v, rest);
    if (p.kind == Pattern::value) return (!p.accepts || p.accepts(s_, v)) && named(p, v, rest);
    const Node* n = s_.maker(v);
    if (!n || n->op != p.op || n->version != n->def().def->version || !n->bodies.empty()) return false;
    if (p.accepts && !p.accepts(s_, v)) return false;
    for (size_t i = p.parts.size(); i < n->inputs.size(); ++i)
      if (n->inputs[i] != kNone) return false;
    const bool is_new = std::find(found.nodes_.begin(), found.nodes_.end(), n) == found.nodes_.end();
    if (is_new) found.nodes_.push_back(n);
    if (named(p, v, [&] { return operands(p, *n, 0, false, rest); })) return true;
    if (p.commutes && named(p, v, [&] { return operands(p, *n, 0, true, rest); })) return true;
    if (is_new) found.nodes_.pop_back();
    return false;
  }

 private:
  bool operands(const Pattern& p, const Node& n, size_t i, bool swapped, const Rest& rest) {
    if (i == p.parts.size()) return rest();
    const size_t at = swapped ? 1 - i : i;
    const ValueId v = at < n.inputs.size() ? s_.now(n.inputs[at]) : kNone;
    return match(p.parts[i], v, [&, i] { return operands(p, n, i + 1, swapped, rest); });
  }
  bool named(const Pattern& p, ValueId v, const Rest& rest) {
    if (p.name.empty()) return rest();
    for (const auto& entry : found.named_)
      if (entry.first == p.name) return entry.second == v && rest();
    found.named_.emplace_back(p.name, v);
    if (rest()) return true;
    found.named_.pop_back();
    return false;
  }
  const Scope& s_;
};

std::optional<Match> match(const Scope& scope, const Pattern& pattern, ValueId root) {
  Matcher m(scope);
  if (!m.match(pattern, root, [] { return true; })) return {};
  return std::move(m.found);
}

}  // namespace oarlock::rewrite
