// Gradients: every op on a tensor that requires them is recorded; backward replays the record in reverse.
#pragma once
#include <span>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock {

// While one lives on a thread, nothing that thread computes is recorded. Nests.
class OAR_EXPORT NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};
OAR_EXPORT bool grad_enabled();

// Adds d(sum of outputs * seeds)/d(leaf) to grad() of every leaf that requires it. seeds: one per output, of its shape;
// empty: ones, and each output must have one element. The record is freed unless keep_graph. create_graph records the
// gradient computation itself, for higher orders. Throws Error if an operand that a gradient needs was changed in between.
OAR_EXPORT void backward(std::span<const Tensor> outputs, std::span<const Tensor> seeds = {}, bool keep_graph = false,
                         bool create_graph = false);
// The same, but returns the gradients of `inputs` and leaves grad() alone. No value for an input that is not reached.
OAR_EXPORT std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                         std::span<const Tensor> seeds = {}, bool keep_graph = false,
                                         bool create_graph = false);

}  // namespace oarlock
