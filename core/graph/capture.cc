#include "core/graph/capture.h"

#include <algorithm>
#include <set>

#include <oarlock/base/autograd.h>

#include "core/graph/recording.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

// Values that nodes from `first` on read, or that are results, and that are there before.
std::vector<ValueId> crossing(const Program& p, size_t first, const std::vector<ValueId>& results) {
  std::set<ValueId> made, read;
  for (size_t i = first; i < p.body.nodes.size(); ++i) {
    for (ValueId v : reads(p.body.nodes[i]))
      if (!made.contains(v)) read.insert(v);
    made.insert(p.body.nodes[i].outputs.begin(), p.body.nodes[i].outputs.end());
  }
  for (ValueId v : results)
    if (v != kNone && !made.contains(v)) read.insert(v);
  return {read.begin(), read.end()};
}

// One recording of both halves, cut in two.
void split(Program joint, size_t n_forward, const std::vector<ValueId>& seeds, const std::vector<ValueId>& gradients,
           Captured& out) {
  std::vector<ValueId> extra;
  for (ValueId v : crossing(joint, n_forward, gradients)) {
    const Value& value = joint[v];
    if (std::count(seeds.begin(), seeds.end(), v) || value.kind == Kind::constant) continue;
    if (value.kind == Kind::state) {
      out.read_states.push_back(value.data);
      continue;
    }
    extra.push_back(v);
  }
  auto backward = std::make_shared<Program>(joint);
  backward->name += "_gradient";
  backward->body.nodes.erase(backward->body.nodes.begin(), backward->body.nodes.begin() + int64_t(n_forward));
  backward->body.parameters = seeds;
  backward->body.parameters.insert(backward->body.parameters.end(), extra.begin(), extra.end());
  for (ValueId v : backward->body.parameters) {
    (*backward)[v].kind = Kind::input;
    (*backward)[v].feed = {};
  }
  backward->body.results.clear();
  for (ValueId v : gradients) {
    out.reached.push_back(v != kNone);
    if (v != kNone) backward->body.results.push_back(v);
  }
  backward->result_names.assign(backward->body.results.size(), "");
  backward->updates.clear();
  backward->gradients.clear();
  backward->feeds.clear();
  compact(*backward);
  out.backward = std::move(backward);

  joint.body.nodes.resize(n_forward);
  joint.body.results.insert(joint.body.results.end(), extra.begin(), extra.end());
  joint.result_names.resize(joint.body.results.size());
  joint.gradients.clear();
  compact(joint);
  *out.forward = std::move(joint);
}

}  // namespace

Captured capture(const TensorFunction& f, std::span<const CaptureInput> inputs, const op::Symbols& symbols,
                 const std::vector<std::pair<std::string, Tensor>>& states, Device device, std::string name) {
  Captured out;
  out.forward = std::make_shared<Program>();
  Program& p = *out.forward;
  p.name = std::move(name);
  p.symbols = symbols;
  std::vector<ValueId> seeds, wanted;
  size_t n_forward = 0;
  bool differentiable = false;
  {
    Recording recording(p, p.body.nodes, device);
    DeviceScope scope(device);
    std::vector<Tensor> in;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const CaptureInput& spec = inputs[i];
      std::string own = spec.name.empty() ? "x" + std::to_string(i) : spec.name;
      in.push_back(recording.add_input(own, spec.dtype, spec.shape, Kind::input, spec.host));
      p.body.parameters.push_back(recording.value(in.back()));
      in.back().impl()->requires_grad = spec.requires_grad;
    }
    for (auto& [state, tensor] : states)
      if (tensor.defined()) recording.add_state(tensor, state);
    std::vector<Tensor> results;
    try {
      results = f(in);
    } catch (const Error& e) {
      if (recording.needs_a_run) throw NeedsARun(e);
      throw;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined())
        throw Error(Code::invalid_argument, p.name + ": result " + std::to_string(i) + " has no value.");
      p.body.results.push_back(recording.value(results[i]));
    }
    out.n_results = int(results.size());
    p.result_names.resize(results.size());
    n_forward = p.body.nodes.size();
    for (size_t i = 0; grad_enabled() && i < results.size(); ++i)
      if (results[i].requires_grad() && results[i].impl()->stands_for) out.seeds.push_back(int(i));
    differentiable = !out.seeds.empty();
    if (differentiable) {
      std::vector<Tensor> from, targets, seed_tensors;
      for (size_t i = 0; i < in.size(); ++i)
        if (in[i].requires_grad()) {
          out.wanted_inputs.push_back(int(i));
          targets.push_back(in[i]);
        }
      out.wanted_leaves = recording.leaves();
      targets.insert(targets.end(), out.wanted_leaves.begin(), out.wanted_leaves.end());
      for (int r : out.seeds) {
        from.push_back(results[size_t(r)]);
        const TensorImpl& t = *from.back().impl();
        seed_tensors.push_back(recording.add_input("d" + std::to_string(r), t.dtype, t.shape));
        seeds.push_back(recording.value(seed_tensors.back()));
      }
      for (const Tensor& g : gradients(from, targets, seed_tensors)) wanted.push_back(recording.value(g));
    }
    recording.finish();
  }
  // Feeds stay even where nobody reads them: a draw moves its generator.
  if (differentiable) split(std::move(p), n_forward, seeds, wanted, out);
  else compact(p);
  return out;
}

}  // namespace oarlock::graph
