// Places of values and the steps between them.
#include <algorithm>

#include "core/dispatch/order.h"
#include "core/graph/planner.h"
#include "core/op/calls.h"

namespace oarlock::graph {

int Planner::new_home(DeviceState& d, uint64_t bytes, Home::Kind kind) {
  Home h;
  h.kind = kind;
  h.device = &d;
  h.bytes = bytes;
  h.storage = new (object_allocate(sizeof(Storage))) Storage;
  h.storage->device = &d;
  h.storage->release = [](void*) {};
  plan_.homes_.push_back(std::move(h));
  return int(plan_.homes_.size() - 1);
}

int Planner::new_spot(int home, DType dtype, const Shape& shape, const int64_t* strides, uint64_t byte_offset) {
  Home& h = plan_.homes_[size_t(home)];
  retain(h.storage);
  int id = int(plan_.spots_.size());
  plan_.spots_.push_back(
      {home, byte_offset, Tensor::adopt(make_tensor(*h.device, dtype, shape, strides, h.storage, 0))});
  h.spots.push_back(id);
  if (h.origin < 0) h.origin = id;
  return id;
}

int Planner::fresh(DeviceState& d, DType dtype, const Shape& shape, const int64_t* strides) {
  int64_t n = strides ? extent(shape, strides) : count(shape);
  return new_spot(new_home(d, size_bytes(dtype, uint64_t(n)), Home::arena), dtype, shape, strides, 0);
}

int Planner::bound(DType dtype, const Shape& shape, const int64_t* strides, DeviceState& d, Plan::Bound::From from,
                   int index) {
  int64_t n = strides ? extent(shape, strides) : count(shape);
  int home = new_home(d, size_bytes(dtype, uint64_t(n)), Home::bound);
  int spot = new_spot(home, dtype, shape, strides, 0);
  plan_.bound_.push_back({from, index, home});
  // What it will be aligned to: that of an element, which is all that a caller's memory promises.
  if (d.addressable) at(spot).view.data = reinterpret_cast<void*>(uintptr_t(std::max(1, info(dtype).bits / 8)));
  return spot;
}

int Planner::view_of(int spot, const Shape& shape, const int64_t* strides, int64_t offset) {
  Spot s = plan_.spots_[size_t(spot)];
  DType t = at(spot).dtype;
  uint64_t skip = uint64_t(offset) * uint64_t(info(t).bits) / 8;
  int id = new_spot(s.home, t, shape, strides, s.byte_offset + skip);
  const oar_view_t& from = at(spot).view;
  oar_view_t& to = at(id).view;
  to.data = from.data;  // for what it says of the alignment: see bound
  if (!is_constant(spot)) return id;
  to.byte_offset = from.byte_offset;
  if (!at(id).device->addressable) to.byte_offset += skip;
  else if (to.data) to.data = static_cast<char*>(to.data) + skip;
  return id;
}

Result<int> Planner::operand(ValueId v, DeviceState& d) {
  const Value& value = p_[v];
  if (value.kind == Kind::constant) {
    int& have = constant_spot_[{v, d.index}];
    if (have) return have - 1;
    if (!value.data.defined()) return no_elements(v);
    // Those of the program are shared by all plans; what a decomposition adds has another number in each.
    Result<Tensor> t = size_t(v) < own_values_ ? constants_.on(value.data, v, d) : Constants::bring(value.data, d);
    if (!t) return std::move(t.status());
    int home = new_home(d, size_bytes(value.dtype, uint64_t(count(value.shape))), Home::bound);
    int spot = new_spot(home, value.dtype, value.shape, nullptr, 0);
    plan_.place(plan_.homes_[size_t(home)], *t);
    plan_.homes_[size_t(home)].constant = true;
    have = spot + 1;
    return spot;
  }
  int spot = spot_of_[size_t(v)];
  if (spot < 0 && value.kind == Kind::state) {
    if (!value.data.defined()) return no_elements(v);
    const TensorImpl& t = *value.data.impl();
    if (t.device != &device_ && !t.device->is_host())
      return invalid(p_.name + ": " + p_.name_of(v) + " is on " + t.device->name + ", the program runs on " +
                     device_.name + ". Move it there first.");
    spot = bound(t.dtype, t.shape, t.contiguous ? nullptr : t.strides, *t.device, Plan::Bound::state, v);
    spot_of_[size_t(v)] = spot;
  }
  if (spot < 0) return Status(Code::internal, p_.name + ": " + p_.name_of(v) + " is read before it is made.");
  if (at(spot).device == &d) return spot;
  int& moved = moved_[{spot, d.index}];
  if (!moved) {
    Result<int> dense = row_major(spot);
    if (!dense) return dense;
    int to = fresh(d, at(spot).dtype, at(spot).shape);
    add_copy(*dense, to, "transfer");
    moved = to + 1;
  }
  return moved - 1;
}

Status Planner::no_elements(ValueId v) const {
  return invalid(p_.name + ": " + p_.name_of(v) + " has no elements. Load the weights first.");
}

static std::string text_of(const TensorImpl& t) { return std::string(to_string(t.dtype)) + to_string(t.shape); }
Plan::Step& Planner::add_step(std::string op, std::string route, std::vector<int> in, std::vector<int> out) {
  StepInfo info;
  info.op = std::move(op);
  info.route = std::move(route);
  info.where = where_;
  for (size_t i = 0; i < in.size(); ++i) info.shapes += (i ? ", " : "") + (in[i] < 0 ? "none" : text_of(at(in[i])));
  info.shapes += " -> ";
  for (size_t i = 0; i < out.size(); ++i) info.shapes += (i ? ", " : "") + (out[i] < 0 ? "none" : text_of(at(out[i])));
  plan_.info_.steps.push_back(std::move(info));
  Step s;
  s.where = where_;
  s.in = std::move(in);
  s.out = std::move(out);
  plan_.steps_.push_back(std::move(s));
  return plan_.steps_.back();
}

void Planner::set_other(Step& s, std::unique_ptr<Plan::Other> other) {
  other->plan = &plan_;
  s.go = Plan::go_other;
  s.state = other.get();
  plan_.others_.push_back(std::move(other));
}

struct Planner::Copy : Plan::Other {
  int from, to;
  bool counts;  // a write that the tape has to know of
  Status run() override {
    TensorImpl& target = *plan->spots_[size_t(to)].tensor.impl();
    OAR_TRY(copy_elements(*plan->spots_[size_t(from)].tensor.impl(), target));
    const Home& home = plan->homes_[size_t(plan->spots_[size_t(to)].home)];
    if (counts && home.elements.defined())
      home.elements.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
};
void Planner::add_copy(int from, int to, const char* op, bool counts) {
  Step& s = add_step(op, "copy", {from}, {to});
  auto other = std::make_unique<Copy>();
  other->from = from;
  other->to = to;
  other->counts = counts;
  set_other(s, std::move(other));
}

Result<int> Planner::row_major(int spot) {
  if (at(spot).contiguous) return spot;
  const op::Op& op = op::op_at(op::op_of(op::Role::copy));
  TensorImpl* in[] = {&at(spot)};
  dispatch::Call call{.op = op, .inputs = in, .n_inputs = 1, .attrs = nullptr, .n_attrs = 0, .device = at(spot).device};
  Result<std::shared_ptr<dispatch::Entry>> e = dispatch::make_entry(call);
  if (!e) return std::move(e.status());
  int to = fresh(*at(spot).device, at(spot).dtype, at(spot).shape);
  if ((*e)->kind == dispatch::Kind::kernel && !(*e)->make_contiguous && (*e)->strides.empty() && (*e)->order.empty())
    OAR_TRY(add_kernel(*e, {spot}, {to}));
  else add_copy(spot, to, op.def->name);
  return to;
}

int Planner::ordered(int spot, const dispatch::AxisOrder& order) {
  if (spot < 0 || order.empty()) return spot;
  Shape shape = at(spot).shape;
  int64_t strides[kMaxRank] = {};
  std::copy_n(at(spot).strides, shape.rank, strides);
  dispatch::reorder_axes(order, shape, strides);
  return view_of(spot, shape, strides, 0);
}

oar_status_t OAR_CALL Planner::go_run(void* state, const oar_frame_t* frame) {
  auto& e = *static_cast<dispatch::Entry*>(state);
  return e.kernel.decl->run(e.kernel.pack->handle, e.kernel.decl, frame);
}

Status Planner::add_kernel(std::shared_ptr<dispatch::Entry> e, std::vector<int> in, std::vector<int> out) {
  std::vector<int> seen_in, seen_out;
  for (int s : in) seen_in.push_back(ordered(s, e->order));
  for (int s : out) seen_out.push_back(ordered(s, e->order));
  Step& s = add_step(e->op->def->name, "kernel", in, out);
  StepInfo& info = plan_.info_.steps.back();
  info.plugin = e->kernel.pack->plugin->info.name;
  info.reason = e->reason;
  info.workspace_bytes = e->workspace_bytes;
  s.entry = e.get();
  s.pack = e->kernel.pack;
  for (int i : seen_in) s.inputs.push_back(i < 0 ? nullptr : &at(i).view);
  for (int o : seen_out) s.outputs.push_back(o < 0 ? nullptr : &at(o).view);
  if (e->prepared) {
    s.go = e->kernel.decl->launch;
    s.state = e->state;
  } else {
    s.go = go_run;
    s.state = e.get();
  }
  s.frame.struct_size = sizeof s.frame;
  s.frame.n_inputs = uint32_t(in.size());
  s.frame.n_outputs = uint32_t(out.size());
  s.frame.call = e->prepared ? nullptr : &e->call;
  if (e->workspace_bytes) s.workspace = new_home(*e->device, e->workspace_bytes, Home::arena);
  plan_.entries_.push_back(std::move(e));
  return {};
}

struct Planner::Reference : Plan::Other {
  const dispatch::Entry* entry;
  std::vector<const oar_view_t*> inputs, outputs;
  Status run() override {
    std::vector<const oar_view_t*> out = outputs;
    op::KernelCall call{.inputs = inputs, .outputs = out, .attrs = entry->attrs.view()};
    entry->op->def->reference(call);
    return std::move(call.status);
  }
};
void Planner::add_reference(std::shared_ptr<dispatch::Entry> e, std::vector<int> in, std::vector<int> out) {
  auto other = std::make_unique<Reference>();
  other->entry = e.get();
  for (int s : in) other->inputs.push_back(s < 0 ? nullptr : &at(ordered(s, e->order)).view);
  for (int s : out) other->outputs.push_back(s < 0 ? nullptr : &at(ordered(s, e->order)).view);
  Step& s = add_step(e->op->def->name, "reference", std::move(in), std::move(out));
  plan_.info_.steps.back().reason = e->reason;
  s.entry = e.get();
  set_other(s, std::move(other));
  plan_.entries_.push_back(std::move(e));
}

}  // namespace oarlock::graph
