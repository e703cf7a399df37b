#include "core/graph/passes/pass.h"

namespace oarlock::graph {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Program& p) : uses_(count_uses(p)) {}
  int sweep(Body& body) {
    int gone = 0;
    std::vector<bool> dead(body.nodes.size());
    for (size_t i = body.nodes.size(); i-- > 0;) {
      Node& n = body.nodes[i];
      if (used(n) || writes(n)) {
        for (Body& b : n.bodies) gone += sweep(b);
        continue;
      }
      dead[i] = true;
      ++gone;
      forget(n);
    }
    size_t at = 0;
    std::erase_if(body.nodes, [&](const Node&) { return bool(dead[at++]); });
    return gone;
  }

 private:
  bool used(const Node& n) const {
    for (ValueId v : n.outputs)
      if (v != kNone && uses_[size_t(v)] > 0) return true;
    return false;
  }
  void forget(const Node& n) {
    auto drop = [&](const std::vector<ValueId>& names) {
      for (ValueId v : names)
        if (v != kNone) --uses_[size_t(v)];
    };
    drop(n.inputs);
    for (const Body& b : n.bodies) {
      drop(b.results);
      each_node(b, [&](const Node& inner) {
        drop(inner.inputs);
        for (const Body& own : inner.bodies) drop(own.results);
      });
    }
  }
  std::vector<int> uses_;
};

}  // namespace

int remove_dead_code(Program& p) { return DeadCode(p).sweep(p.body); }

}  // namespace oarlock::graph
