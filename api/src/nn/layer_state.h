// What a Layer keeps. Slots never move: layers refer to them.
#pragma once
#include <algorithm>
#include <list>

#include <oarlock/nn/layer.h>

namespace oarlock::nn {

struct Layer::State {
  struct Slot {
    std::string name;  // empty: taken away
    Tensor value;
    BufferOptions options{};  // of a buffer
  };
  template <class F>
  struct Hook {
    uint64_t id;
    F f;
  };
  std::list<Slot> parameters, buffers;
  std::vector<std::pair<std::string, LayerPtr>> layers;
  std::shared_ptr<ForwardFunction> forward;  // instead of the layer's own
  // Shared, so that a hook may add or remove hooks while the list is walked.
  std::shared_ptr<std::vector<Hook<PreHook>>> pre = std::make_shared<std::vector<Hook<PreHook>>>();
  std::shared_ptr<std::vector<Hook<PostHook>>> post = std::make_shared<std::vector<Hook<PostHook>>>();
  std::shared_ptr<int> alive = std::make_shared<int>();  // tells handles
  uint64_t next_hook = 1;

  static Slot* find(std::list<Slot>& slots, std::string_view name) {
    for (Slot& s : slots)
      if (!s.name.empty() && s.name == name) return &s;
    return nullptr;
  }
  LayerPtr* find_layer(std::string_view name) {
    for (auto& [have, layer] : layers)
      if (have == name) return &layer;
    return nullptr;
  }
};

}  // namespace oarlock::nn
