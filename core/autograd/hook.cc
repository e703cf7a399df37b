// Hooks: what a program wants to do with a gradient while backward runs.
#include <oarlock/base/autograd.h>

#include "core/autograd/tape.h"
#include "core/dispatch/role.h"
#include "core/tensor/impl.h"

namespace oarlock {
namespace {

TensorImpl& checked(const Tensor& t, const char* what) {
  if (!t.defined()) throw_if(invalid(std::string(what) + ": the tensor has no value."));
  if (!t.requires_grad())
    throw_if(invalid(std::string(what) + ": the tensor of shape " + to_string(t.shape()) +
                     " requires no gradient, so none will reach it. Call set_requires_grad on it, or on what it is "
                     "computed from."));
  return *t.impl();
}
// The list that a tensor's hooks stand in, and which output of it the tensor is.
std::vector<Hook>& hooks_of(TensorImpl& t, int* out_output) {
  Autograd& a = autograd_of(t);
  *out_output = a.node ? a.output : 0;
  if (a.node) return extra_of(*a.node).hooks;
  return a.more().hooks;
}

std::atomic<uint64_t> next_hook{1};

}  // namespace

uint64_t add_grad_hook(const Tensor& tensor, GradHook hook) {
  TensorImpl& t = checked(tensor, "add_grad_hook");
  if (!hook) throw_if(invalid("add_grad_hook: the hook is empty. Give a function."));
  int output = 0;
  std::vector<Hook>& hooks = hooks_of(t, &output);
  uint64_t id = next_hook.fetch_add(1, std::memory_order_relaxed);
  hooks.push_back({output, id, std::move(hook)});
  return id;
}

bool remove_grad_hook(const Tensor& tensor, uint64_t hook) {
  TensorImpl* t = tensor.impl();
  if (!t || !t->autograd) return false;
  Autograd& a = *t->autograd;
  std::vector<Hook>* hooks =
      a.node ? (a.node->extra ? &a.node->extra->hooks : nullptr) : (a.extra ? &a.extra->hooks : nullptr);
  return hooks && std::erase_if(*hooks, [&](const Hook& h) { return h.id == hook; }) > 0;
}

void retain_grad(const Tensor& tensor) {
  TensorImpl& t = checked(tensor, "retain_grad");
  if (!t.autograd || !t.autograd->node) return;  // a leaf keeps it anyway
  // The hook must not own the tensor: its node owns the hook, and the tensor its node. The slot outlives both.
  std::shared_ptr<Tensor>& kept = t.autograd->more().kept;
  if (kept) return;
  kept = std::make_shared<Tensor>();
  add_grad_hook(tensor, [slot = std::weak_ptr<Tensor>(kept)](const Tensor& g) {
    std::shared_ptr<Tensor> to = slot.lock();
    if (to && to->defined()) throw_if(role::add(*to, g, to.get()));
    else if (to) *to = g;
    return Tensor();
  });
}

void run_hooks(const std::vector<Hook>& hooks, int output, Tensor& gradient) {
  for (const Hook& h : std::vector<Hook>(hooks)) {  // a copy: a hook may remove itself
    if (h.output != output) continue;
    Tensor other = h.call(gradient);
    if (!other.defined()) continue;
    if (!(other.shape() == gradient.shape()))
      throw_if(invalid("a gradient hook returned shape " + to_string(other.shape()) + ", the gradient has " +
                       to_string(gradient.shape()) + ". Return the same shape, or no value to leave it as it is."));
    gradient = std::move(other);
  }
}

}  // namespace oarlock
