#include "ops/rewrite/rewriter.h"

#include <algorithm>

#include "core/tensor/impl.h"

namespace oarlock::rewrite {
namespace {

constexpr int kMaxSweeps = 32;  // a chain of n is halved by each

class Rewriter {
 public:
  Rewriter(Program& p, std::span<const Rule> rules)
      : p_(p), rules_(rules), scope_(p), aliases_(p), uses_(graph::count_uses(p)), recording_(p, fresh_, Device()) {}

  int run() {
    body(p_.body);
    return changes_;
  }
  const std::vector<ValueId>& moved() const { return scope_.moved; }

 private:
  void body(graph::Body& b) {
    for (Node& n : b.nodes)
      for (graph::Body& inner : n.bodies) body(inner);
    for (int i = 0; i < kMaxSweeps; ++i)
      if (!sweep(b)) break;
  }
  int& uses(ValueId v) {
    if (size_t(v) >= uses_.size()) uses_.resize(p_.values.size(), 0);
    return uses_[size_t(v)];
  }

  bool sweep(graph::Body& b) {
    scope_.makers.clear();
    for (const Node& n : b.nodes)
      if (!n.outputs.empty() && n.outputs[0] != kNone) scope_.makers[n.outputs[0]] = &n;
    std::vector<std::vector<Node>> before(b.nodes.size());  // what comes in front of each
    bool any = false;
    for (size_t i = b.nodes.size(); i-- > 0;) {
      const Node& n = b.nodes[i];
      if (n.outputs.empty() || n.outputs[0] == kNone || uses(n.outputs[0]) == 0) continue;
      for (const Rule& rule : rules_)
        if (replace(rule, n)) {
          before[i] = std::move(fresh_);
          fresh_.clear();
          any = true;
          ++changes_;
          break;
        }
    }
    if (!any) return false;
    std::vector<Node> nodes;
    for (size_t i = 0; i < b.nodes.size(); ++i) {
      std::move(before[i].begin(), before[i].end(), std::back_inserter(nodes));
      if (!gone(b.nodes[i])) nodes.push_back(std::move(b.nodes[i]));
    }
    b.nodes = std::move(nodes);
    return true;
  }
  bool gone(const Node& n) {
    return !n.outputs.empty() && n.outputs[0] != kNone && scope_.makers.find(n.outputs[0]) == scope_.makers.end();
  }

  bool may_replace(const Match& m, const Node& root, const Rule& rule) {
    std::unordered_map<ValueId, int> inside;
    for (const Node* n : m.nodes())
      for (ValueId v : n->inputs)
        if (v != kNone) ++inside[scope_.now(v)];
    for (const Node* n : m.nodes()) {
      for (ValueId v : n->inputs)
        if (aliases_.written(scope_.now(v))) return false;
      for (size_t i = 0; i < n->outputs.size(); ++i) {
        const ValueId v = n->outputs[i];
        if (v == kNone) continue;
        if (aliases_.written(v) || (i > 0 && uses(v) > 0)) return false;
        if (n != &root && !rule.shared && uses(v) != inside[v]) return false;
      }
    }
    for (const std::string& name : rule.consumed)
      if (ValueId v = m[name]; v != kNone && uses(v) != inside[v]) return false;
    return true;
  }
  bool replace(const Rule& rule, const Node& root) {
    const ValueId old = root.outputs[0];
    const size_t guards = p_.guards.size();
    ValueId made = kNone;
    try {
      std::optional<Match> m = match(scope_, rule.pattern, old);
      if (!m || !may_replace(*m, root, rule)) return false;
      recording_.set_where(root.where.empty() ? "rewritten" : root.where);
      if (Tensor t = rule.put(Found(*m, recording_)); t.defined()) made = scope_.now(recording_.value(t));
    } catch (const Error&) { made = kNone; }
    // An alias is one in eager code as well, or else stays apart from what others see.
    const bool apart = rule.is_view || !aliases_.outside(old) || !aliases_.outside(made);
    const bool fits = apart && made != kNone && made != old && p_.guards.size() == guards &&
                      p_[made].dtype == p_[old].dtype && p_[made].host == p_[old].host &&
                      p_[made].shape == p_[old].shape;
    if (!fits) {
      p_.guards.resize(guards);
      fresh_.clear();
      return false;
    }
    for (Node& n : fresh_) {
      if (root.where.empty()) n.where.clear();
      for (ValueId& v : n.inputs)
        if (v != kNone) ++uses(v = scope_.now(v));
    }
    aliases_.join(made, old);
    uses(made) += uses(old);
    uses(old) = 0;
    if (scope_.moved.size() < p_.values.size()) scope_.moved.resize(p_.values.size(), kNone);
    scope_.moved[size_t(old)] = made;
    remove(root);
    return true;
  }
  // The node, and what only it read.
  void remove(const Node& first) {
    std::vector<const Node*> list{&first};
    while (!list.empty()) {
      const Node& n = *list.back();
      list.pop_back();
      scope_.makers.erase(n.outputs[0]);
      for (ValueId v : n.inputs) {
        v = scope_.now(v);
        if (v == kNone || --uses(v) > 0) continue;
        const Node* from = scope_.maker(v);
        if (from && !graph::writes(*from) && from->bodies.empty() &&
            std::all_of(from->outputs.begin(), from->outputs.end(),
                        [&](ValueId o) { return o == kNone || uses(o) == 0; }))
          list.push_back(from);
      }
    }
  }

  Program& p_;
  std::span<const Rule> rules_;
  Scope scope_;
  graph::Aliases aliases_;
  std::vector<int> uses_;
  std::vector<Node> fresh_;
  graph::Recording recording_;
  int changes_ = 0;
};

}  // namespace

int rewrite_by(Program& p, std::span<const Rule> rules) {
  std::vector<ValueId> moved;
  int changes = 0;
  {
    Rewriter r(p, rules);
    changes = r.run();
    moved = r.moved();
  }
  if (changes > 0) graph::replace_uses(p, moved);
  return changes;
}

}  // namespace oarlock::rewrite
