#include "core/graph/order_check.h"

#include <algorithm>
#include <queue>

namespace oarlock::graph {

OrderCheck::OrderCheck(const Program& p, const Body& body) : after_(body.nodes.size()) {
  std::vector<int> maker(p.values.size(), -1);
  // Values that lie in one memory: those of views and of writes. Per memory, who touched it since it was written last, and
  // who wrote.
  std::vector<ValueId> memory(p.values.size());
  for (size_t v = 0; v < memory.size(); ++v) memory[v] = ValueId(v);
  std::vector<std::vector<int>> readers(p.values.size());
  std::vector<int> writer(p.values.size(), -1);
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const Node& n = body.nodes[i];
    const op::Op& op = n.def();
    int node = int(i);
    auto later = [&](int first) {
      if (first >= 0 && first != node) after_[size_t(first)].push_back(node);
    };
    for (ValueId v : reads(n)) {
      later(maker[size_t(v)]);
      ValueId m = memory[size_t(v)];
      later(writer[size_t(m)]);
      readers[size_t(m)].push_back(node);
    }
    for (ValueId v : n.outputs)
      if (v != kNone) maker[size_t(v)] = node;
    if (op.def->view && n.inputs[0] != kNone && n.outputs[0] != kNone)
      memory[size_t(n.outputs[0])] = memory[size_t(n.inputs[0])];
    size_t own = size_t(n.own_outputs());
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (n.inputs[k] == kNone || !(op.mutated >> std::min<size_t>(k, 63) & 1)) continue;
      ValueId m = memory[size_t(n.inputs[k])], now = n.outputs[own++];
      for (int reader : readers[size_t(m)]) later(reader);
      readers[size_t(m)].clear();
      writer[size_t(m)] = node;
      if (now != kNone) memory[size_t(now)] = m;
    }
  }
}

int OrderCheck::closes_cycle(const std::vector<int>& nodes, const std::vector<int>& owner) const {
  if (nodes.size() < 2) return -1;
  std::vector<char> inside(after_.size(), 0), seen(after_.size(), 0);
  for (int n : nodes) inside[size_t(n)] = 1;
  std::vector<int> open;
  auto step = [&](int from) -> int {
    for (int to : after_[size_t(from)]) {
      if (inside[size_t(to)]) {
        if (!inside[size_t(from)]) return from;
        continue;
      }
      if (seen[size_t(to)]) continue;
      if (owner[size_t(to)] < 0) {
        seen[size_t(to)] = 1;
        open.push_back(to);
        continue;
      }
      for (int mate : groups_[size_t(owner[size_t(to)])]) {
        seen[size_t(mate)] = 1;
        open.push_back(mate);
      }
    }
    return -1;
  };
  for (int n : nodes) step(n);
  while (!open.empty()) {
    int from = open.back();
    open.pop_back();
    if (int between = step(from); between >= 0) return between;
  }
  return -1;
}

void OrderCheck::join(const std::vector<int>& nodes, int group) {
  groups_.resize(size_t(group) + 1);
  groups_[size_t(group)] = nodes;
}

std::vector<int> OrderCheck::order(const std::vector<int>& owner) const {
  // A unit goes by its first node.
  auto unit = [&](int node) { return owner[size_t(node)] < 0 ? node : groups_[size_t(owner[size_t(node)])].front(); };
  std::vector<int> waits(after_.size(), 0), out;
  auto each = [&](int first, auto see) {
    if (owner[size_t(first)] < 0) return see(first);
    for (int node : groups_[size_t(owner[size_t(first)])]) see(node);
  };
  for (size_t i = 0; i < after_.size(); ++i)
    for (int to : after_[i])
      if (unit(to) != unit(int(i))) ++waits[size_t(unit(to))];
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (size_t i = 0; i < after_.size(); ++i)
    if (unit(int(i)) == int(i) && waits[i] == 0) ready.push(int(i));
  while (!ready.empty()) {
    int first = ready.top();
    ready.pop();
    out.push_back(owner[size_t(first)] < 0 ? first : -1 - owner[size_t(first)]);
    each(first, [&](int node) {
      for (int to : after_[size_t(node)])
        if (unit(to) != first && --waits[size_t(unit(to))] == 0) ready.push(unit(to));
    });
  }
  return out;
}

}  // namespace oarlock::graph
