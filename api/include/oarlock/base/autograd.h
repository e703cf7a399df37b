// Gradients: every op on a tensor that requires them is recorded; backward replays the record in reverse.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
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
// Switches recording on this thread on or off and returns what it was: for programs in which no scope of C++ marks the span.
OAR_EXPORT bool set_grad_enabled(bool on);

// Adds d(sum of outputs * seeds)/d(leaf) to grad() of every leaf that requires it. seeds: one per output, of its shape;
// empty: ones, and each output must have one element. The record is freed unless keep_graph. create_graph records the
// gradient computation itself, for higher orders. Throws Error if an operand that a gradient needs was changed in between.
OAR_EXPORT void backward(std::span<const Tensor> outputs, std::span<const Tensor> seeds = {}, bool keep_graph = false,
                         bool create_graph = false);
// The same, but returns the gradients of `inputs` and leaves grad() alone. No value for an input that is not reached.
OAR_EXPORT std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                         std::span<const Tensor> seeds = {}, bool keep_graph = false,
                                         bool create_graph = false);

// -- Hooks
// Called by backward with the whole gradient of a tensor: of what an op computed, before that op's gradient reads it; of a
// leaf, once per backward, before it is added to grad(). What it returns is used instead; no value: the gradient as it was.
// It runs on the thread of backward, unrecorded unless create_graph; an Error it throws ends backward.
using GradHook = std::function<Tensor(const Tensor& gradient)>;
// The tensor must require a gradient. Hooks of one tensor run in the order they were added. Not while a backward through
// the tensor runs on another thread.
OAR_EXPORT uint64_t add_grad_hook(const Tensor& tensor, GradHook hook);
// False if there is no such hook (any more).
OAR_EXPORT bool remove_grad_hook(const Tensor& tensor, uint64_t hook);
// From now on backward leaves the gradient of this computed tensor in its grad(), as it does for leaves.
OAR_EXPORT void retain_grad(const Tensor& tensor);

// -- Functions with a gradient of their own
// What the two halves of a call share. Use it inside forward and backward only.
class OAR_EXPORT FunctionContext {
 public:
  // In forward: what backward will read; inputs or outputs of the call, or others. Kept until backward has run. A write to one
  // of them in between makes backward an error.
  void save(std::span<const Tensor> tensors);
  // In backward: the tensors saved, in their order.
  const std::vector<Tensor>& saved() const { return saved_; }
  // Does anybody want the gradient of this input? Backward may leave the others without value.
  bool wants(int input) const { return input < 64 ? (wanted_ >> input & 1) != 0 : (wanted_ >> 63 & 1) != 0; }
  // In forward: this output has no gradient (integers never have one).
  void mark_non_differentiable(const Tensor& output);

 private:
  friend struct FunctionCall;
  std::vector<Tensor> saved_, without_gradient_;
  uint64_t wanted_ = 0;
};
// forward runs unrecorded. backward gets one gradient per output (no value: zero) and returns one per input (no value: zero)
// of that input's shape. It runs with ordinary ops, so a backward with create_graph can be differentiated again.
class OAR_EXPORT Function {
 public:
  virtual ~Function();
  virtual std::string name() const = 0;  // for errors and traces
  virtual std::vector<Tensor> forward(FunctionContext& context, std::span<const Tensor> inputs) = 0;
  virtual std::vector<Tensor> backward(FunctionContext& context, std::span<const Tensor> gradients) = 0;
};
// Runs forward and, if an input requires a gradient, records the call. One object may serve many calls. Throws Error.
OAR_EXPORT std::vector<Tensor> apply_function(std::shared_ptr<Function> function, std::span<const Tensor> inputs);

// -- Anomaly mode
// While on, every op and every gradient is looked at when it has run: the first that gives a NaN though none of its operands
// holds one is an Error that names it, its operands, and for a gradient also where its forward call was made. Waits for the
// device after each op, so only for finding faults. Process-wide: the setting `anomaly`; nests.
class OAR_EXPORT AnomalyMode {
 public:
  explicit AnomalyMode(bool on = true);
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool before_;
};
// For bindings: what tells the line of the program that is running now ("train.py:31"), asked for each call that is recorded in
// anomaly mode. Null: none. It must not throw.
OAR_EXPORT void set_call_site(std::string (*tell)());

}  // namespace oarlock
