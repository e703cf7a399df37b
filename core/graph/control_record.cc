#include "core/graph/control_record.h"

#include <algorithm>

#include <oarlock/base/autograd.h>

#include "core/autograd/tape.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

bool is_float(DType t) { return (set_of(t) & (kFloat | kComplex)) != 0; }

class OpenBody {
 public:
  OpenBody(Recording& recording, Body& body) : recording_(recording) { recording.begin_body(body); }
  ~OpenBody() { recording_.end_body(); }
  OpenBody(const OpenBody&) = delete;
  OpenBody& operator=(const OpenBody&) = delete;

 private:
  Recording& recording_;
};

// A region as it was recorded, and the nodes of its gradient behind its own. Both are templates: they are repeated wherever a
// gradient is wanted, and what they made goes nowhere.
struct Region {
  Body body, gradient;
  std::vector<ValueId> seeds;  // per result; kNone: it has no gradient to give
  std::vector<ValueId> found;  // the gradients of the parameters, then of reads; kNone: zero
  std::vector<Tensor> reads;   // on the tape around, where gradients go
};

struct Recorded {
  Recording* recording;
  uint64_t serial;  // of it
  const op::OpDef* def;
  op::OwnedAttrs attrs;
  std::vector<Region> regions;
  std::vector<Tensor> inputs, outputs, around;
  std::vector<std::vector<int>> place;  // of each region's reads in around
};

// Two that stand at one place of the tape.
bool same_place(const Tensor& a, const Tensor& b) {
  if (a.impl() == b.impl()) return true;
  const Autograd *x = a.impl()->autograd, *y = b.impl()->autograd;
  return x && y && x->node && x->node == y->node && x->output == y->output;
}

class GradientCall : public op::ControlGradientCall {
 public:
  explicit GradientCall(const Recorded& r) : r_(r) {
    attrs = r.attrs.view();
    inputs = r.inputs;
    outputs = r.outputs;
    for (const Tensor& t : r.around) around.push_back({t.dtype(), t.shape(), r.recording->is_host(t)});
    gradients.resize(inputs.size() + around.size());
  }
  std::vector<Tensor> call(int region, std::span<const Tensor> parameters) override {
    Names to = repeat(region, parameters);
    std::vector<Tensor> out;
    for (ValueId v : r_.regions[size_t(region)].body.results) out.push_back(tensor(v, to));
    return out;
  }
  std::vector<Tensor> differentiate(int region, std::span<const Tensor> parameters,
                                    std::span<const Tensor> dresults) override {
    const Region& of = r_.regions[size_t(region)];
    Names to = repeat(region, parameters);
    size_t next = 0;
    for (ValueId v : of.seeds)
      if (v != kNone) to[v] = r_.recording->value(dresults[next++]);
    r_.recording->repeat(of.gradient.nodes, to);
    std::vector<Tensor> out(of.body.parameters.size() + around.size());
    for (size_t i = 0; i < of.found.size(); ++i)
      if (of.found[i] != kNone) out[spot(region, i)] = tensor(of.found[i], to);
    return out;
  }
  bool reaches(int region, size_t parameter) const override {
    const std::vector<ValueId>& found = r_.regions[size_t(region)].found;
    for (size_t i = 0; i < found.size(); ++i)
      if (spot(region, i) == parameter) return found[i] != kNone;
    return false;
  }
  bool gives(int region, size_t result) const override {
    const std::vector<ValueId>& seeds = r_.regions[size_t(region)].seeds;
    return result < seeds.size() && seeds[result] != kNone;
  }
  std::vector<Tensor> control(std::string_view op, std::span<const Tensor> operands, std::span<const oar_attr_t> values,
                              std::span<const op::RegionFunction> functions) override {
    return call_control(op::find_op(op), operands, values, functions);
  }

 private:
  using Names = std::unordered_map<ValueId, ValueId>;
  Names repeat(int region, std::span<const Tensor> parameters) {
    const Body& body = r_.regions[size_t(region)].body;
    Names to;
    for (size_t i = 0; i < parameters.size(); ++i) to[body.parameters[i]] = r_.recording->value(parameters[i]);
    r_.recording->repeat(body.nodes, to);
    return to;
  }
  Tensor tensor(ValueId v, const Names& to) const {
    auto it = to.find(v);
    return r_.recording->tensor(it == to.end() ? v : it->second);
  }
  size_t spot(int region, size_t i) const {
    size_t n = r_.regions[size_t(region)].body.parameters.size();
    return i < n ? i : n + size_t(r_.place[size_t(region)][i - n]);
  }
  const Recorded& r_;
};

// The op on the tape around.
class ControlFunction : public oarlock::Function {
 public:
  explicit ControlFunction(std::shared_ptr<Recorded> recorded, std::vector<bool> differentiable)
      : r_(std::move(recorded)), differentiable_(std::move(differentiable)) {}
  std::string name() const override { return r_->def->name; }
  std::vector<Tensor> forward(FunctionContext& context, std::span<const Tensor>) override {
    for (size_t i = 0; i < r_->outputs.size(); ++i)
      if (!differentiable_[i]) context.mark_non_differentiable(r_->outputs[i]);
    return r_->outputs;
  }
  std::vector<Tensor> backward(FunctionContext&, std::span<const Tensor> gradients) override {
    if (!r_->def->control_gradient)
      throw Error(Code::unsupported, name() + ": it has no gradient in a program: " + r_->def->no_gradient + ".");
    auto* recording = dynamic_cast<Recording*>(dispatch::recorder());
    if (!recording || recording->serial() != r_->serial)
      throw Error(Code::invalid_argument,
                  name() + ": the capture that recorded it has ended. Ask for gradients inside.");
    if (grad_enabled())
      throw Error(Code::unsupported, name() + ": it has no gradient of second order in a program. Run it eagerly.");
    GradientCall call(*r_);
    call.doutputs.assign(gradients.begin(), gradients.end());
    r_->def->control_gradient(call);
    return std::move(call.gradients);
  }

 private:
  std::shared_ptr<Recorded> r_;
  std::vector<bool> differentiable_;
};

// What the tape inside says of the region just recorded.
void differentiate(Recording& recording, Region& region, uint64_t since, std::span<const Tensor> inputs,
                   std::span<const Tensor> parameters, std::span<const Tensor> results, bool has_rule) {
  region.reads = read_before(results, since);
  std::erase_if(region.reads, [&](const Tensor& t) {
    return std::any_of(parameters.begin(), parameters.end(), [&](const Tensor& p) { return p.impl() == t.impl(); });
  });
  bool wanted = !region.reads.empty() ||
                std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.requires_grad(); });
  region.seeds.assign(results.size(), kNone);
  region.found.assign(parameters.size() + region.reads.size(), kNone);
  if (!has_rule || !wanted) return;
  OpenBody open(recording, region.gradient);
  std::vector<Tensor> from, seeds, targets;
  std::vector<size_t> of;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].requires_grad()) continue;
    from.push_back(results[i]);
    seeds.push_back(recording.add_input("", results[i].dtype(), results[i].shape(), Kind::parameter,
                                        recording.is_host(results[i])));
    region.seeds[i] = recording.value(seeds.back());
  }
  for (size_t i = 0; i < parameters.size() + region.reads.size(); ++i) {
    const Tensor& t = i < parameters.size() ? parameters[i] : region.reads[i - parameters.size()];
    if (!t.requires_grad()) continue;
    targets.push_back(t);
    of.push_back(i);
  }
  std::vector<Tensor> gradients = gradients_since(since, from, targets, seeds);
  for (size_t k = 0; k < of.size(); ++k) region.found[of[k]] = recording.value(gradients[k]);
}

}  // namespace

std::vector<Tensor> record_control(Recording& recording, op::OpId id, std::span<const Tensor> inputs,
                                   op::ControlTypes& c, std::span<const op::RegionFunction> functions) {
  auto r = std::make_shared<Recorded>();
  r->recording = &recording;
  r->serial = recording.serial();
  r->def = &c.def;
  r->attrs = op::OwnedAttrs(c.attrs);
  r->inputs.assign(inputs.begin(), inputs.end());
  Node node;
  node.op = id;
  node.version = c.def.version;
  node.attrs = op::OwnedAttrs(c.attrs);
  for (const Tensor& t : inputs) node.inputs.push_back(recording.value(t));
  std::vector<bool> reached;  // per result of any region
  for (size_t k = 0; k < functions.size(); ++k) {
    Region& region = r->regions.emplace_back();
    OpenBody open(recording, region.body);
    std::vector<Tensor> parameters;
    for (const op::ValueType& t : c.parameters[k]) {
      parameters.push_back(recording.add_input("", t.dtype, t.shape, Kind::parameter, t.host));
      region.body.parameters.push_back(recording.value(parameters.back()));
      parameters.back().impl()->requires_grad = grad_enabled() && is_float(t.dtype);
    }
    uint64_t since = next_in_sequence();
    std::vector<Tensor> results = functions[k](parameters);
    check_given(c.def, int(k), results);
    std::vector<op::ValueType>& types = c.results.emplace_back();
    for (const Tensor& t : results) {
      region.body.results.push_back(recording.value(t));
      types.push_back({t.dtype(), t.shape(), recording.is_host(t)});
    }
    if (!grad_enabled()) continue;
    reached.resize(std::max({reached.size(), results.size(), inputs.size()}));
    for (size_t i = 0; i < results.size(); ++i) reached[i] = reached[i] || results[i].requires_grad();
    differentiate(recording, region, since, inputs, parameters, results, bool(c.def.control_gradient));
  }
  throw_if(check_types(c));
  std::vector<op::Guard>& guards = recording.program().guards;
  guards.insert(guards.end(), c.guards.begin(), c.guards.end());
  for (const Region& region : r->regions) node.bodies.push_back(region.body);
  r->outputs = recording.emit(std::move(node), c.outputs);

  for (const Region& region : r->regions) {
    std::vector<int>& place = r->place.emplace_back();
    for (const Tensor& t : region.reads) {
      auto it = std::find_if(r->around.begin(), r->around.end(), [&](const Tensor& a) { return same_place(a, t); });
      place.push_back(int(it - r->around.begin()));
      if (it == r->around.end()) r->around.push_back(t);
    }
  }
  std::vector<Tensor> operands = r->inputs;
  operands.insert(operands.end(), r->around.begin(), r->around.end());
  if (!grad_enabled() || std::none_of(operands.begin(), operands.end(), [](auto& t) { return t.requires_grad(); }))
    return r->outputs;
  std::vector<bool> differentiable;
  for (size_t i = 0; i < r->outputs.size(); ++i)
    differentiable.push_back((i < reached.size() && reached[i]) || (i < inputs.size() && inputs[i].requires_grad()));
  return apply_function(std::make_shared<ControlFunction>(std::move(r), std::move(differentiable)), operands);
}

}  // namespace oarlock::graph
