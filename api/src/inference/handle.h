// What a predictor's handles point to.
#pragma once
#include <oarlock/inference.h>

namespace oarlock::inference {

struct InputHandle::Slot {
  std::string name;
  DType dtype;
  Shape shape{};
  Tensor tensor{};
};
struct OutputHandle::Slot {
  std::string name;
  Tensor tensor{};
};

}  // namespace oarlock::inference
