#include "core/graph/interpret.h"

#include <oarlock/base/autograd.h>

#include "core/dispatch/recorder.h"
#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/graph/sizes.h"
#include "core/op/control.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

class Interpreter {
 public:
  Interpreter(const Program& p, Device device)
      : p_(p),
        device_(device_at(device.index())),
        sizes_(p.symbols),
        held_(p.values.size()),
        uses_(p.values.size(), 0) {
    for (ValueId v : p.body.results) ++uses_[size_t(v)];
    for (auto* list : {&p.updates, &p.gradients})
      for (const Program::Update& u : *list)
        for (ValueId v : {u.state, u.value}) ++uses_[size_t(v)];
    for (const Node& n : p.body.nodes) each_read(n, [&](ValueId v) { ++uses_[size_t(v)]; });
    each_node(p.body, [&](const Node& n) { writes_ |= n.def().mutated != 0; });
  }

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
    for (const Node& n : body.nodes) {
      if (Status s = n.bodies.empty() ? step(n) : control(n); !s.ok())
        return {s.code(), std::string(s.text()) + (n.where.empty() ? "" : " (" + n.where + ")")};
      each_read(n, [&](ValueId v) {  // what nobody reads any more goes
        if (--uses_[size_t(v)] == 0) held_[size_t(v)] = Tensor();
      });
    }
    return {};
  }

  Tensor result(ValueId v) const { return held_[size_t(v)].detach(); }

 private:
  template <class See>
  static void each_read(const Node& n, const See& see) {
    if (!n.bodies.empty()) {
      for (ValueId v : reads(n)) see(v);
      return;
    }
    for (ValueId v : n.inputs)
      if (v != kNone) see(v);
  }
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
    return {};
  }

  // ---- nodes with bodies
  class BodyCall : public op::ControlCall {
   public:
    BodyCall(Interpreter& run, const Node& n, op::Attrs attrs, std::span<const Tensor> inputs)
        : ControlCall(*n.def().def, attrs, inputs), run_(run), n_(n) {}
    std::vector<Tensor> call(int region, std::span<const Tensor> parameters) override {
      std::vector<Tensor> out;
      throw_if(run_.round(n_.bodies[size_t(region)], parameters, out));
      return out;
    }
    size_t output_count() override { return n_.outputs.size(); }
    Tensor empty(int i) override {
      if (n_.outputs[size_t(i)] == kNone) return Tensor();
      const Value& v = run_.p_[n_.outputs[size_t(i)]];
      Shape shape = run_.sizes_.value(v.shape);
      for (int k = 0; k < shape.rank; ++k)
        if (!shape[k].known()) shape.d[k] = 0;  // a size of rows that were never computed
      return Tensor::empty(shape, v.dtype, v.host ? Device() : Device(run_.device_.index));
    }

   private:
    Interpreter& run_;
    const Node& n_;
  };
  friend class BodyCall;

  Status control(const Node& n) {
    Result<op::OwnedAttrs> attrs = sizes_.value(n);
    if (!attrs) return std::move(attrs.status());
    std::vector<Tensor> in;
    for (ValueId v : n.inputs) in.push_back(held_[size_t(v)]);
    BodyCall call(*this, n, attrs->view(), in);
    DeviceScope scope(Device(device_.index));
    try {
      n.def().def->run(call);
    } catch (const Error& e) { return {e.code(), e.what()}; }
    if (call.outputs.size() != n.outputs.size())
      return {Code::internal, std::string(n.def().def->name) + ": " + std::to_string(n.outputs.size()) +
                                  " outputs are declared, its bodies gave " + std::to_string(call.outputs.size()) +
                                  "."};
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == kNone) continue;
      OAR_TRY(bring(call.outputs[i], n.outputs[i]));
      // It may be an operand as it was, and somebody writes to one of the two.
      if (writes_) OAR_TRY(role::copy(call.outputs[i], &call.outputs[i]));
      OAR_TRY(take(n.outputs[i], call.outputs[i]));
    }
    return {};
  }
  Status bring(Tensor& t, ValueId v) const { return role::transfer(t, p_[v].host ? host_device() : device_, &t); }
  // A body once, with values and sizes of its own.
  Status round(const Body& body, std::span<const Tensor> parameters, std::vector<Tensor>& results) {
    Sizes::Names before = sizes_.names();
    for (ValueId v : made_in(body)) uses_[size_t(v)] = 0;
    for (ValueId v : body.results) ++uses_[size_t(v)];
    for (const Node& n : body.nodes) each_read(n, [&](ValueId v) { ++uses_[size_t(v)]; });
    for (size_t i = 0; i < parameters.size(); ++i) {
      Tensor t = parameters[i];
      OAR_TRY(bring(t, body.parameters[i]));
      OAR_TRY(take(body.parameters[i], t));
    }
    OAR_TRY(run(body));
    for (ValueId v : body.results) {
      results.push_back(held_[size_t(v)]);
      --uses_[size_t(v)];
    }
    for (ValueId v : made_in(body)) held_[size_t(v)] = Tensor();
    sizes_.set(std::move(before));
    return {};
  }
  static std::vector<ValueId> made_in(const Body& body) {
    std::vector<ValueId> out = body.parameters;
    for (const Node& n : body.nodes)
      for (ValueId v : n.outputs)
        if (v != kNone) out.push_back(v);
    return out;
  }

  const Program& p_;
  DeviceState& device_;
  Sizes sizes_;
  std::vector<Tensor> held_;
  std::vector<int> uses_;  // by nodes of the body that makes the value, and by what it gives
  bool writes_ = false;
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
