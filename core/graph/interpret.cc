#include "core/graph/interpret.h"

#include <oarlock/base/autograd.h>

#include "core/dispatch/recorder.h"
#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/graph/sizes.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

class Interpreter {
 public:
  Interpreter(const Program& p, Device device)
      : p_(p), device_(device_at(device.index())), sizes_(p.symbols), held_(p.values.size()), uses_(count_uses(p)) {}

  Status start(std::span<const Tensor> inputs) {
    if (inputs.size() != p_.body.parameters.size())
      return invalid(p_.name + ": takes " + std::to_string(p_.body.parameters.size()) + " inputs, given " +
                     std::to_string(inputs.size()) + ".");
    for (size_t i = 0; i < inputs.size(); ++i) {
      ValueId v = p_.body.parameters[i];
      if (!inputs[i].defined()) return invalid(p_.name + ": input " + p_.name_of(v) + " has no value.");
      OAR_TRY(take(v, inputs[i].detach()));
    }
    OAR_TRY(sizes_.check(p_.guards));
    for (size_t v = 0; v < p_.values.size(); ++v) {
      const Value& value = p_.values[v];
      if (value.kind != Kind::constant && value.kind != Kind::state) continue;
      if (!value.data.defined())
        return invalid(p_.name + ": " + p_.name_of(ValueId(v)) + " has no elements. Load the weights first.");
      Tensor t = value.data.detach();
      if (value.kind == Kind::constant) OAR_TRY(role::transfer(t, value.host ? host_device() : device_, &t));
      OAR_TRY(take(ValueId(v), t));
    }
    for (ValueId v : p_.feeds) {
      if (!p_[v].feed.next) return invalid(p_.name + ": nobody feeds " + p_.name_of(v) + ".");
      OAR_TRY(take(v, p_[v].feed.next()));
    }
    return {};
  }

  Status run(const Body& body) {
    for (const Node& n : body.nodes)
      if (Status s = step(n); !s.ok())
        return {s.code(), std::string(s.text()) + (n.where.empty() ? "" : " (" + n.where + ")")};
    return {};
  }

  Tensor result(ValueId v) const { return held_[size_t(v)].detach(); }

 private:
  Status take(ValueId v, const Tensor& t) {
    const Value& value = p_[v];
    if (t.dtype() != value.dtype)
      return invalid(p_.name + ": " + p_.name_of(v) + " wants " + std::string(to_string(value.dtype)) + ", given " +
                     std::string(to_string(t.dtype())) + ".");
    OAR_TRY(sizes_.bind(value.shape, t.shape(), p_.name + ": " + p_.name_of(v)));
    held_[size_t(v)] = t;
    return {};
  }

  Status step(const Node& n) {
    Result<op::OwnedAttrs> attrs = sizes_.value(n);
    if (!attrs) return std::move(attrs.status());
    const op::Op& op = n.def();
    std::vector<TensorImpl*> in;
    for (ValueId v : n.inputs) in.push_back(v == kNone ? nullptr : held_[size_t(v)].impl());
    dispatch::Call call{.op = op,
                        .inputs = in.data(),
                        .n_inputs = int(in.size()),
                        .attrs = attrs->view().v,
                        .n_attrs = attrs->view().n};
    size_t own = size_t(n.own_outputs());
    for (size_t i = size_t(op.visible_outputs); i < own; ++i) call.with_hidden |= n.outputs[i] != kNone;
    bool on_host = !n.outputs.empty() && n.outputs[0] != kNone && p_[n.outputs[0]].host;
    DeviceScope scope(on_host ? Device() : Device(device_.index));
    OAR_TRY(dispatch::find_device(call));
    std::vector<Tensor> out;
    OAR_TRY(dispatch::perform(call, out));
    for (size_t i = 0; i < own && i < out.size(); ++i) {
      if (n.outputs[i] == kNone) continue;
      if (!out[i].defined())
        return {Code::internal, std::string(op.def->name) + ": an output that is wanted is not there."};
      OAR_TRY(take(n.outputs[i], out[i]));
    }
    size_t at = own;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != kNone && (op.mutated >> std::min<size_t>(i, 63) & 1)) {
        ValueId after = n.outputs[at++];
        if (after != kNone) held_[size_t(after)] = held_[size_t(n.inputs[i])];
      }
    for (ValueId v : n.inputs)  // what nobody reads any more goes
      if (v != kNone && --uses_[size_t(v)] == 0) held_[size_t(v)] = Tensor();
    return {};
  }

  const Program& p_;
  DeviceState& device_;
  Sizes sizes_;
  std::vector<Tensor> held_;
  std::vector<int> uses_;
};

}  // namespace

Result<Outcome> interpret(const Program& p, std::span<const Tensor> inputs, Device device) {
  NoGrad off;
  dispatch::RecorderPause pause;
  Interpreter run(p, device);
  try {
    OAR_TRY(run.start(inputs));
    OAR_TRY(run.run(p.body));
  } catch (const Error& e) { return Status(e.code(), e.what()); }
  Outcome out;
  for (ValueId v : p.body.results) out.results.push_back(run.result(v));
  for (const Program::Update& g : p.gradients) out.gradients.push_back(run.result(g.value));
  return out;
}

}  // namespace oarlock::graph
