// Layers made of layers.
#pragma once
#include <initializer_list>

#include <oarlock/nn/layer.h>

namespace oarlock::nn {

// One after another, each given what the one before it gave. Names are "0", "1", ... unless given.
//   nn::Sequential net(std::make_shared<nn::Linear>(4, 8), std::make_shared<nn::ReLU>());
class OAR_EXPORT Sequential : public Layer {
 public:
  Sequential() = default;
  template <class... L>
  requires(sizeof...(L) > 0 && (std::is_convertible_v<L, LayerPtr> && ...)) explicit Sequential(L... layers) {
    (append(std::move(layers)), ...);
  }
  explicit Sequential(const std::vector<LayerPtr>& layers);
  explicit Sequential(const std::vector<std::pair<std::string, LayerPtr>>& layers);
  Sequential& append(LayerPtr layer);
  size_t size() const { return sublayer_slots().size(); }
  LayerPtr operator[](int64_t i) const;  // negative: from the end

  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) override;
  Tensor forward(const Tensor& x) override;
  using Layer::operator();
  std::string type_name() const override { return "Sequential"; }
};

// A list that registers what is in it, as "0", "1", ...; it computes nothing itself.
class OAR_EXPORT LayerList : public Layer {
 public:
  LayerList() = default;
  explicit LayerList(const std::vector<LayerPtr>& layers);
  LayerList& append(LayerPtr layer);
  LayerList& extend(const std::vector<LayerPtr>& layers);
  LayerList& insert(int64_t at, LayerPtr layer);  // those behind move on by one
  void set(int64_t at, LayerPtr layer);
  size_t size() const { return sublayer_slots().size(); }
  LayerPtr operator[](int64_t i) const;
  std::string type_name() const override { return "LayerList"; }
};

// The same by name.
class OAR_EXPORT LayerDict : public Layer {
 public:
  LayerDict() = default;
  explicit LayerDict(const std::vector<std::pair<std::string, LayerPtr>>& layers);
  void set(const std::string& key, LayerPtr layer) { set_sublayer(key, std::move(layer)); }
  LayerPtr operator[](std::string_view key) const { return sublayer(key); }
  bool contains(std::string_view key) const { return has_own(key); }
  LayerPtr pop(std::string_view key);
  std::vector<std::string> keys() const;
  size_t size() const { return sublayer_slots().size(); }
  std::string type_name() const override { return "LayerDict"; }
};

}  // namespace oarlock::nn
