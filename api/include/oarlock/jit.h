// Captured functions: called like the function, but run as a program from the second call of a kind on.
//
//   jit::StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{net(x[0])}; });
//   Tensor y = f.call({{x}})[0];
//
// The function is called once on stand-ins, which have a shape and a dtype but no elements; every op it calls becomes part
// of the program. What it does beside that (printing, counting, choosing a branch by a shape) happens then and only then;
// reading an element there is an Error that says so. Tensors that it reads without being given them (parameters, buffers)
// are read as they are at each run, and written as the function wrote to them; numbers are what they were at the capture.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/tensor.h>
#include <oarlock/named_tensors.h>
#include <oarlock/nn/layer.h>

namespace oarlock::jit {

// A size of an input: a number, or a name: any size, the same one wherever the name stands. Empty name: any size.
struct Size {
  int64_t number = -1;
  std::string name{};
  Size(int64_t n) : number(n) {}
  Size(int n) : number(n) {}
  Size(std::string n) : name(std::move(n)) {}
  Size(const char* n) : name(n) {}
};
// paddle.static.InputSpec. A negative number is a size without a name.
struct InputSpec {
  std::vector<Size> shape;
  DType dtype = DType::f32;
  std::string name{};
};

using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct StaticOptions {
  std::string name = "main";
  // Names for tensors that the function reads, as a layer's state_dict gives them: for reports and saved programs.
  std::function<NamedTensors()> states{};
  // What inputs may be. Empty: each list of dtypes and shapes is captured for itself.
  std::vector<InputSpec> input_spec{};
  // Captured kinds of calls and plans per kind that are kept; the least recently used go.
  int max_programs = 32, max_plans = 64;
};

// What a captured call came to.
struct ProgramInfo {
  std::string name, device;
  int nodes = 0, steps = 0, backward_nodes = 0, in_place = 0;
  bool interpreted = false;
  uint64_t arena_bytes = 0, values_bytes = 0;
};

// Any thread may call; calls of one object take turns while they capture, and wherever the program writes to tensors.
// Gradients flow through a call as through the function itself, except second order. Where the function asks for what can't
// be captured yet (an optimiser's very first step), that call is run eagerly.
class OAR_EXPORT StaticFunction {
 public:
  explicit StaticFunction(Function function, StaticOptions options = {});
  ~StaticFunction();
  StaticFunction(const StaticFunction&) = delete;
  StaticFunction& operator=(const StaticFunction&) = delete;

  // key: whatever else the function's program depends on (training or not, arguments that are no tensors). Throws Error.
  std::vector<Tensor> call(std::span<const Tensor> inputs, std::string_view key = {});
  // The function itself, unchanged.
  const Function& function() const;
  // Programs captured so far, most recently used first.
  std::vector<ProgramInfo> programs() const;
  // Forgets what was captured.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// From now on calls of the layer are captured, a program for each mode that it and the layers below are in. What options say
// of names and states is the layer's own. The layer has to outlive the function; layer.set_forward({}) undoes it.
OAR_EXPORT std::shared_ptr<StaticFunction> to_static(nn::Layer& layer, StaticOptions options = {});

// True while this thread captures a program: for functions that behave otherwise then.
OAR_EXPORT bool capturing();

}  // namespace oarlock::jit
