// Tensors with names, in order: what state dicts, checkpoints and weight files are.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The tensor of that name, the first if there are several; no value where there is none.
inline Tensor find(const NamedTensors& tensors, std::string_view name) {
  for (const auto& [have, tensor] : tensors)
    if (have == name) return tensor;
  return {};
}

}  // namespace oarlock
