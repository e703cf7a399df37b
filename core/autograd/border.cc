// The border of a stretch of the tape.
#include <set>
#include <unordered_set>

#include "core/autograd/tape.h"

namespace oarlock {

std::vector<Tensor> read_before(std::span<const Tensor> results, uint64_t since) {
  std::vector<Tensor> out;
  std::vector<Node*> to_see;
  std::unordered_set<Node*> seen;
  std::set<std::pair<Node*, int>> computed;
  std::unordered_set<TensorImpl*> leaves;
  auto reach = [&](Node* node, int output, TensorImpl* leaf, const TensorImpl& like) {
    if (node && node->sequence >= since) {
      if (seen.insert(node).second) to_see.push_back(node);
    } else if (node) {
      if (!computed.insert({node, output}).second) return;
      TensorImpl* t = hollow_tensor(like);
      t->requires_grad = true;
      Autograd& a = autograd_of(*t);
      a.node = node;
      a.output = output;
      retain(node);
      out.push_back(Tensor::adopt(t));
    } else if (leaf && leaves.insert(leaf).second) {
      detail::retain(leaf);
      out.push_back(Tensor::adopt(leaf));
    }
  };
  for (const Tensor& r : results) {
    TensorImpl* t = r.impl();
    if (!t || !t->requires_grad) continue;
    bool is_computed = t->autograd && t->autograd->node;
    reach(is_computed ? t->autograd->node : nullptr, is_computed ? t->autograd->output : 0, t, *t);
  }
  while (!to_see.empty()) {
    Node* n = to_see.back();
    to_see.pop_back();
    for (size_t i = 0; i < n->edges.size(); ++i)
      if (const Edge& e = n->edges[i]; n->inputs[i].tensor) reach(e.node, e.output, e.leaf, *n->inputs[i].tensor);
  }
  return out;
}

}  // namespace oarlock
