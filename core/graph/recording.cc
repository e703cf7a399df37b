#include "core/graph/recording.h"

#include <algorithm>

#include "core/autograd/tape.h"
#include "core/dispatch/key.h"
#include "core/dispatch/role.h"
#include "core/dispatch/run.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {

// A value as tensors see it: what it is now, after the writes so far.
struct Recording::Slot {
  ValueId first = kNone, now = kNone;
  uint32_t version = 0;
  int body = 0;                 // that made it; 0: the program's own
  bool is_view = false;         // of another value: a write to it can't be told to that one
  std::vector<Tensor> views{};  // stand-ins of views of it
};
// A tensor with elements that a call read. Handles of the same elements share a slot.
struct Recording::Taken {
  Tensor tensor, grad_before;
  Slot* slot;
};

Recording::Recording(Program& program, std::vector<Node>& nodes, Device device)
    : p_(program),
      nodes_{&nodes},
      device_(device_at(device.index())),
      symbols_(program.symbols),
      serial_(next_in_sequence()) {
  if (dispatch::recorder()) throw Error(Code::invalid_argument, "recording: this thread captures a program already.");
  dispatch::set_recorder(this);
}
Recording::~Recording() {
  if (!finished_)
    for (Taken& t : taken_) {
      Autograd* a = t.tensor.impl()->autograd;
      if (a && a->grad.defined() && a->grad.impl()->stands_for) a->grad = t.grad_before;
    }
  dispatch::set_recorder(nullptr);
}

Recording::Slot* Recording::new_slot(ValueId v) {
  slots_.push_back(std::make_unique<Slot>());
  Slot* s = slots_.back().get();
  s->first = s->now = v;
  s->body = p_[v].kind == Kind::constant || p_[v].kind == Kind::state ? 0 : open_.back();
  known_.insert(s);
  return s;
}
Recording::Slot* Recording::slot_of(const TensorImpl& t) const {
  if (t.stands_for) {
    auto it = known_.find(static_cast<const Slot*>(t.stands_for));
    return it == known_.end() ? nullptr : const_cast<Slot*>(*it);
  }
  auto it = place_.find(&t);
  return it == place_.end() ? nullptr : taken_[it->second].slot;
}
Recording::Slot* Recording::take_up(const Tensor& t, Slot* slot) {
  place_.emplace(t.impl(), taken_.size());
  taken_.push_back({t, t.impl()->autograd ? t.impl()->autograd->grad : Tensor(), slot});
  return slot;
}
// Another handle of the same elements.
Recording::Slot* Recording::alias_of(const TensorImpl& t) const {
  for (const Taken& other : taken_) {
    const TensorImpl& o = *other.tensor.impl();
    if (o.storage == t.storage && o.view.data == t.view.data && o.view.byte_offset == t.view.byte_offset &&
        o.dtype == t.dtype && o.shape == t.shape && std::equal(o.strides, o.strides + o.shape.rank, t.strides))
      return other.slot;
  }
  return nullptr;
}
bool Recording::is_host(const Tensor& t) const { return t.impl()->device->is_host() && !device_.is_host(); }
bool Recording::owns(const TensorImpl& t) const { return slot_of(t) != nullptr; }
uint32_t Recording::version(const TensorImpl& t) const {
  const Slot* s = slot_of(t);
  return s ? s->version : 0;
}

TensorImpl* Recording::stand_in(ValueId v, Slot* slot) {
  const Value& value = p_[v];
  DeviceState& device = value.host ? host_device() : device_;
  TensorImpl* t = make_tensor(device, value.dtype, value.shape, nullptr, nullptr, 0);
  t->stands_for = slot;
  return t;
}

Tensor Recording::tensor(ValueId v) {
  if (size_t(v) >= of_value_.size()) of_value_.resize(p_.values.size(), nullptr);
  Slot*& slot = of_value_[size_t(v)];
  if (!slot) slot = new_slot(v);
  return Tensor::adopt(stand_in(v, slot));
}

Tensor Recording::add_input(std::string name, DType dtype, const Shape& shape, Kind kind, bool host) {
  Value v;
  v.kind = kind;
  v.dtype = dtype;
  v.shape = shape;
  v.name = std::move(name);
  v.host = host;
  return tensor(p_.add(std::move(v)));
}

ValueId Recording::add_state(const Tensor& t, std::string name) {
  TensorImpl* impl = t.impl();
  if (Slot* slot = slot_of(*impl)) return slot->now;
  if (Slot* slot = impl->storage ? alias_of(*impl) : nullptr) {
    // The handle that calls read is the one to follow: set_data on it leaves others of the same elements behind.
    if (p_[slot->first].kind == Kind::state) p_[slot->first].data = t;
    return take_up(t, slot)->now;
  }
  for (const Taken& leaf : taken_)
    if (leaf.grad_before.defined() && leaf.grad_before.impl() == impl)
      throw Error(Code::invalid_argument,
                  "recording: a gradient of shape " + to_string(impl->shape) +
                      " was there before what is captured, and would be added to as it is now at each run. Clear it "
                      "(clear_grad) before capturing.");
  Value v;
  v.kind = Kind::state;
  v.dtype = impl->dtype;
  v.shape = impl->shape;
  v.name = std::move(name);
  v.data = t;
  v.host = impl->device->is_host() && !device_.is_host();
  return take_up(t, new_slot(p_.add(std::move(v))))->now;
}

ValueId Recording::value(const Tensor& t) {
  if (!t.defined()) return kNone;
  TensorImpl* impl = t.impl();
  if (Slot* slot = slot_of(*impl)) return visible(*slot).now;
  bool number = impl->device->is_host() && count(impl->shape) == 1 && !impl->requires_grad;
  if (!number) return add_state(t, "");
  Value v;
  v.kind = Kind::constant;
  v.dtype = impl->dtype;
  v.shape = impl->shape;
  v.host = !device_.is_host();
  {
    dispatch::RecorderPause pause;
    NoGrad off;
    v.data = t.clone();
  }
  return take_up(t, new_slot(p_.add(std::move(v))))->now;
}

std::vector<Tensor> Recording::leaves() const {
  std::vector<Tensor> out;
  for (const Taken& t : taken_)
    if (t.tensor.requires_grad()) out.push_back(t.tensor);
  return out;
}

void Recording::begin_body(Body& body) {
  nodes_.push_back(&body.nodes);
  open_.push_back(++n_bodies_);
}
void Recording::end_body() {
  nodes_.pop_back();
  open_.pop_back();
}
const Recording::Slot& Recording::visible(const Slot& slot) const {
  if (std::find(open_.begin(), open_.end(), slot.body) == open_.end())
    throw Error(Code::invalid_argument, "recording: a tensor of shape " + to_string(p_[slot.now].shape) +
                                            ", made inside a function that cond, while_loop or scan called, is used "
                                            "outside of it. Return it from that function.");
  return slot;
}

std::vector<Tensor> Recording::emit(Node node, std::span<const op::ValueType> outputs) {
  std::vector<Tensor> out;
  node.where = where_.empty() ? call_site() : where_;
  for (const op::ValueType& t : outputs) {
    Value v;
    v.dtype = t.dtype;
    v.shape = t.shape;
    v.host = t.host;
    node.outputs.push_back(p_.add(std::move(v)));
    out.push_back(tensor(node.outputs.back()));
  }
  nodes_.back()->push_back(std::move(node));
  return out;
}

void Recording::repeat(const std::vector<Node>& nodes, std::unordered_map<ValueId, ValueId>& to) {
  auto read = [&](ValueId& v) {
    if (v == kNone) return;
    if (auto it = to.find(v); it != to.end()) v = it->second;
    else if (gone_.contains(v))
      throw Error(Code::invalid_argument, "recording: " + p_.name_of(v) + ", of shape " + to_string(p_[v].shape) +
                                              ", was written to after a function that reads it was recorded, so its "
                                              "gradient would be wrong. Write to a clone, or write after backward.");
  };
  auto make = [&](ValueId& v) {
    if (v == kNone) return;
    Value again = p_[v];
    again.name.clear();
    v = to[v] = p_.add(std::move(again));
  };
  std::function<void(Node&)> renew = [&](Node& n) {
    for (ValueId& v : n.inputs) read(v);
    for (Body& b : n.bodies) {
      for (ValueId& v : b.parameters) make(v);
      for (Node& inner : b.nodes) renew(inner);
      for (ValueId& v : b.results) read(v);
    }
    for (ValueId& v : n.outputs) make(v);
  };
  for (Node n : nodes) {
    renew(n);
    nodes_.back()->push_back(std::move(n));
  }
}

Tensor Recording::feed(DType dtype, const Shape& shape, bool random, std::function<Tensor()> next) {
  if (nodes_.size() > 1)
    throw Error(Code::unsupported,
                std::string("recording: a function that cond, while_loop or scan called asks for ") +
                    (random ? "a random draw" : "a value of its surroundings (a learning rate)") +
                    ", which a program is given once per run, before it starts. Ask for it outside, and use the result "
                    "inside; in a scan, draw for all rows and make it one of xs.");
  Value v;
  v.kind = Kind::feed;
  v.dtype = dtype;
  v.shape = shape;
  v.host = true;
  v.feed = {random, std::move(next)};
  ValueId id = p_.add(std::move(v));
  p_.feeds.push_back(id);
  return tensor(id);
}

Status Recording::set_data(const Tensor& to, const Tensor& from) {
  const TensorImpl &t = *to.impl(), &f = *from.impl();
  if (t.dtype != f.dtype || !(t.shape == f.shape) || t.device != f.device)
    return invalid("set_data: the target is " + std::string(to_string(t.dtype)) + to_string(t.shape) + " on " +
                   t.device->name + ", the new data " + std::string(to_string(f.dtype)) + to_string(f.shape) + " on " +
                   f.device->name + ". In a captured program both have to be alike.");
  TensorImpl* operands[] = {to.impl(), from.impl()};
  NoGrad off;
  dispatch::Call call{
      .op = op::op_at(op::op_of(op::Role::assign)), .inputs = operands, .n_inputs = 2, .attrs = nullptr, .n_attrs = 0};
  OAR_TRY(dispatch::find_device(call));
  std::vector<Tensor> none;
  return record(call, none);
}

Status Recording::record(dispatch::Call& call, std::vector<Tensor>& outputs) {
  try {
    return take(call, outputs);
  } catch (const Error& e) { return {e.code(), e.what()}; }
}

Status Recording::take(dispatch::Call& call, std::vector<Tensor>& outputs) {
  const op::OpDef& def = *call.op.def;
  if (call.device != &device_ && !call.device->is_host())
    return invalid(std::string(def.name) + ": operands are on " + call.device->name +
                   ", the program that is being captured runs on " + device_.name +
                   " and the host. Move them before capturing.");
  if (call.route != Route::dispatch)
    return invalid(std::string(def.name) +
                   ": a captured call can't be routed to a kernel, decomposition or reference.");
  if (def.view) {
    op::AttrScratch scratch;
    const TensorImpl& x = *call.inputs[0];
    OAR_TRY(op::normalise(def, &x.shape, call.attrs, call.n_attrs, scratch));
    op::OwnedAttrs attrs(op::Attrs(scratch.values, uint32_t(def.attributes.count)));
    op::ViewCall view(def, attrs.view(), x.shape, nullptr, true);
    view.guards = &p_.guards;
    def.view(view);
    if (!view.status.ok()) return std::move(view.status);
    return emit(call, {&view.out, 1}, {&x.dtype, 1}, attrs, outputs);
  }
  dispatch::Entry e;
  e.op = &call.op;
  e.device = call.device;
  OAR_TRY(dispatch::infer_call(call, e, &p_.guards));
  if (e.kind == dispatch::Kind::promote) {
    std::vector<Tensor> keep;
    std::vector<TensorImpl*> in;
    OAR_TRY(dispatch::cast_operands(e, call, keep, in));
    return take(call, outputs);
  }
  if (call.decompose) return dispatch::run_decomposition(e, call, outputs);
  return emit(call, e.shapes, e.dtypes, e.attrs, outputs);
}

Status Recording::emit(dispatch::Call& call, std::span<const Shape> shapes, std::span<const DType> dtypes,
                       const op::OwnedAttrs& attrs, std::vector<Tensor>& outputs) {
  const op::OpDef& def = *call.op.def;
  Node n;
  n.op = call.op.id;
  n.version = def.version;
  n.attrs = op::OwnedAttrs(attrs.view());
  n.where = where_.empty() ? call_site() : where_;
  bool all_host = true, any = false;
  for (int i = 0; i < call.n_inputs; ++i) {
    if (!call.inputs[i]) {
      n.inputs.push_back(kNone);
      continue;
    }
    detail::retain(call.inputs[i]);
    ValueId v = value(Tensor::adopt(call.inputs[i]));
    n.inputs.push_back(v);
    if (call.op.host_inputs >> std::min(i, 63) & 1) continue;
    any = true;
    all_host &= p_[v].host;
  }
  bool host = any ? all_host : call.device->is_host() && !device_.is_host();
  if (def.role == op::Role::transfer) {
    const DeviceState& to = device_at(int(n.attrs.view().integer(0)));
    if (&to != &device_ && !to.is_host())
      return invalid("transfer: to " + to.name + ", but the program that is being captured runs on " + device_.name +
                     " and the host.");
    host = to.is_host() && !device_.is_host();
  }
  bool variadic = int(shapes.size()) != def.outputs.count;
  std::vector<Tensor> made;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!variadic && int(i) >= call.op.visible_outputs && !call.with_hidden) {
      n.outputs.push_back(kNone);
      made.emplace_back();
      continue;
    }
    Value v;
    v.dtype = dtypes[i];
    v.shape = shapes[i];
    v.host = host;
    ValueId id = p_.add(std::move(v));
    n.outputs.push_back(id);
    made.push_back(tensor(id));
  }
  for (int i = 0; i < call.n_inputs; ++i) {
    if (!call.inputs[i] || !(call.op.mutated >> std::min(i, 63) & 1)) continue;
    OAR_TRY(may_write(*slot_of(*call.inputs[i]), call));
    Value& old = p_[n.inputs[size_t(i)]];
    if (old.kind == Kind::constant) {  // a number after all that changes: a counter
      detail::retain(call.inputs[i]);
      old.data = Tensor::adopt(call.inputs[i]);
      old.kind = Kind::state;
    }
    Value v;
    v.dtype = old.dtype;
    v.shape = old.shape;
    v.host = old.host;
    ValueId id = p_.add(std::move(v));
    n.outputs.push_back(id);
    OAR_TRY(written(*call.inputs[i], id, call));
  }
  if (def.view) {
    Slot* of = slot_of(*call.inputs[0]);
    slot_of(*made[0].impl())->is_view = true;
    if (of) of->views.push_back(made[0]);
  }
  nodes_.back()->push_back(std::move(n));
  outputs = std::move(made);
  return {};
}

// A body runs any number of times, so it may write only to what each of them makes.
Status Recording::may_write(const Slot& slot, const dispatch::Call& call) const {
  if (slot.body == open_.back() && p_[slot.first].kind != Kind::parameter) return {};
  return invalid(std::string(call.op.def->name) + ": writes to a tensor of shape " + to_string(p_[slot.now].shape) +
                 " that is older than the function of cond, while_loop or scan in which it is written. Compute a new "
                 "one and return it, as one of the carried values where it is needed in the next round.");
}
// A tensor holds another value from now on.
Status Recording::written(TensorImpl& t, ValueId after, const dispatch::Call& call) {
  Slot& slot = *slot_of(t);
  const char* name = call.op.def->name;
  if (slot.is_view)
    return invalid(std::string(name) +
                   ": writes to a view of another tensor, which a captured program can't. Write "
                   "to the whole tensor, or compute a new one with where or scatter.");
  for (const Tensor& view : slot.views)
    if (view.impl()->refs.load(std::memory_order_relaxed) > 1)
      return invalid(std::string(name) + ": writes to a tensor of shape " + to_string(t.shape) +
                     " while a view of it, of shape " + to_string(view.shape()) +
                     ", is still in use; a captured program keeps its values apart. Drop the view first, or clone it.");
  slot.views.clear();
  gone_.insert(slot.now);
  slot.now = after;
  ++slot.version;
  if (t.storage) t.storage->version.fetch_add(1, std::memory_order_relaxed);  // what the tape saved of it is old
  return {};
}

void Recording::finish() {
  std::unordered_set<const Slot*> told;
  for (Taken& taken : taken_) {
    const Slot& slot = *taken.slot;
    if (p_[slot.first].kind != Kind::state) continue;
    if (slot.now != slot.first && told.insert(&slot).second) p_.updates.push_back({slot.first, slot.now});
    Autograd* a = taken.tensor.impl()->autograd;
    if (!a || !a->grad.defined() || !a->grad.impl()->stands_for) continue;
    if (const Slot* g = slot_of(*a->grad.impl())) p_.gradients.push_back({slot.first, visible(*g).now});
    a->grad = taken.grad_before;
  }
  finished_ = true;
}

}  // namespace oarlock::graph
