#include <oarlock/nn/containers.h>

namespace oarlock::nn {
namespace {

size_t place(const char* who, int64_t i, size_t n) {
  int64_t at = i < 0 ? i + int64_t(n) : i;
  if (at < 0 || at >= int64_t(n))
    throw Error(Code::invalid_argument, std::string(who) + ": index " + std::to_string(i) +
                                            " is out of range; it has " + std::to_string(n) + " layers.");
  return size_t(at);
}

}  // namespace

Sequential::Sequential(const std::vector<LayerPtr>& layers) {
  for (auto& l : layers) append(l);
}
Sequential::Sequential(const std::vector<std::pair<std::string, LayerPtr>>& layers) {
  for (auto& [name, layer] : layers) add_sublayer(name, layer);
}
Sequential& Sequential::append(LayerPtr layer) {
  add_sublayer(std::to_string(size()), std::move(layer));
  return *this;
}
LayerPtr Sequential::operator[](int64_t i) const { return sublayer_slots()[place("Sequential", i, size())].second; }
Tensor Sequential::forward(const Tensor& x) {
  Tensor t = x;
  for (auto& [name, layer] : sublayer_slots()) t = (*layer)(t);
  return t;
}
std::vector<Tensor> Sequential::forward_all(std::span<const Tensor> inputs) {
  std::vector<Tensor> now(inputs.begin(), inputs.end());
  for (auto& [name, layer] : sublayer_slots()) now = layer->call(now);
  return now;
}

LayerList::LayerList(const std::vector<LayerPtr>& layers) { extend(layers); }
LayerList& LayerList::append(LayerPtr layer) {
  add_sublayer(std::to_string(size()), std::move(layer));
  return *this;
}
LayerList& LayerList::extend(const std::vector<LayerPtr>& layers) {
  for (auto& l : layers) append(l);
  return *this;
}
LayerList& LayerList::insert(int64_t at, LayerPtr layer) {
  if (at == int64_t(size())) return append(std::move(layer));
  size_t from = place("LayerList", at, size());
  append((*this)[-1]);
  for (int64_t i = int64_t(size()) - 2; i > int64_t(from); --i) set(i, (*this)[i - 1]);
  set(int64_t(from), std::move(layer));
  return *this;
}
void LayerList::set(int64_t i, LayerPtr layer) {
  set_sublayer(std::to_string(place("LayerList", i, size())), std::move(layer));
}
LayerPtr LayerList::operator[](int64_t i) const { return sublayer_slots()[place("LayerList", i, size())].second; }

LayerDict::LayerDict(const std::vector<std::pair<std::string, LayerPtr>>& layers) {
  for (auto& [name, layer] : layers) set(name, layer);
}
LayerPtr LayerDict::pop(std::string_view key) {
  LayerPtr layer = sublayer(key);
  remove(key);
  return layer;
}
std::vector<std::string> LayerDict::keys() const {
  std::vector<std::string> out;
  for (auto& [name, layer] : sublayer_slots()) out.push_back(name);
  return out;
}

}  // namespace oarlock::nn
