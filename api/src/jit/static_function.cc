#include <oarlock/jit.h>

#include <list>
#include <mutex>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

#include "core/dispatch/recorder.h"
#include "core/graph/capture.h"
#include "core/graph/executable.h"

namespace oarlock::jit {
namespace {

using graph::Executable;

// One kind of call.
struct Kind {
  std::string signature;
  graph::Captured captured;
  std::shared_ptr<Executable> forward, backward;
  std::vector<Shape> last_shapes;
  bool writes = false;
  std::mutex turn;  // of programs that write
};

// A captured call on the tape: its gradient is a program as well.
class CapturedCall : public oarlock::Function {
 public:
  CapturedCall(std::shared_ptr<Kind> kind, size_t n_inputs) : kind_(std::move(kind)), n_inputs_(n_inputs) {}
  std::string name() const override { return kind_->captured.forward->name; }
  std::vector<Tensor> forward(FunctionContext& context, std::span<const Tensor> inputs) override {
    Result<graph::Outcome> out = kind_->forward->run(inputs.first(n_inputs_));
    throw_if(out.status());
    size_t own = size_t(kind_->captured.n_results);
    std::vector<Tensor> saved(out->results.begin() + int64_t(own), out->results.end());
    saved.insert(saved.end(), kind_->captured.read_states.begin(), kind_->captured.read_states.end());
    context.save(saved);
    out->results.resize(own);
    shapes_.clear();
    for (const Tensor& t : out->results) shapes_.push_back(t.shape());
    for (size_t i = 0; i < own; ++i)
      if (std::find(kind_->captured.seeds.begin(), kind_->captured.seeds.end(), int(i)) == kind_->captured.seeds.end())
        context.mark_non_differentiable(out->results[i]);
    return std::move(out->results);
  }
  std::vector<Tensor> backward(FunctionContext& context, std::span<const Tensor> gradients) override {
    const graph::Captured& c = kind_->captured;
    if (grad_enabled())
      throw Error(Code::unsupported, name() +
                                         ": a captured function has no gradient of second order. Call the function "
                                         "itself where create_graph is on.");
    std::vector<Tensor> in;
    const graph::Program& p = kind_->backward->program();
    for (size_t i = 0; i < c.seeds.size(); ++i) {
      Tensor g = gradients[size_t(c.seeds[i])];
      if (!g.defined()) {  // of a result that nobody went on with
        DeviceScope scope(kind_->backward->device());
        g = full(shapes_[size_t(c.seeds[i])], 0, p[p.body.parameters[i]].dtype);
      }
      in.push_back(std::move(g));
    }
    size_t extra = p.body.parameters.size() - c.seeds.size();
    in.insert(in.end(), context.saved().begin(), context.saved().begin() + int64_t(extra));
    Result<graph::Outcome> out = kind_->backward->run(in);
    throw_if(out.status());
    std::vector<Tensor> all(n_inputs_ + c.wanted_leaves.size());
    size_t next = 0;
    for (size_t i = 0; i < c.reached.size(); ++i) {
      if (!c.reached[i]) continue;
      size_t at = i < c.wanted_inputs.size() ? size_t(c.wanted_inputs[i]) : n_inputs_ + i - c.wanted_inputs.size();
      all[at] = out->results[next++];
    }
    return all;
  }

 private:
  std::shared_ptr<Kind> kind_;
  size_t n_inputs_;
  std::vector<Shape> shapes_;  // of the results
};

}  // namespace

struct StaticFunction::State {
  Function function;
  StaticOptions options;
  mutable std::mutex lock;
  std::list<std::shared_ptr<Kind>> kinds;  // most recently used first

  std::string signature(std::span<const Tensor> inputs, std::string_view key, Device device) const {
    std::string s = std::string(key) + "|" + device.name() + (grad_enabled() ? "|g" : "|");
    for (const Tensor& t : inputs) {
      s += "|" + std::string(to_string(t.dtype()));
      if (options.input_spec.empty()) s += to_string(t.shape());
      if (t.requires_grad()) s += "'";
    }
    return s;
  }
  static Device device_of(std::span<const Tensor> inputs) {
    for (const Tensor& t : inputs)
      if (!t.device().is_host()) return t.device();
    return inputs.empty() ? current_device() : Device();
  }
  std::vector<graph::CaptureInput> specs(std::span<const Tensor> inputs, Device device, op::Symbols& symbols) const {
    const auto& spec = options.input_spec;
    auto fail = [&](const std::string& what) { throw Error(Code::invalid_argument, options.name + ": " + what); };
    if (!spec.empty() && spec.size() != inputs.size())
      fail("takes " + std::to_string(spec.size()) + " inputs by its input_spec, given " +
           std::to_string(inputs.size()) + ".");
    std::vector<graph::CaptureInput> out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i];
      graph::CaptureInput in{"", t.dtype(), t.shape(), t.requires_grad(), t.device().is_host() && !device.is_host()};
      if (!spec.empty()) {
        const InputSpec& want = spec[i];
        in.name = want.name;
        if (want.dtype != t.dtype())
          fail("input " + std::to_string(i) + " is " + std::string(to_string(t.dtype())) + ", its input_spec says " +
               std::string(to_string(want.dtype)) + ".");
        if (int(want.shape.size()) != t.rank())
          fail("input " + std::to_string(i) + " is " + to_string(t.shape()) + ", its input_spec has " +
               std::to_string(want.shape.size()) + " sizes.");
        in.shape = Shape();
        for (size_t k = 0; k < want.shape.size(); ++k) {
          const Size& s = want.shape[k];
          in.shape.push(!s.name.empty() ? symbols.name(s.name) : s.number < 0 ? symbols.fresh("S") : Dim(s.number));
        }
      }
      out.push_back(std::move(in));
    }
    return out;
  }
  std::shared_ptr<Kind> kind_for(std::span<const Tensor> inputs, std::string_view key) {
    Device device = device_of(inputs);
    std::string wanted = signature(inputs, key, device);
    std::lock_guard hold(lock);
    for (auto it = kinds.begin(); it != kinds.end(); ++it)
      if ((*it)->signature == wanted) {
        kinds.splice(kinds.begin(), kinds, it);
        return kinds.front();
      }
    auto kind = std::make_shared<Kind>();
    kind->signature = std::move(wanted);
    op::Symbols symbols;
    std::vector<graph::CaptureInput> in = specs(inputs, device, symbols);
    kind->captured =
        graph::capture(function, in, symbols, options.states ? options.states() : NamedTensors(), device, options.name);
    kind->forward = std::make_shared<Executable>(kind->captured.forward, device, options.max_plans);
    if (kind->captured.backward)
      kind->backward = std::make_shared<Executable>(kind->captured.backward, device, options.max_plans);
    kind->writes = !kind->captured.forward->updates.empty() || !kind->captured.forward->gradients.empty();
    kinds.push_front(kind);
    if (int(kinds.size()) > options.max_programs) kinds.pop_back();
    return kind;
  }
};

StaticFunction::StaticFunction(Function function, StaticOptions options)
    : state_(new State{std::move(function), std::move(options), {}, {}}) {
  if (!state_->function) throw Error(Code::invalid_argument, "StaticFunction: the function is empty.");
}
StaticFunction::~StaticFunction() = default;
const Function& StaticFunction::function() const { return state_->function; }
void StaticFunction::clear() {
  std::lock_guard hold(state_->lock);
  state_->kinds.clear();
}

std::vector<Tensor> StaticFunction::call(std::span<const Tensor> inputs, std::string_view key) {
  if (dispatch::recorder()) return state_->function(inputs);  // a part of what is being captured
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      throw Error(Code::invalid_argument, state_->options.name + ": input " + std::to_string(i) + " has no value.");
  std::shared_ptr<Kind> kind;
  try {
    kind = state_->kind_for(inputs, key);
  } catch (const graph::NeedsARun&) { return state_->function(inputs); }
  std::unique_lock<std::mutex> turn(kind->turn, std::defer_lock);
  if (kind->writes) turn.lock();
  {
    std::lock_guard hold(state_->lock);
    kind->last_shapes.clear();
    for (const Tensor& t : inputs) kind->last_shapes.push_back(t.shape());
  }
  if (!kind->captured.backward) {
    Result<graph::Outcome> out = kind->forward->run(inputs);
    throw_if(out.status());
    const graph::Program& p = kind->forward->program();
    for (size_t i = 0; i < p.gradients.size(); ++i) {
      NoGrad off;
      Tensor leaf = p[p.gradients[i].state].data, before = leaf.grad();
      leaf.set_grad(before.defined() ? add(before, out->gradients[i]) : out->gradients[i]);
    }
    return std::move(out->results);
  }
  std::vector<Tensor> operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), kind->captured.wanted_leaves.begin(), kind->captured.wanted_leaves.end());
  return apply_function(std::make_shared<CapturedCall>(kind, inputs.size()), operands);
}

std::vector<ProgramInfo> StaticFunction::programs() const {
  std::vector<ProgramInfo> out;
  std::lock_guard hold(state_->lock);
  for (const auto& kind : state_->kinds) {
    ProgramInfo info;
    info.name = kind->captured.forward->name;
    info.device = kind->forward->device().name();
    info.nodes = int(kind->captured.forward->body.nodes.size());
    if (kind->captured.backward) info.backward_nodes = int(kind->captured.backward->body.nodes.size());
    graph::PlanInfo plan = kind->forward->info(kind->last_shapes);
    info.steps = int(plan.steps.size());
    info.interpreted = plan.steps.empty() && info.nodes > 0;
    info.in_place = plan.in_place;
    info.arena_bytes = plan.arena_bytes;
    info.values_bytes = plan.values_bytes;
    out.push_back(std::move(info));
  }
  return out;
}

std::shared_ptr<StaticFunction> to_static(nn::Layer& layer, StaticOptions options) {
  if (options.name == "main") options.name = layer.type_name();
  options.states = [&layer] { return layer.state_dict(); };
  auto f = std::make_shared<StaticFunction>([&layer](std::span<const Tensor> x) { return layer.forward_all(x); },
                                            std::move(options));
  layer.set_forward([f, &layer](std::span<const Tensor> x) {
    std::string modes;
    modes += layer.training() ? 't' : 'e';
    for (const nn::LayerPtr& l : layer.sublayers()) modes += l->training() ? 't' : 'e';
    return f->call(x, modes);
  });
  return f;
}

bool capturing() { return dispatch::recorder() != nullptr; }

}  // namespace oarlock::jit
