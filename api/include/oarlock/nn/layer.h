// Layer: a piece of a network that owns parameters, buffers and further layers, each under a name.
//
//   struct Net : nn::Layer {
//     std::shared_ptr<nn::Linear> fc = add_sublayer("fc", std::make_shared<nn::Linear>(784, 10));
//     Tensor forward(const Tensor& x) override { return (*fc)(relu(x)); }
//   };
//
// Names and order of what state_dict gives are those of torch.nn, so published weights load unchanged. Layers are held by
// shared_ptr. One thread at a time may change a layer (train, eval, to, set_state_dict, hooks, training-mode calls of layers
// with buffers); calls that only read may come from many threads.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <oarlock/base/list.h>
#include <oarlock/base/tensor.h>
#include <oarlock/named_tensors.h>

namespace oarlock::nn {

class Layer;
using LayerPtr = std::shared_ptr<Layer>;

// Called before forward with the layer and its inputs, and after it with the outputs too. What they return takes the place
// of the inputs or the outputs; an empty list leaves them as they are.
using PreHook = std::function<std::vector<Tensor>(Layer& layer, std::span<const Tensor> inputs)>;
using PostHook =
    std::function<std::vector<Tensor>(Layer& layer, std::span<const Tensor> inputs, std::span<const Tensor> outputs)>;

// What a call computes, in place of forward.
using ForwardFunction = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

// Takes a hook away again. Outlives its layer harmlessly.
class OAR_EXPORT HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::weak_ptr<void> owner, std::function<void()> remove);
  void remove();

 private:
  std::weak_ptr<void> owner_;
  std::function<void()> remove_;
};

struct BufferOptions {
  bool persistable = true;      // part of state_dict
  bool may_be_missing = false;  // set_state_dict is content without it
};

// What set_state_dict found amiss without calling it an error.
struct StateReport {
  std::vector<std::string> missing;     // here, not in the state
  std::vector<std::string> unexpected;  // in the state, not here
};

class OAR_EXPORT Layer : public std::enable_shared_from_this<Layer> {
 public:
  Layer();
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // ---- computing ----
  // What the layer computes. Override one of the two: each calls the other. forward_all takes and gives any number of
  // tensors; an optional one that is absent has no value.
  virtual Tensor forward(const Tensor& x);
  virtual std::vector<Tensor> forward_all(std::span<const Tensor> inputs);
  // Hooks and forward: how a layer is called. Calling forward itself goes past the hooks.
  std::vector<Tensor> call(Tensors inputs);
  Tensor operator()(const Tensor& x);
  template <class... More>
  Tensor operator()(const Tensor& first, const Tensor& second, const More&... more) {
    const Tensor inputs[] = {first, second, more...};
    return call_for_one(inputs);
  }

  // ---- what it owns ----
  // Names are not empty, have no dot, and stand for one thing in a layer. What these give back is the layer's own slot: it
  // stays where it is for the life of the layer, and assigning to it replaces the parameter.
  //
  // value may be absent (a bias that was left out); otherwise it is of a floating dtype. trainable: it requires a gradient.
  Tensor& add_parameter(std::string name, Tensor value, bool trainable = true);
  Tensor& add_buffer(std::string name, Tensor value, BufferOptions options = {});
  template <class L>
  std::shared_ptr<L> add_sublayer(std::string name, std::shared_ptr<L> layer) {
    add_layer(std::move(name), layer);
    return layer;
  }
  // Adds or replaces. A replaced parameter keeps nothing of the old one.
  void set_parameter(const std::string& name, Tensor value);
  void set_buffer(const std::string& name, Tensor value);
  void set_sublayer(const std::string& name, LayerPtr layer);
  // Takes parameter, buffer or sublayer of that name away; its slot, if anybody holds it, is empty then.
  void remove(std::string_view name);

  // By name, also of sublayers: "encoder.layers.0.linear1.weight". Throws Error naming what there is.
  Tensor parameter(std::string_view path) const;
  Tensor buffer(std::string_view path) const;
  LayerPtr sublayer(std::string_view path) const;
  bool has_own(std::string_view name) const;  // a parameter, buffer or sublayer of this layer itself

  // In order of registration, own ones before those of sublayers; each tensor and layer once, under its first name; absent
  // parameters left out.
  std::vector<Tensor> parameters() const;
  NamedTensors named_parameters(const std::string& prefix = {}, bool include_sublayers = true) const;
  std::vector<Tensor> buffers() const;
  NamedTensors named_buffers(const std::string& prefix = {}, bool include_sublayers = true) const;
  std::vector<LayerPtr> sublayers() const;  // all below, without this one
  std::vector<std::pair<std::string, LayerPtr>> named_sublayers(const std::string& prefix = {}) const;
  std::vector<LayerPtr> children() const;  // directly below
  std::vector<std::pair<std::string, LayerPtr>> named_children() const;
  // The slots themselves: one layer may stand in several.
  const std::vector<std::pair<std::string, LayerPtr>>& sublayer_slots() const;

  // ---- state ----
  // Parameters and persistable buffers under their full names. The tensors share their elements with the layer's.
  NamedTensors state_dict(const std::string& prefix = {}) const;
  // Copies values in, converting dtype and device. All or nothing: throws Error, with every disagreement and both shapes,
  // before anything is written. strict: a missing or unexpected name is an error as well; otherwise it is only reported.
  StateReport set_state_dict(const NamedTensors& state, bool strict = true);

  // ---- mode and place ----
  // For this layer and all below. Dropout and batch norm behave otherwise in training; a new layer is in training.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }
  // f on every layer, those below first.
  void apply(const std::function<void(Layer&)>& f);
  // Moves or converts all parameters and buffers; only floating ones change dtype. Tensor objects stay the same, so
  // optimisers go on with them; what they keep beside them moves at their next step.
  void to(Device device);
  void to(DType dtype);
  // true: no parameter requires a gradient any more (freezing); false: all do.
  void set_stop_gradient(bool stop);
  void freeze() { set_stop_gradient(true); }
  void unfreeze() { set_stop_gradient(false); }
  // Forgets the gradients of all parameters.
  void clear_gradients();

  // ---- hooks ----
  HookHandle register_forward_pre_hook(PreHook hook);
  HookHandle register_forward_post_hook(PostHook hook);

  // From now on calls take `forward` instead of the layer's own (jit::to_static); empty: its own again.
  void set_forward(ForwardFunction forward);

  // ---- printing ----
  virtual std::string type_name() const;   // "Linear"; of a class of your own, its name
  virtual std::string extra_repr() const;  // "in_features=784, out_features=10"
  std::string to_string() const;           // the tree, as torch prints it
  // Multiply-adds of one call with these operands, for summary; sublayers count their own.
  virtual double multiply_adds(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;

 private:
  struct State;
  void add_layer(std::string name, LayerPtr layer);
  Tensor call_for_one(std::span<const Tensor> inputs);
  void look_for_hooks();
  std::vector<Tensor> call_with_hooks(std::span<const Tensor> inputs);
  const Layer& owner(std::string_view path, std::string_view* out_name) const;
  void move(const std::function<Tensor(const Tensor&)>& f);

  std::unique_ptr<State> state_;
  bool training_ = true, hooked_ = false;
};

}  // namespace oarlock::nn
