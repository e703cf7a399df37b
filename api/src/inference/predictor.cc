#include "api/src/inference/handle.h"

#include "core/device/device.h"
#include "core/graph/compile.h"
#include "core/graph/executable.h"

namespace oarlock::inference {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

}  // namespace

Config& Config::set_device(Device device) {
  device_ = device;
  return *this;
}
Config& Config::set_plan_limits(int max_plans, uint64_t max_bytes) {
  if (max_plans < 0)
    throw Error(Code::invalid_argument,
                "Config: max_plans is " + std::to_string(max_plans) + ". Give 0 (keep none) or more.");
  max_plans_ = max_plans;
  max_bytes_ = max_bytes;
  return *this;
}
Config& Config::set_cpu_math_library_num_threads(int threads) {
  if (threads < 0)
    throw Error(Code::invalid_argument,
                "Config: " + std::to_string(threads) + " threads. Give 0 (the setting \"threads\") or more.");
  threads_ = threads;
  return *this;
}
Config& Config::delete_pass(std::string name) {
  passes_off_.push_back(std::move(name));
  return *this;
}
Config& Config::warm_up(std::vector<Shape> shapes) {
  warm_up_.push_back(std::move(shapes));
  return *this;
}

struct Predictor::Shared {
  graph::Executable executable;  // weights that passes replaced are gone with the exported program
  int threads = 0;
};
struct Predictor::Slots {
  std::vector<std::shared_ptr<InputHandle::Slot>> inputs;
  std::vector<std::shared_ptr<OutputHandle::Slot>> outputs;
};

Predictor::Predictor(const Config& config) {
  auto p = std::make_shared<graph::Program>(config.program_.program());
  throw_if(graph::compile(*p, {.off = config.passes_off_}));
  shared_.reset(new Shared{{std::move(p), config.device_, config.max_plans_, config.max_bytes_}});
  shared_->threads = config.threads_;
  for (const std::vector<Shape>& shapes : config.warm_up_) warm_up(shapes);
  *this = clone();
}
Predictor::Predictor(std::shared_ptr<Shared> shared) : shared_(std::move(shared)), slots_(new Slots) {
  const graph::Program& p = shared_->executable.program();
  for (graph::ValueId v : p.body.parameters) slots_->inputs.emplace_back(new InputHandle::Slot{p[v].name, p[v].dtype});
  for (const std::string& name : p.result_names) slots_->outputs.emplace_back(new OutputHandle::Slot{name});
}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;
Predictor Predictor::clone() const { return Predictor(shared_); }

std::vector<std::string> Predictor::get_input_names() const {
  const graph::Program& p = shared_->executable.program();
  std::vector<std::string> names;
  for (graph::ValueId v : p.body.parameters) names.push_back(p[v].name);
  return names;
}
std::vector<std::string> Predictor::get_output_names() const { return shared_->executable.program().result_names; }

std::vector<Tensor> Predictor::run(std::span<const Tensor> inputs) const {
  const graph::Program& p = shared_->executable.program();
  if (inputs.size() != p.body.parameters.size())
    throw Error(Code::invalid_argument, p.name + ": takes " + std::to_string(p.body.parameters.size()) + " inputs (" +
                                            list(get_input_names()) + "), given " + std::to_string(inputs.size()) +
                                            ".");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const graph::Value& want = p[p.body.parameters[i]];
    if (inputs[i].defined() && inputs[i].dtype() != want.dtype)
      throw Error(Code::invalid_argument, p.name + ": input " + want.name + " is " +
                                              std::string(to_string(inputs[i].dtype())) + ", the program takes " +
                                              std::string(to_string(want.dtype)) + ". Cast it.");
  }
  ThreadBudget budget(shared_->threads);
  Result<graph::Outcome> out = shared_->executable.run(inputs);
  throw_if(out.status());
  return std::move(out->results);
}

void Predictor::warm_up(std::span<const Shape> shapes) const {
  ThreadBudget budget(shared_->threads);
  throw_if(shared_->executable.prepare(shapes));
}

InputHandle Predictor::get_input_handle(std::string_view name) const {
  for (const auto& slot : slots_->inputs)
    if (slot->name == name) return InputHandle(slot);
  throw Error(Code::invalid_argument, shared_->executable.program().name + ": no input is called " + std::string(name) +
                                          ". There are: " + list(get_input_names()) + ".");
}
OutputHandle Predictor::get_output_handle(std::string_view name) const {
  for (const auto& slot : slots_->outputs)
    if (slot->name == name) return OutputHandle(slot);
  throw Error(Code::invalid_argument, shared_->executable.program().name + ": no output is called " +
                                          std::string(name) + ". There are: " + list(get_output_names()) + ".");
}
void Predictor::run() {
  std::vector<Tensor> inputs;
  for (const auto& slot : slots_->inputs) {
    if (!slot->tensor.defined())
      throw Error(Code::not_ready, shared_->executable.program().name + ": input " + slot->name +
                                       " has no value. Give its handle one first.");
    inputs.push_back(slot->tensor);
  }
  std::vector<Tensor> out = run(inputs);
  for (size_t i = 0; i < out.size(); ++i) slots_->outputs[i]->tensor = std::move(out[i]);
}

Predictor::PlanMemory Predictor::plan_memory() const {
  graph::Executable::Held held = shared_->executable.held();
  return {held.plans, held.bytes};
}

}  // namespace oarlock::inference
