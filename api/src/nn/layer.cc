// Layer: owning, finding, moving.
#include <unordered_set>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

#include "api/src/nn/layer_state.h"

namespace oarlock::nn {
namespace {

bool floating(const Tensor& t) { return (set_of(t.dtype()) & (kFloat | kComplex)) != 0; }
std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

Layer::Layer() : state_(std::make_unique<State>()) {}
Layer::~Layer() = default;

bool Layer::has_own(std::string_view name) const {
  State& s = *state_;
  return State::find(s.parameters, name) || State::find(s.buffers, name) || s.find_layer(name);
}

static void check_name(const Layer& layer, std::string_view name, const char* what) {
  std::string who = layer.type_name() + ": " + what + " \"" + std::string(name) + "\"";
  if (name.empty()) throw Error(Code::invalid_argument, who + " has no name. Give it one.");
  if (name.find('.') != std::string_view::npos)
    throw Error(Code::invalid_argument, who + " has a dot in its name; dots separate layers. Leave it out.");
  if (layer.has_own(name))
    throw Error(Code::invalid_argument, who + ": the layer has something of that name already. Use set_" +
                                            std::string(what) + " to replace it.");
}
static void check_parameter(const Layer& layer, std::string_view name, const Tensor& value) {
  if (value.defined() && !floating(value))
    throw Error(Code::invalid_argument, layer.type_name() + ": parameter \"" + std::string(name) + "\" has dtype " +
                                            std::string(to_string(value.dtype())) +
                                            ", parameters are floating. Cast it or add it as a buffer.");
}

Tensor& Layer::add_parameter(std::string name, Tensor value, bool trainable) {
  check_name(*this, name, "parameter");
  check_parameter(*this, name, value);
  if (value.defined() && trainable != value.requires_grad()) value.set_requires_grad(trainable);
  state_->parameters.push_back({std::move(name), std::move(value)});
  return state_->parameters.back().value;
}
Tensor& Layer::add_buffer(std::string name, Tensor value, BufferOptions options) {
  check_name(*this, name, "buffer");
  state_->buffers.push_back({std::move(name), std::move(value), options});
  return state_->buffers.back().value;
}
void Layer::add_layer(std::string name, LayerPtr layer) {
  check_name(*this, name, "sublayer");
  set_sublayer(name, std::move(layer));
}

void Layer::set_parameter(const std::string& name, Tensor value) {
  check_parameter(*this, name, value);
  if (State::Slot* s = State::find(state_->parameters, name)) s->value = std::move(value);
  else {
    bool trainable = !value.defined() || value.requires_grad();
    add_parameter(name, std::move(value), trainable);
  }
}
void Layer::set_buffer(const std::string& name, Tensor value) {
  if (State::Slot* s = State::find(state_->buffers, name)) s->value = std::move(value);
  else add_buffer(name, std::move(value));
}
void Layer::set_sublayer(const std::string& name, LayerPtr layer) {
  std::string who = type_name() + ": sublayer \"" + name + "\"";
  if (!layer) throw Error(Code::invalid_argument, who + " is null. Make it with std::make_shared.");
  auto below = layer->sublayers();
  if (layer.get() == this || std::any_of(below.begin(), below.end(), [&](auto& l) { return l.get() == this; }))
    throw Error(Code::invalid_argument, who + " holds this very layer, so it would hold itself.");
  if (LayerPtr* have = state_->find_layer(name)) {
    *have = std::move(layer);
    return;
  }
  check_name(*this, name, "sublayer");
  state_->layers.emplace_back(name, std::move(layer));
}
void Layer::remove(std::string_view name) {
  for (auto* slots : {&state_->parameters, &state_->buffers})
    if (State::Slot* s = State::find(*slots, name)) {
      s->name.clear();
      s->value = Tensor();
      return;
    }
  auto& layers = state_->layers;
  auto it = std::find_if(layers.begin(), layers.end(), [&](auto& l) { return l.first == name; });
  if (it == layers.end())
    throw Error(Code::invalid_argument, type_name() + ": there is no \"" + std::string(name) + "\" to remove.");
  layers.erase(it);
}

const Layer& Layer::owner(std::string_view path, std::string_view* out_name) const {
  const Layer* l = this;
  for (size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1)) {
    LayerPtr* next = l->state_->find_layer(path.substr(0, dot));
    if (!next)
      throw Error(Code::invalid_argument,
                  l->type_name() + ": there is no sublayer \"" + std::string(path.substr(0, dot)) + "\".");
    l = next->get();
  }
  *out_name = path;
  return *l;
}
static Error none_of(const Layer& layer, const char* what, std::string_view name, const NamedTensors& have) {
  std::string text = layer.type_name() + ": there is no " + what + " \"" + std::string(name) + "\"";
  for (size_t i = 0; i < have.size(); ++i) text += (i ? ", " : "; there are ") + have[i].first;
  return Error(Code::invalid_argument, text + ".");
}
Tensor Layer::parameter(std::string_view path) const {
  const Layer& l = owner(path, &path);
  State::Slot* s = State::find(l.state_->parameters, path);
  if (!s) throw none_of(l, "parameter", path, l.named_parameters({}, false));
  return s->value;
}
Tensor Layer::buffer(std::string_view path) const {
  const Layer& l = owner(path, &path);
  State::Slot* s = State::find(l.state_->buffers, path);
  if (!s) throw none_of(l, "buffer", path, l.named_buffers({}, false));
  return s->value;
}
LayerPtr Layer::sublayer(std::string_view path) const {
  const Layer& l = owner(path, &path);
  LayerPtr* have = l.state_->find_layer(path);
  if (have) return *have;
  std::string text = l.type_name() + ": there is no sublayer \"" + std::string(path) + "\"";
  const char* before = "; there are ";
  for (auto& [name, layer] : l.state_->layers) {
    text += before + name;
    before = ", ";
  }
  throw Error(Code::invalid_argument, text + ".");
}

// ---- walking ----------------------------------------------------------------------------------------------------------
std::vector<std::pair<std::string, LayerPtr>> Layer::named_children() const {
  std::vector<std::pair<std::string, LayerPtr>> out;
  std::unordered_set<const Layer*> seen;
  for (auto& [name, layer] : state_->layers)
    if (seen.insert(layer.get()).second) out.emplace_back(name, layer);
  return out;
}
const std::vector<std::pair<std::string, LayerPtr>>& Layer::sublayer_slots() const { return state_->layers; }
std::vector<LayerPtr> Layer::children() const {
  std::vector<LayerPtr> out;
  for (auto& [name, layer] : named_children()) out.push_back(layer);
  return out;
}
std::vector<std::pair<std::string, LayerPtr>> Layer::named_sublayers(const std::string& prefix) const {
  std::vector<std::pair<std::string, LayerPtr>> out;
  std::unordered_set<const Layer*> seen{this};
  auto walk = [&](auto& self, const Layer& l, const std::string& path) -> void {
    for (auto& [name, layer] : l.state_->layers) {
      if (!seen.insert(layer.get()).second) continue;
      out.emplace_back(join(path, name), layer);
      self(self, *layer, join(path, name));
    }
  };
  walk(walk, *this, prefix);
  return out;
}
std::vector<LayerPtr> Layer::sublayers() const {
  std::vector<LayerPtr> out;
  for (auto& [name, layer] : named_sublayers()) out.push_back(std::move(layer));
  return out;
}
template <class Slots>
static void collect(const Slots& slots, const std::string& prefix, std::unordered_set<const TensorImpl*>& seen,
                    NamedTensors& out) {
  for (const auto& s : slots)
    if (!s.name.empty() && s.value.defined() && seen.insert(s.value.impl()).second)
      out.emplace_back(join(prefix, s.name), s.value);
}
NamedTensors Layer::named_parameters(const std::string& prefix, bool include_sublayers) const {
  NamedTensors out;
  std::unordered_set<const TensorImpl*> seen;
  collect(state_->parameters, prefix, seen, out);
  if (include_sublayers)
    for (auto& [path, layer] : named_sublayers(prefix)) collect(layer->state_->parameters, path, seen, out);
  return out;
}
NamedTensors Layer::named_buffers(const std::string& prefix, bool include_sublayers) const {
  NamedTensors out;
  std::unordered_set<const TensorImpl*> seen;
  collect(state_->buffers, prefix, seen, out);
  if (include_sublayers)
    for (auto& [path, layer] : named_sublayers(prefix)) collect(layer->state_->buffers, path, seen, out);
  return out;
}
static std::vector<Tensor> values(NamedTensors named) {
  std::vector<Tensor> out;
  out.reserve(named.size());
  for (auto& [name, tensor] : named) out.push_back(std::move(tensor));
  return out;
}
std::vector<Tensor> Layer::parameters() const { return values(named_parameters()); }
std::vector<Tensor> Layer::buffers() const { return values(named_buffers()); }

// ---- mode and place ---------------------------------------------------------------------------------------------------
void Layer::train(bool on) {
  training_ = on;
  for (auto& layer : sublayers()) layer->training_ = on;
}
void Layer::apply(const std::function<void(Layer&)>& f) {
  for (auto& layer : children()) layer->apply(f);
  f(*this);
}
void Layer::move(const std::function<Tensor(const Tensor&)>& f) {
  NoGrad off;
  for (auto& all : {parameters(), buffers()})
    for (Tensor t : all) {
      Tensor gradient = t.grad();
      Tensor moved = f(t.detach());
      if (gradient.defined()) gradient = f(gradient.detach());
      t.set_data(moved);
      if (gradient.defined()) t.set_grad(gradient);
    }
}
void Layer::to(Device device) {
  move([&](const Tensor& t) { return t.to(device); });
}
void Layer::to(DType dtype) {
  if (!(set_of(dtype) & (kFloat | kComplex)))
    throw Error(Code::invalid_argument, type_name() + ".to: dtype is " + std::string(oarlock::to_string(dtype)) +
                                            ", parameters are floating. Give f32, f64, bf16 or f16.");
  move([&](const Tensor& t) { return floating(t) && t.dtype() != dtype ? cast(t, dtype) : t; });
}
void Layer::set_stop_gradient(bool stop) {
  for (Tensor& t : parameters()) t.set_requires_grad(!stop);
}
void Layer::clear_gradients() {
  for (Tensor& t : parameters()) t.set_grad({});
}

}  // namespace oarlock::nn
