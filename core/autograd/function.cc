// Functions with a gradient of their own, on the same tape as the ops.
#include <oarlock/base/autograd.h>

#include "core/autograd/tape.h"
#include "core/device/host_memory.h"
#include "core/tensor/impl.h"

namespace oarlock {

struct FunctionCall {
  static std::vector<Tensor> run(std::shared_ptr<Function> function, std::span<const Tensor> inputs) {
    if (!function) throw_if(invalid("apply_function: the function is null."));
    FunctionContext context;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined() && inputs[i].requires_grad() && grad_enabled())
        context.wanted_ |= uint64_t(1) << std::min<size_t>(i, 63);
    std::vector<Tensor> outputs;
    {
      NoGrad off;
      outputs = function->forward(context, inputs);
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].defined())
        throw_if(invalid(function->name() + ": forward gave output " + std::to_string(i) +
                         " no value. Return a tensor for each output."));
    if (context.wanted_) record(std::move(function), context, inputs, outputs);
    return outputs;
  }

  static FunctionContext again(uint64_t wanted, std::vector<Tensor> saved) {
    FunctionContext context;
    context.wanted_ = wanted;
    context.saved_ = std::move(saved);
    return context;
  }

 private:
  static void record(std::shared_ptr<Function> function, FunctionContext& context, std::span<const Tensor> inputs,
                     std::vector<Tensor>& outputs) {
    auto among = [](const std::vector<Tensor>& list, const Tensor& t) {
      for (const Tensor& other : list)
        if (other.impl() == t.impl()) return true;
      return false;
    };
    auto* n = new (object_allocate(sizeof(Node))) Node;
    struct Hold {
      Node* node;
      ~Hold() { release(node); }
    } hold{n};
    n->op = 0;
    n->sequence = next_in_sequence();
    n->wanted = context.wanted_;
    NodeExtra& extra = extra_of(*n);
    extra.function = std::move(function);
    extra.call_site = call_site();
    std::vector<Tensor> before = outputs;  // as forward saw them
    n->outputs.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Tensor& t = outputs[i];
      n->outputs[i] = {hollow_tensor(*t.impl()), 0, false, true};
      if (!(set_of(t.dtype()) & (kFloat | kComplex)) || among(context.without_gradient_, t)) continue;
      // A header of its own: forward may return an input, or something it keeps, and those stay what they are.
      t = t.detach();
      t.impl()->requires_grad = true;
      Autograd& a = autograd_of(*t.impl());
      a.node = n;
      a.output = int(i);
      retain(n);
    }
    for (const Tensor& t : context.saved_) {
      if (!t.defined()) {
        extra.saved.push_back({});
        extra.saved_output.push_back(-1);
        continue;
      }
      int output = -1;
      for (size_t i = 0; i < before.size(); ++i)
        if (before[i].impl() == t.impl()) output = int(i);
      TensorImpl* p = t.impl();
      uint32_t version = version_of(*p);
      bool again = output >= 0 && outputs[size_t(output)].requires_grad();
      if (again) {
        p = alias_tensor(*p, p->shape, p->strides, 0);
      } else {
        detail::retain(p);
      }
      extra.saved.push_back({p, version, true, again});
      extra.saved_output.push_back(output);
    }
    n->inputs.resize(inputs.size());
    n->edges.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined()) continue;
      n->inputs[i] = {hollow_tensor(*inputs[i].impl()), 0, false, false};
      set_edge(n->edges[i], inputs[i].impl());
    }
  }
};

Function::~Function() = default;
void FunctionContext::save(std::span<const Tensor> tensors) { saved_.assign(tensors.begin(), tensors.end()); }
void FunctionContext::mark_non_differentiable(const Tensor& output) { without_gradient_.push_back(output); }

std::vector<Tensor> apply_function(std::shared_ptr<Function> function, std::span<const Tensor> inputs) {
  return FunctionCall::run(std::move(function), inputs);
}

FunctionContext context_for_backward(uint64_t wanted, std::vector<Tensor> saved) {
  return FunctionCall::again(wanted, std::move(saved));
}

}  // namespace oarlock
