#include "core/graph/program.h"

#include <algorithm>
#include <unordered_set>

namespace oarlock::graph {

const char* to_text(Kind kind) {
  static const char* const kText[] = {"input", "feed", "constant", "state", "computed", "parameter"};
  return kText[int(kind)];
}

Node::Node(const Node& o)
    : op(o.op),
      version(o.version),
      attrs(op::OwnedAttrs(o.attrs.view())),
      inputs(o.inputs),
      outputs(o.outputs),
      bodies(o.bodies),
      where(o.where) {}
Node& Node::operator=(const Node& o) {
  if (this != &o) *this = Node(o);
  return *this;
}
int Node::own_outputs() const {
  int written = 0;
  const op::Op& d = def();
  for (size_t i = 0; i < inputs.size(); ++i)
    written += inputs[i] != kNone && (d.mutated >> std::min<size_t>(i, 63) & 1);
  return int(outputs.size()) - written;
}

ValueId Program::add(Value v) {
  values.push_back(std::move(v));
  return ValueId(values.size() - 1);
}
std::string Program::name_of(ValueId v) const {
  if (v == kNone) return "none";
  if (size_t(v) < values.size() && !values[size_t(v)].name.empty()) return values[size_t(v)].name;
  return "%" + std::to_string(v);
}

void each_node(Body& body, const std::function<void(Node&)>& see) {
  for (Node& n : body.nodes) {
    see(n);
    for (Body& b : n.bodies) each_node(b, see);
  }
}
void each_node(const Body& body, const std::function<void(const Node&)>& see) {
  for (const Node& n : body.nodes) {
    see(n);
    for (const Body& b : n.bodies) each_node(b, see);
  }
}

std::vector<ValueId> reads(const Node& node) {
  std::vector<ValueId> out = node.inputs;
  std::unordered_set<ValueId> inside;
  for (const Body& b : node.bodies) inside.insert(b.parameters.begin(), b.parameters.end());
  for (const Body& b : node.bodies) {
    each_node(b, [&](const Node& n) {
      inside.insert(n.outputs.begin(), n.outputs.end());
      for (const Body& own : n.bodies) inside.insert(own.parameters.begin(), own.parameters.end());
    });
    each_node(b, [&](const Node& n) { out.insert(out.end(), n.inputs.begin(), n.inputs.end()); });
    out.insert(out.end(), b.results.begin(), b.results.end());
    each_node(b, [&](const Node& n) {
      for (const Body& own : n.bodies) out.insert(out.end(), own.results.begin(), own.results.end());
    });
  }
  std::unordered_set<ValueId> seen;
  std::erase_if(out, [&](ValueId v) { return v == kNone || inside.contains(v) || !seen.insert(v).second; });
  return out;
}

namespace {

// Every place in a program that names a value.
template <class P, class See>
void each_name(P& p, const See& see) {
  using N = std::conditional_t<std::is_const_v<P>, const Node, Node>;
  for (auto& v : p.body.results) see(v);
  each_node(p.body, [&](N& n) {
    for (auto& v : n.inputs) see(v);
    for (auto& b : n.bodies)
      for (auto& v : b.results) see(v);
  });
  for (auto* list : {&p.updates, &p.gradients})
    for (auto& u : *list) {
      see(u.state);
      see(u.value);
    }
}

}  // namespace

std::vector<int> count_uses(const Program& p) {
  std::vector<int> out(p.values.size(), 0);
  each_name(p, [&](const ValueId& v) {
    if (v != kNone) ++out[size_t(v)];
  });
  return out;
}

void replace_uses(Program& p, ValueId from, ValueId to) {
  each_name(p, [&](ValueId& v) {
    if (v == from) v = to;
  });
}

void compact(Program& p) {
  std::vector<ValueId> to(p.values.size(), kNone);
  auto mark = [&](const ValueId& v) {
    if (v != kNone) to[size_t(v)] = 0;
  };
  const Program& c = p;
  each_name(c, mark);
  for (ValueId v : p.body.parameters) mark(v);
  for (ValueId v : p.feeds) mark(v);
  each_node(c.body, [&](const Node& n) {
    for (ValueId v : n.outputs) mark(v);
    for (const Body& b : n.bodies)
      for (ValueId v : b.parameters) mark(v);
  });
  std::vector<Value> values;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == kNone) continue;
    to[i] = ValueId(values.size());
    values.push_back(std::move(p.values[i]));
  }
  p.values = std::move(values);
  auto rename = [&](ValueId& v) {
    if (v != kNone) v = to[size_t(v)];
  };
  each_name(p, rename);
  for (ValueId& v : p.body.parameters) rename(v);
  for (ValueId& v : p.feeds) rename(v);
  each_node(p.body, [&](Node& n) {
    for (ValueId& v : n.outputs) rename(v);
    for (Body& b : n.bodies)
      for (ValueId& v : b.parameters) rename(v);
  });
}

}  // namespace oarlock::graph
