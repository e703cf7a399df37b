// Questions that passes ask about values.
#include <algorithm>
#include <numeric>

#include "core/graph/passes/pass.h"

namespace oarlock::graph {
namespace {

bool is_written(const Node& n, size_t i) {
  return n.inputs[i] != kNone && (n.def().mutated >> std::min<size_t>(i, 63) & 1);
}
// May an output be an alias of an operand? Composites that end in a view take any elements; arithmetic does not.
bool may_alias(const Node& n) {
  const op::Op& op = n.def();
  return op.def->view || !n.bodies.empty() ||
         (op.def->decompose && !op.def->reference && (op.rule.first_type & kStorage));
}

}  // namespace

bool writes(const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (is_written(node, i)) return true;
  for (const Body& b : node.bodies) {
    bool any = false;
    each_node(b, [&](const Node& n) {
      for (size_t i = 0; i < n.inputs.size(); ++i) any |= is_written(n, i);
    });
    if (any) return true;
  }
  return false;
}

Aliases::Aliases(const Program& p) : parent_(p.values.size()), marks_(p.values.size(), 0) {
  std::iota(parent_.begin(), parent_.end(), 0);
  each_node(p.body, [&](const Node& n) {
    size_t after = size_t(n.own_outputs());
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!is_written(n, i)) continue;
      if (ValueId v = n.outputs[after++]; v != kNone) join(n.inputs[i], v);
    }
    if (!may_alias(n)) return;
    std::vector<ValueId> all = reads(n);
    for (const Body& b : n.bodies) {
      all.insert(all.end(), b.parameters.begin(), b.parameters.end());
      all.insert(all.end(), b.results.begin(), b.results.end());
    }
    for (ValueId out : n.outputs)
      for (ValueId v : all)
        if (out != kNone && p[out].dtype == p[v].dtype) join(out, v);
  });
  auto mark = [&](ValueId v, uint8_t as) { marks_[size_t(root(v))] |= as; };
  each_node(p.body, [&](const Node& n) {
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (is_written(n, i)) mark(n.inputs[i], kWritten);
  });
  for (size_t v = 0; v < p.values.size(); ++v)
    if (p.values[v].kind == Kind::input || p.values[v].kind == Kind::state || p.values[v].kind == Kind::feed)
      mark(ValueId(v), kOutside);
  for (ValueId v : p.body.results) mark(v, kOutside);
  for (const Program::Update& g : p.gradients) mark(g.value, kOutside);
}
ValueId Aliases::root(ValueId v) const {
  for (ValueId up; (up = parent_[size_t(v)]) != v; v = up) parent_[size_t(v)] = parent_[size_t(up)];
  return v;
}
void Aliases::join(ValueId a, ValueId b) {
  for (size_t n = parent_.size(); n <= size_t(std::max(a, b)); ++n) {
    parent_.push_back(ValueId(n));
    marks_.push_back(0);
  }
  a = root(a);
  b = root(b);
  marks_[size_t(a)] |= marks_[size_t(b)];
  parent_[size_t(b)] = a;
}

void replace_uses(Program& p, const std::vector<ValueId>& to) {
  auto set = [&](ValueId& v) {
    while (v != kNone && size_t(v) < to.size() && to[size_t(v)] != kNone) v = to[size_t(v)];
  };
  for (ValueId& v : p.body.results) set(v);
  each_node(p.body, [&](Node& n) {
    for (ValueId& v : n.inputs) set(v);
    for (Body& b : n.bodies)
      for (ValueId& v : b.results) set(v);
  });
  for (auto* list : {&p.updates, &p.gradients})
    for (Program::Update& u : *list) set(u.value);
}

}  // namespace oarlock::graph
