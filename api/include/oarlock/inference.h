// Running exported programs: one Predictor, any number of threads and shapes, bounded memory.
//
//   inference::Config config("net.oarp");  // or of what jit::export_layer gives
//   config.set_device(Device("opencl")).warm_up({{8, 784}});
//   inference::Predictor predictor = inference::create_predictor(config);
//   std::vector<Tensor> out = predictor.run(inputs);
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/exported.h>

namespace oarlock::inference {

// How a program is to be run. A plain value: one thread writes to one at a time.
class OAR_EXPORT Config {
 public:
  explicit Config(jit::ExportedProgram program) : program_(std::move(program)) {}
  // Of saved files: see jit::load, which this calls.
  explicit Config(const std::string& path, const std::string& weights_path = {})
      : program_(jit::load(path, weights_path)) {}
  // Where it runs; the host at first. Inputs and outputs go and come from there by themselves.
  Config& set_device(Device device);
  // Plans, each for one list of input shapes, that are kept, and what their memory for intermediate values may come to;
  // the least recently used go. Each call of run that is under way has one plan beside these.
  Config& set_plan_limits(int max_plans, uint64_t max_bytes);
  // Threads that one run uses on the host, the caller's own among them; 0, as at first: the setting "threads". With many
  // callers at a time 1 is best. Throws Error for less than 0.
  Config& set_cpu_math_library_num_threads(int threads);
  // Leaves a pass out. create_predictor throws for a name that no pass has, and says those there are. Those called fold_ and
  // recognise_ may change the rounding of results, within the tolerances of the ops; the others leave every bit.
  Config& delete_pass(std::string name);
  // Shapes, one per input, to make plans for before the first run. May be called several times.
  Config& warm_up(std::vector<Shape> shapes);

 private:
  friend class Predictor;
  jit::ExportedProgram program_;
  Device device_{};
  int max_plans_ = 64;
  uint64_t max_bytes_ = uint64_t(256) << 20;
  int threads_ = 0;
  std::vector<std::string> passes_off_;
  std::vector<std::vector<Shape>> warm_up_;
};

class Predictor;

// What the next run() of a predictor reads as one input. Good for as long as it is held, with its predictor's thread.
class OAR_EXPORT InputHandle {
 public:
  const std::string& name() const;
  DType dtype() const;
  // The shape of what copy_from_cpu takes next.
  void reshape(const Shape& shape);
  // As many elements as the shape has, row-major; T is the input's dtype. Throws Error with both if not.
  template <class T>
  void copy_from_cpu(std::span<const T> elements) {
    copy(elements.data(), elements.size(), detail::dtype_of<T>());
  }
  // Reads the tensor itself; it must not be written to until run() returns.
  void share_external_data(Tensor tensor);

 private:
  friend class Predictor;
  struct Slot;
  explicit InputHandle(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
  void copy(const void* elements, size_t count, DType dtype);
  std::shared_ptr<Slot> slot_;
};

// What the last run() gave as one output. Throws Error before the first one.
class OAR_EXPORT OutputHandle {
 public:
  const std::string& name() const;
  const Shape& shape() const { return tensor().shape(); }
  const Tensor& tensor() const;
  // Room for as many elements as the shape has; T is the output's dtype. Throws Error with both if not.
  template <class T>
  void copy_to_cpu(std::span<T> out_elements) const {
    copy(out_elements.data(), out_elements.size(), detail::dtype_of<T>());
  }

 private:
  friend class Predictor;
  struct Slot;
  explicit OutputHandle(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
  void copy(void* out_elements, size_t count, DType dtype) const;
  std::shared_ptr<Slot> slot_;
};

class OAR_EXPORT Predictor {
 public:
  explicit Predictor(const Config& config);
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;
  // The same program, weights and plans; handles of its own.
  Predictor clone() const;

  std::vector<std::string> get_input_names() const;
  std::vector<std::string> get_output_names() const;

  // Inputs in the order of their names; outputs likewise, on the predictor's device. Any thread, any number at a time.
  // Throws Error: another number of inputs, another dtype, shapes that the program does not take.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

  // Makes the plan for these shapes, one per input, if it isn't there. Any thread. Throws Error as run does.
  void warm_up(std::span<const Shape> shapes) const;

  // With handles: one thread at a time per predictor; clone it for more. Throws Error for names that there are not.
  InputHandle get_input_handle(std::string_view name) const;
  OutputHandle get_output_handle(std::string_view name) const;
  void run();

  // Plans that are kept now, and the bytes of their intermediate values. Any thread.
  struct PlanMemory {
    int plans;
    uint64_t bytes;
  };
  PlanMemory plan_memory() const;

 private:
  struct Shared;
  struct Slots;
  explicit Predictor(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Slots> slots_;
};

inline Predictor create_predictor(const Config& config) { return Predictor(config); }

}  // namespace oarlock::inference
