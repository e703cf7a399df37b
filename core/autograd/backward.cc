// Backward: the nodes that the outputs reach, latest first, each handing gradients to those before it.
#include <queue>
#include <unordered_map>

#include <oarlock/base/autograd.h>

#include "core/autograd/tape.h"
#include "core/device/device.h"
#include "core/dispatch/role.h"
#include "core/op/calls.h"
#include "core/profile/trace.h"
#include "core/tensor/impl.h"

namespace oarlock {
namespace {

struct Later {
  bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
};

class Backward {
 public:
  Backward(bool keep_graph, bool create_graph, uint64_t since = 0)
      : keep_(keep_graph || create_graph), create_(create_graph), since_(since) {}
  ~Backward() {
    for (auto& [node, pending] : douts_) release(node);
  }

  // Leaves whose gradients are returned instead of accumulated; others are left alone.
  void want_only(std::span<const Tensor> inputs) {
    only_ = true;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TensorImpl* t = inputs[i].impl();
      if (t->autograd && t->autograd->node) captured_[{t->autograd->node, t->autograd->output}].push_back(i);
      else leaves_[t].push_back(i);
    }
    results.resize(inputs.size());
  }

  Status start(const Tensor& output, const Tensor& seed) {
    TensorImpl* t = output.impl();
    if (!t) return invalid("backward: an output has no value.");
    if (!t->requires_grad)
      return invalid(
          "backward: an output of shape " + to_string(t->shape) +
          " depends on nothing that requires a gradient. Call set_requires_grad on a leaf before computing with it.");
    Tensor g = seed;
    if (!g.defined()) {
      if (count(t->shape) != 1)
        return invalid("backward: the output has shape " + to_string(t->shape) +
                       ", not one element. Give a seed of that shape, or reduce it first.");
      OAR_TRY(role::full(t->shape, 1.0, t->dtype, *t->device, &g));
    } else if (!(g.shape() == t->shape)) {
      return invalid("backward: the seed has shape " + to_string(g.shape()) + ", its output " + to_string(t->shape) +
                     ".");
    }
    if (t->autograd && t->autograd->node) return add(t->autograd->node, t->autograd->output, g);
    return reach_leaf(t, g);
  }

  Status run() {
    while (!ready_.empty()) {
      Node* n = ready_.top();
      ready_.pop();
      auto it = douts_.find(n);
      std::vector<Tensor> douts = std::move(it->second);
      douts_.erase(it);
      Status s = step(*n, douts);
      release(n);
      OAR_TRY(std::move(s));
    }
    for (auto& [leaf, gradient] : hooked_leaves_) {
      try {
        run_hooks(leaf->autograd->extra->hooks, 0, gradient);
      } catch (const Error& e) { return {e.code(), std::string("backward: ") + e.what()}; }
      OAR_TRY(accumulate_leaf(*leaf, gradient));
    }
    return {};
  }

  std::vector<Tensor> results;

 private:
  Status add(Node* n, int output, const Tensor& g) {
    if (n->sequence < since_) {
      if (auto it = captured_.find({n, output}); it != captured_.end())
        for (size_t i : it->second) OAR_TRY(accumulate(results[i], g));
      return {};
    }
    auto [it, fresh] = douts_.try_emplace(n);
    if (fresh) {
      retain(n);
      it->second.resize(n->outputs.size());
      ready_.push(n);
    }
    Tensor& have = it->second[size_t(output)];
    return accumulate(have, g);
  }
  Status accumulate(Tensor& have, const Tensor& g) {
    if (!have.defined()) {
      have = g;
      return {};
    }
    Tensor sum;
    OAR_TRY(role::add(have, g, &sum));
    have = sum;
    return {};
  }
  Status reach_leaf(TensorImpl* leaf, const Tensor& g) {
    if (only_) {
      auto it = leaves_.find(leaf);
      if (it != leaves_.end())
        for (size_t i : it->second) OAR_TRY(accumulate(results[i], g));
      return {};
    }
    Autograd& a = autograd_of(*leaf);
    if (a.extra && !a.extra->hooks.empty()) {
      for (auto& [other, sum] : hooked_leaves_)
        if (other == leaf) return accumulate(sum, g);
      hooked_leaves_.emplace_back(leaf, g);
      return {};
    }
    return accumulate_leaf(*leaf, g);
  }
  // The first gradient lies as its leaf does, which is what optimiser steps are fast on.
  Status accumulate_leaf(TensorImpl& leaf, const Tensor& g) {
    Tensor& have = autograd_of(leaf).grad;
    if (!have.defined() && leaf.contiguous && !g.is_contiguous()) return role::copy(g, &have);
    return accumulate(have, g);
  }

  static std::string name_of(const Node& n) {
    return is_function(n) ? n.extra->function->name() : std::string(op::op_at(n.op).def->name);
  }
  static std::string operand_name(const Node& n, const Saved& s, int index) {
    if (is_function(n)) return "saved tensor " + std::to_string(index);
    const op::OpDef& def = *op::op_at(n.op).def;
    return s.is_output ? def.outputs[std::min(index, def.outputs.count - 1)].name
                       : def.inputs[std::min(index, def.inputs.count - 1)].name;
  }

  Result<Tensor> value(const Node& n, const Saved& s, int index, int output) {
    if (!s.tensor) return Tensor();
    if (s.has_elements && version_of(*s.tensor) != s.version) {
      return invalid(name_of(n) + ": " + operand_name(n, s, index) +
                     " was written to after this call was recorded (version " + std::to_string(s.version) + ", now " +
                     std::to_string(version_of(*s.tensor)) +
                     "), so its gradient would be wrong. Write to a clone, or write after backward.");
    }
    if (s.is_output && create_ && s.has_elements) {  // give the rule an output that is on the tape again
      TensorImpl* again = alias_tensor(*s.tensor, s.tensor->shape, s.tensor->strides, 0);
      again->requires_grad = true;
      Autograd& a = autograd_of(*again);
      a.node = const_cast<Node*>(&n);
      a.output = output;
      retain(a.node);
      return Tensor::adopt(again);
    }
    detail::retain(s.tensor);
    return Tensor::adopt(s.tensor);
  }

  // The gradients of a node's inputs, by its op's rule or its function.
  Status differentiate(Node& n, std::vector<Tensor>& douts, std::vector<Tensor>& gradients) {
    std::vector<Tensor> in(n.inputs.size()), out(n.outputs.size());
    auto values = [&](std::span<const Saved> from, std::span<Tensor> to, const int* outputs) -> Status {
      for (size_t i = 0; i < to.size(); ++i) {
        Result<Tensor> v = value(n, from[i], int(i), outputs ? outputs[i] : int(i));
        if (!v) return std::move(v.status());
        to[i] = std::move(*v);
      }
      return {};
    };
    OAR_TRY(values({n.inputs.begin(), n.inputs.size()}, in, nullptr));
    OAR_TRY(values({n.outputs.begin(), n.outputs.size()}, out, nullptr));
    Device device;
    for (const Tensor& t : out)
      if (t.defined()) device = t.device();
    struct Restore {
      bool value = grad_mode();
      ~Restore() { grad_mode() = value; }
    } restore;
    grad_mode() = create_;
    try {
      DeviceScope scope(device);
      if (n.extra && !n.extra->hooks.empty())
        for (size_t i = 0; i < douts.size(); ++i)
          if (douts[i].defined()) run_hooks(n.extra->hooks, int(i), douts[i]);
      if (!captured_.empty())
        for (size_t i = 0; i < douts.size(); ++i)
          if (auto it = captured_.find({&n, int(i)}); it != captured_.end() && douts[i].defined())
            for (size_t r : it->second) OAR_TRY(accumulate(results[r], douts[i]));
      if (!is_function(n)) {
        const op::Op& op = op::op_at(n.op);
        op::GradientCall call{in, out, douts, n.wanted, n.attrs.view(), gradients, &op};
        op.def->gradient(call);
      } else {
        std::vector<Tensor> saved(n.extra->saved.size());
        OAR_TRY(values(n.extra->saved, saved, n.extra->saved_output.data()));
        FunctionContext context = context_for_backward(n.wanted, std::move(saved));
        gradients = n.extra->function->backward(context, douts);
        OAR_TRY(check_given(n, in, gradients));
      }
    } catch (const Error& e) {
      std::string site = n.extra ? n.extra->call_site : std::string();
      return {e.code(), "gradient of " + name_of(n) + ": " + e.what() +
                            (site.empty() ? "" : " Its forward call was made at " + site + ".")};
    }
    if (trace::active() & trace::kAnomaly) [[unlikely]] {
      std::vector<Tensor> read = in;
      read.insert(read.end(), out.begin(), out.end());
      read.insert(read.end(), douts.begin(), douts.end());
      OAR_TRY(
          check_for_nan("gradient of " + name_of(n), read, gradients, n.extra ? n.extra->call_site : std::string()));
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || (!n.edges[i].node && !n.edges[i].leaf)) continue;
      Status s = role::sum_to(gradients[i], in[i].shape(), &gradients[i]);
      if (!s.ok()) return {s.code(), "gradient of " + name_of(n) + ": " + std::string(s.text())};
    }
    return {};
  }
  static Status check_given(const Node& n, std::span<const Tensor> in, std::vector<Tensor>& gradients) {
    if (gradients.size() != in.size())
      return invalid(name_of(n) + ": backward returned " + std::to_string(gradients.size()) + " gradients for " +
                     std::to_string(in.size()) + " inputs. Return one each; no value means zero.");
    for (size_t i = 0; i < in.size(); ++i) {
      if (!gradients[i].defined() || !in[i].defined()) continue;
      if (!(gradients[i].shape() == in[i].shape()))
        return invalid(name_of(n) + ": backward returned a gradient of shape " + to_string(gradients[i].shape()) +
                       " for input " + std::to_string(i) + " of shape " + to_string(in[i].shape()) + ".");
      if (gradients[i].dtype() != in[i].dtype()) OAR_TRY(role::cast(gradients[i], in[i].dtype(), &gradients[i]));
    }
    return {};
  }

  Status step(Node& n, std::vector<Tensor>& douts) {
    if (n.freed)
      return invalid(name_of(n) +
                     ": this record was used by an earlier backward and is gone. Pass keep_graph to the first one.");
    std::vector<Tensor> gradients(n.inputs.size());
    if (trace::active()) [[unlikely]]
      OAR_TRACE_STOP("backward: gradient of " + name_of(n));
    trace::Span span("gradient", is_function(n) ? "function" : op::op_at(n.op).def->name);
    OAR_TRY(differentiate(n, douts, gradients));
    douts.clear();
    if (!keep_) {  // what was saved is not needed any more, and its memory may serve the next gradients
      n.freed = true;
      auto forget = [](Saved& s) {
        if (!s.tensor || !s.has_elements) return;
        detail::release(s.tensor);
        s.tensor = nullptr;
      };
      for (Saved& s : n.inputs) forget(s);
      for (Saved& s : n.outputs) forget(s);
      if (n.extra)
        for (Saved& s : n.extra->saved) forget(s);
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      Tensor& g = gradients[i];
      Edge& e = n.edges[i];
      if (!g.defined() || (!e.node && !e.leaf)) continue;
      if (e.node) OAR_TRY(add(e.node, e.output, g));
      else OAR_TRY(reach_leaf(e.leaf, g));
    }
    return {};
  }

  struct OutputHash {
    size_t operator()(const std::pair<Node*, int>& p) const { return size_t(p.first) * 31 + size_t(p.second); }
  };
  bool keep_, create_, only_ = false;
  uint64_t since_;  // nodes before are not gone through
  std::priority_queue<Node*, std::vector<Node*>, Later> ready_;
  std::unordered_map<Node*, std::vector<Tensor>> douts_;
  std::unordered_map<std::pair<Node*, int>, std::vector<size_t>, OutputHash> captured_;
  std::unordered_map<TensorImpl*, std::vector<size_t>> leaves_;
  std::vector<std::pair<TensorImpl*, Tensor>> hooked_leaves_;  // in the order reached
};

Status run(Backward& b, std::span<const Tensor> outputs, std::span<const Tensor> seeds, bool create_graph) {
  if (!seeds.empty() && seeds.size() != outputs.size())
    return invalid("backward: " + std::to_string(outputs.size()) + " outputs but " + std::to_string(seeds.size()) +
                   " seeds; give one each or none.");
  bool before = grad_mode();
  grad_mode() = create_graph;
  Status s;
  for (size_t i = 0; i < outputs.size() && s.ok(); ++i) s = b.start(outputs[i], seeds.empty() ? Tensor() : seeds[i]);
  if (s.ok()) s = b.run();
  grad_mode() = before;
  return s;
}

}  // namespace

void backward(std::span<const Tensor> outputs, std::span<const Tensor> seeds, bool keep_graph, bool create_graph) {
  Backward b(keep_graph, create_graph);
  throw_if(run(b, outputs, seeds, create_graph));
}

std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                              std::span<const Tensor> seeds, bool keep_graph, bool create_graph) {
  for (const Tensor& t : inputs)
    if (!t.defined() || !t.requires_grad())
      throw_if(invalid("gradients: an input requires no gradient. Call set_requires_grad on it before computing."));
  Backward b(keep_graph, create_graph);
  b.want_only(inputs);
  throw_if(run(b, outputs, seeds, create_graph));
  return std::move(b.results);
}

std::vector<Tensor> gradients_since(uint64_t since, std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                    std::span<const Tensor> seeds) {
  Backward b(false, false, since);
  b.want_only(inputs);
  throw_if(run(b, outputs, seeds, false));
  return std::move(b.results);
}

}  // namespace oarlock
