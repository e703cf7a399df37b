// Calling a layer: hooks, and forward in its two forms.
#include "api/src/nn/layer_state.h"

namespace oarlock::nn {
namespace {

// The layer whose own forward was asked for last by the other form's default: asked again, it has none.
__attribute__((tls_model("initial-exec"))) thread_local const Layer* asked = nullptr;
struct Asking {
  const Layer* before;
  explicit Asking(const Layer* layer) : before(asked) { asked = layer; }
  ~Asking() { asked = before; }
};
void check_asked(const Layer* layer) {
  if (asked == layer)
    throw Error(Code::unsupported,
                layer->type_name() + ": it has no forward. Override forward(x), or forward_all for several tensors.");
}

}  // namespace

static Tensor only(const Layer& layer, std::vector<Tensor> outputs) {
  if (outputs.size() != 1)
    throw Error(Code::invalid_argument, layer.type_name() + ": gives " + std::to_string(outputs.size()) +
                                            " tensors, one was asked for. Use call.");
  return std::move(outputs[0]);
}

Tensor Layer::forward(const Tensor& x) {
  check_asked(this);
  Asking scope(this);
  return only(*this, forward_all(std::span<const Tensor>(&x, 1)));
}
std::vector<Tensor> Layer::forward_all(std::span<const Tensor> inputs) {
  if (inputs.size() != 1)
    throw Error(Code::invalid_argument,
                type_name() + ": takes one input, given " + std::to_string(inputs.size()) + ".");
  check_asked(this);
  Asking scope(this);
  return {forward(inputs[0])};
}

std::vector<Tensor> Layer::call_with_hooks(std::span<const Tensor> inputs) {
  std::vector<Tensor> given;
  auto pre = state_->pre;
  for (auto& hook : *pre) {
    std::vector<Tensor> other = hook.f(*this, inputs);
    if (other.empty()) continue;
    given = std::move(other);
    inputs = given;
  }
  std::vector<Tensor> outputs;
  {
    Asking fresh(nullptr);
    auto forward = state_->forward;
    outputs = forward ? (*forward)(inputs) : forward_all(inputs);
  }
  auto post = state_->post;
  for (auto& hook : *post) {
    std::vector<Tensor> other = hook.f(*this, inputs, outputs);
    if (!other.empty()) outputs = std::move(other);
  }
  return outputs;
}
std::vector<Tensor> Layer::call(Tensors inputs) {
  std::span<const Tensor> all(inputs.data(), inputs.size());
  if (hooked_) return call_with_hooks(all);
  Asking fresh(nullptr);
  return forward_all(all);
}
Tensor Layer::call_for_one(std::span<const Tensor> inputs) { return only(*this, call(inputs)); }
Tensor Layer::operator()(const Tensor& x) {
  if (hooked_) return only(*this, call_with_hooks(std::span<const Tensor>(&x, 1)));
  Asking fresh(nullptr);
  return forward(x);
}

HookHandle::HookHandle(std::weak_ptr<void> owner, std::function<void()> remove)
    : owner_(std::move(owner)), remove_(std::move(remove)) {}
void HookHandle::remove() {
  if (auto alive = owner_.lock(); alive && remove_) remove_();
  remove_ = nullptr;
}

template <class List, class F>
static void add(std::shared_ptr<List>& list, uint64_t id, F hook) {
  auto copy = std::make_shared<List>(*list);
  copy->push_back({id, std::move(hook)});
  list = std::move(copy);
}
template <class List>
static void take(std::shared_ptr<List>& list, uint64_t id) {
  auto copy = std::make_shared<List>(*list);
  std::erase_if(*copy, [&](auto& h) { return h.id == id; });
  list = std::move(copy);
}
void Layer::look_for_hooks() { hooked_ = !state_->pre->empty() || !state_->post->empty() || state_->forward; }
void Layer::set_forward(ForwardFunction forward) {
  state_->forward = forward ? std::make_shared<ForwardFunction>(std::move(forward)) : nullptr;
  look_for_hooks();
}
HookHandle Layer::register_forward_pre_hook(PreHook hook) {
  uint64_t id = state_->next_hook++;
  add(state_->pre, id, std::move(hook));
  hooked_ = true;
  return {state_->alive, [this, id] {
            take(state_->pre, id);
            look_for_hooks();
          }};
}
HookHandle Layer::register_forward_post_hook(PostHook hook) {
  uint64_t id = state_->next_hook++;
  add(state_->post, id, std::move(hook));
  hooked_ = true;
  return {state_->alive, [this, id] {
            take(state_->post, id);
            look_for_hooks();
          }};
}

}  // namespace oarlock::nn
