#include <oarlock/exported.h>

#include <set>

#include <oarlock/base/autograd.h>
#include <oarlock/nn.h>

#include "core/graph/capture.h"

namespace oarlock::jit {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(Code::invalid_argument, text); }

bool fit(const std::string& name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  for (size_t i = 0; i < name.size(); ++i)
    if (!letter(name[i]) && (i == 0 || !((name[i] >= '0' && name[i] <= '9') || name[i] == '.'))) return false;
  return !name.empty();
}
void check_names(const std::string& who, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& n : names) {
    if (!fit(n))
      fail(who + " is called '" + n + "'. Names are letters, digits, _ and dots, and begin with a letter or _.");
    if (!seen.insert(n).second) fail(who + " and another one are both called " + n + ". Give them names of their own.");
  }
}

// The modes of a layer and of all below it, put back at the end.
class InferenceMode {
 public:
  explicit InferenceMode(nn::Layer& layer) : layer_(layer), below_(layer.sublayers()), own_(layer.training()) {
    for (const nn::LayerPtr& l : below_) modes_.push_back(l->training());
    layer_.eval();
  }
  ~InferenceMode() {
    layer_.train(own_);
    for (size_t i = 0; i < below_.size(); ++i) below_[i]->train(modes_[i]);  // those above come first
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  nn::Layer& layer_;
  std::vector<nn::LayerPtr> below_;
  std::vector<bool> modes_;
  bool own_;
};

}  // namespace

std::vector<std::string> ExportedProgram::input_names() const {
  std::vector<std::string> out;
  for (graph::ValueId v : program_->body.parameters) out.push_back((*program_)[v].name);
  return out;
}
std::vector<std::string> ExportedProgram::output_names() const { return program_->result_names; }
NamedTensors ExportedProgram::parameters() const {
  NamedTensors out;
  for (const graph::Value& v : program_->values)
    if (v.kind == graph::Kind::state) out.emplace_back(v.name, v.data);
  return out;
}

ExportedProgram export_function(const Function& function, const std::vector<InputSpec>& inputs,
                                const ExportOptions& options) {
  if (!function) fail(options.name + ": the function is empty.");
  NoGrad off;
  op::Symbols symbols;
  std::vector<graph::CaptureInput> in;
  std::vector<std::string> names;
  for (const InputSpec& spec : inputs) {
    names.push_back(spec.name.empty() ? "x" + std::to_string(names.size()) : spec.name);
    graph::CaptureInput one{names.back(), spec.dtype, {}};
    for (const Size& s : spec.shape)
      one.shape.push(!s.name.empty() ? symbols.name(s.name) : s.number < 0 ? symbols.fresh("S") : Dim(s.number));
    in.push_back(std::move(one));
  }
  check_names(options.name + ": an input", names);
  for (const InputSpec& spec : inputs)
    for (const Size& size : spec.shape)
      if (!size.name.empty() && (!fit(size.name) || size.name.find('.') != std::string::npos))
        fail(options.name + ": a size is called '" + size.name +
             "'. Names are letters, digits and _, and begin with a letter or _.");
  Device device = options.states.empty() ? current_device() : options.states[0].second.device();
  std::shared_ptr<graph::Program> p =
      graph::capture(function, in, symbols, options.states, device, options.name).forward;
  for (const graph::Program::Update& u : p->updates)
    fail(p->name + ": it writes to " + p->name_of(u.state) +
         ", which an exported program may only read. Export it in " + "inference mode, or return what it would write.");
  for (graph::ValueId v : p->feeds)
    if (!(*p)[v].feed.random)
      fail(p->name + ": it asks its surroundings for " + p->name_of(v) +
           ". Make that an input, or a number that stays.");
  p->result_names = options.output_names;
  if (p->result_names.empty())
    for (size_t i = 0; i < p->body.results.size(); ++i) p->result_names.push_back("out" + std::to_string(i));
  if (p->result_names.size() != p->body.results.size())
    fail(p->name + ": it gives " + std::to_string(p->body.results.size()) + " results, output_names has " +
         std::to_string(p->result_names.size()) + ". Name each.");
  check_names(p->name + ": an output", p->result_names);
  for (graph::Value& v : p->values)
    if (v.kind == graph::Kind::state) v.data = v.data.detach().clone();
  // Files without folders: what is saved says nothing of the machine it was made on.
  graph::each_node(p->body, [](graph::Node& n) { n.where.erase(0, n.where.rfind('/') + 1); });
  ExportedProgram out;
  out.program_ = std::move(p);
  return out;
}

ExportedProgram export_layer(nn::Layer& layer, const std::vector<InputSpec>& inputs, ExportOptions options) {
  InferenceMode mode(layer);
  if (options.states.empty()) options.states = layer.state_dict();
  return export_function([&](std::span<const Tensor> x) { return layer.call(x); }, inputs, options);
}

}  // namespace oarlock::jit
