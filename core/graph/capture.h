// A function of tensors as programs: what it computes, and the gradient of it where one is wanted.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/program.h"

namespace oarlock::graph {

using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct CaptureInput {
  std::string name;  // empty: "x0", "x1", ...
  DType dtype;
  Shape shape;  // sizes may be names of `symbols`
  bool requires_grad = false, host = false;
};
struct Captured {
  std::shared_ptr<Program> forward;
  int n_results = 0;  // of forward: the function's own; what follows is what backward reads
  // Of what is wanted: those inputs of the function that require a gradient, then leaves. Null: nothing the function gives
  // depends on them, or gradients are off.
  std::shared_ptr<Program> backward;
  std::vector<int> seeds;  // results that have a gradient; it takes one each, then what forward gave beyond its own
  std::vector<int> wanted_inputs;     // inputs of the function
  std::vector<Tensor> wanted_leaves;  // parameters
  std::vector<bool> reached;          // of all that is wanted: backward has a result for it
  std::vector<Tensor> read_states;    // that backward reads: nobody may write to them in between
};
// f has to run eagerly once before it can be captured: it makes what later calls only use.
class NeedsARun : public Error {
 public:
  explicit NeedsARun(const Error& e) : Error(e.code(), e.what()) {}
};
// Calls f once on stand-ins. states: names for the tensors it reads; others are named after the place they are met in.
// Throws what f throws, NeedsARun, and Error.
Captured capture(const TensorFunction& f, std::span<const CaptureInput> inputs, const op::Symbols& symbols,
                 const std::vector<std::pair<std::string, Tensor>>& states, Device device, std::string name);

}  // namespace oarlock::graph
