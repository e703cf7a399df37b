// Making a plan: nodes in order, each asked of dispatch as an eager call would be, with places instead of elements; what is
// decomposed is recorded and planned in its stead. Then everything gets its memory: memory_plan.cc.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/dispatch/order.h"
#include "core/dispatch/run.h"
#include "core/graph/memory_plan.h"
#include "core/graph/recording.h"
#include "core/op/calls.h"

namespace oarlock::graph {

class Planner {
 public:
  Planner(Plan& plan, Constants& constants)
      : plan_(plan),
        p_(plan.p_),
        device_(plan.device_),
        constants_(constants),
        own_values_(p_.values.size()),
        spot_of_(p_.values.size(), -1) {}

  Status make() {
    for (size_t i = 0; i < p_.body.parameters.size(); ++i) {
      ValueId v = p_.body.parameters[i];
      DeviceState& d = p_[v].host ? host_device() : device_;
      spot_of_[size_t(v)] = bound(p_[v].dtype, p_[v].shape, nullptr, d, Plan::Bound::input, int(i));
    }
    for (ValueId v : p_.feeds) {
      if (!p_[v].feed.next) return invalid(p_.name + ": nobody feeds " + p_.name_of(v) + ".");
      spot_of_[size_t(v)] = bound(p_[v].dtype, p_[v].shape, nullptr, host_device(), Plan::Bound::feed, v);
    }
    std::vector<Node> nodes = p_.body.nodes;
    for (const Node& n : nodes) OAR_TRY(plan_node(n, false));
    for (ValueId v : p_.body.results) OAR_TRY(hand_out(v, plan_.results_));
    for (const Program::Update& g : p_.gradients) OAR_TRY(hand_out(g.value, plan_.gradients_));
    return MemoryPlan(plan_).make();
  }

 private:
  using Home = Plan::Home;
  using Step = Plan::Step;
  using Spot = Plan::Spot;

  // ---- places
  int new_home(DeviceState& d, uint64_t bytes, Home::Kind kind) {
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
  int new_spot(int home, DType dtype, const Shape& shape, const int64_t* strides, uint64_t byte_offset) {
    Home& h = plan_.homes_[size_t(home)];
    retain(h.storage);
    int id = int(plan_.spots_.size());
    plan_.spots_.push_back(
        {home, byte_offset, Tensor::adopt(make_tensor(*h.device, dtype, shape, strides, h.storage, 0))});
    h.spots.push_back(id);
    if (h.origin < 0) h.origin = id;
    return id;
  }
  TensorImpl& at(int spot) const { return plan_.at(spot); }
  int fresh(DeviceState& d, DType dtype, const Shape& shape, const int64_t* strides = nullptr) {
    int64_t n = strides ? extent(shape, strides) : count(shape);
    return new_spot(new_home(d, size_bytes(dtype, uint64_t(n)), Home::arena), dtype, shape, strides, 0);
  }
  int bound(DType dtype, const Shape& shape, const int64_t* strides, DeviceState& d, Plan::Bound::From from,
            int index) {
    int64_t n = strides ? extent(shape, strides) : count(shape);
    int home = new_home(d, size_bytes(dtype, uint64_t(n)), Home::bound);
    int spot = new_spot(home, dtype, shape, strides, 0);
    plan_.bound_.push_back({from, index, home});
    // What it will be aligned to: that of an element, which is all that a caller's memory promises.
    if (d.addressable) at(spot).view.data = reinterpret_cast<void*>(uintptr_t(std::max(1, info(dtype).bits / 8)));
    return spot;
  }
  int view_of(int spot, const Shape& shape, const int64_t* strides, int64_t offset) {
    Spot s = plan_.spots_[size_t(spot)];
    DType t = at(spot).dtype;
    int id = new_spot(s.home, t, shape, strides, s.byte_offset + uint64_t(offset) * uint64_t(info(t).bits) / 8);
    at(id).view.data = at(spot).view.data;  // for what it says of the alignment: see bound
    return id;
  }

  // Where a value is, on that device; brought there by a step if it isn't.
  Result<int> operand(ValueId v, DeviceState& d) {
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
  Status no_elements(ValueId v) const {
    return invalid(p_.name + ": " + p_.name_of(v) + " has no elements. Load the weights first.");
  }

  // ---- steps
  static std::string text_of(const TensorImpl& t) { return std::string(to_string(t.dtype)) + to_string(t.shape); }
  Step& add_step(std::string op, std::string route, std::vector<int> in, std::vector<int> out) {
    StepInfo info;
    info.op = std::move(op);
    info.route = std::move(route);
    info.where = where_;
    for (size_t i = 0; i < in.size(); ++i) info.shapes += (i ? ", " : "") + (in[i] < 0 ? "none" : text_of(at(in[i])));
    info.shapes += " -> ";
    for (size_t i = 0; i < out.size(); ++i)
      info.shapes += (i ? ", " : "") + (out[i] < 0 ? "none" : text_of(at(out[i])));
    plan_.info_.steps.push_back(std::move(info));
    Step s;
    s.where = where_;
    s.in = std::move(in);
    s.out = std::move(out);
    plan_.steps_.push_back(std::move(s));
    return plan_.steps_.back();
  }
  void set_other(Step& s, std::unique_ptr<Plan::Other> other) {
    other->plan = &plan_;
    s.go = Plan::go_other;
    s.state = other.get();
    plan_.others_.push_back(std::move(other));
  }
  struct Copy : Plan::Other {
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
  void add_copy(int from, int to, const char* op, bool counts = false) {
    Step& s = add_step(op, "copy", {from}, {to});
    auto other = std::make_unique<Copy>();
    other->from = from;
    other->to = to;
    other->counts = counts;
    set_other(s, std::move(other));
  }
  // The same elements without gaps, by the op that copies.
  Result<int> row_major(int spot) {
    if (at(spot).contiguous) return spot;
    const op::Op& op = op::op_at(op::op_of(op::Role::copy));
    TensorImpl* in[] = {&at(spot)};
    dispatch::Call call{
        .op = op, .inputs = in, .n_inputs = 1, .attrs = nullptr, .n_attrs = 0, .device = at(spot).device};
    Result<std::shared_ptr<dispatch::Entry>> e = dispatch::make_entry(call);
    if (!e) return std::move(e.status());
    int to = fresh(*at(spot).device, at(spot).dtype, at(spot).shape);
    if ((*e)->kind == dispatch::Kind::kernel && !(*e)->make_contiguous && (*e)->strides.empty() && (*e)->order.empty())
      OAR_TRY(add_kernel(*e, {spot}, {to}));
    else add_copy(spot, to, op.def->name);
    return to;
  }

  int ordered(int spot, const dispatch::AxisOrder& order) {
    if (spot < 0 || order.empty()) return spot;
    Shape shape = at(spot).shape;
    int64_t strides[kMaxRank] = {};
    std::copy_n(at(spot).strides, shape.rank, strides);
    dispatch::reorder_axes(order, shape, strides);
    return view_of(spot, shape, strides, 0);
  }
  static oar_status_t OAR_CALL go_run(void* state, const oar_frame_t* frame) {
    auto& e = *static_cast<dispatch::Entry*>(state);
    return e.kernel.decl->run(e.kernel.pack->handle, e.kernel.decl, frame);
  }
  Status add_kernel(std::shared_ptr<dispatch::Entry> e, std::vector<int> in, std::vector<int> out) {
    std::vector<int> seen_in, seen_out;
    for (int s : in) seen_in.push_back(ordered(s, e->order));
    for (int s : out) seen_out.push_back(ordered(s, e->order));
    Step& s = add_step(e->op->def->name, "kernel", in, out);
    StepInfo& info = plan_.info_.steps.back();
    info.plugin = e->kernel.pack->plugin->info.name;
    info.reason = e->reason;
    info.workspace_bytes = e->workspace_bytes;
    s.entry = e.get();
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
  struct Reference : Plan::Other {
    const dispatch::Entry* entry;
    std::vector<const oar_view_t*> inputs, outputs;
    Status run() override {
      std::vector<const oar_view_t*> out = outputs;
      op::KernelCall call{.inputs = inputs, .outputs = out, .attrs = entry->attrs.view()};
      entry->op->def->reference(call);
      return std::move(call.status);
    }
  };
  void add_reference(std::shared_ptr<dispatch::Entry> e, std::vector<int> in, std::vector<int> out) {
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

  // ---- nodes
  Status plan_node(const Node& n, bool on_host) {
    const op::Op& op = n.def();
    const op::OpDef& def = *op.def;
    if (!n.bodies.empty()) return {Code::unsupported, std::string(def.name) + ": it has bodies."};
    where_ = n.where;
    for (ValueId v : n.outputs)
      if (v != kNone) on_host |= p_[v].host;
    DeviceState& d = on_host ? host_device() : device_;
    std::vector<int> in;
    std::vector<TensorImpl*> impls;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNone) {
        in.push_back(-1);
        impls.push_back(nullptr);
        continue;
      }
      auto bit = [&](uint64_t mask) { return (mask >> std::min<size_t>(i, 63) & 1) != 0; };
      Result<int> spot = operand(n.inputs[i], bit(op.host_inputs) ? host_device() : d);
      if (!spot) return std::move(spot.status());
      if (bit(op.mutated) && *spot != spot_of_[size_t(n.inputs[i])])
        return invalid(std::string(def.name) + ": writes to " + p_.name_of(n.inputs[i]) + ", which is not on " +
                       d.name + ". Move it there first.");
      in.push_back(*spot);
      impls.push_back(&at(*spot));
    }
    OAR_TRY(plan_call(n, d, in, impls));
    size_t own = size_t(n.own_outputs());
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != kNone && (op.mutated >> std::min<size_t>(i, 63) & 1)) {
        ValueId after = n.outputs[own++];
        int home = plan_.spots_[size_t(spot_of_[size_t(n.inputs[i])])].home;
        std::erase_if(moved_, [&](auto& m) { return plan_.spots_[size_t(m.first.first)].home == home; });
        if (after != kNone) spot_of_[size_t(after)] = spot_of_[size_t(n.inputs[i])];
      }
    return {};
  }

  Status plan_call(const Node& n, DeviceState& d, std::vector<int>& in, std::vector<TensorImpl*>& impls) {
    const op::Op& op = n.def();
    const op::OpDef& def = *op.def;
    auto give = [&](size_t output, int spot) {
      if (n.outputs[output] != kNone) spot_of_[size_t(n.outputs[output])] = spot;
    };
    if (def.role == op::Role::transfer) {
      give(0, in[0]);
      return {};
    }
    if (def.role == op::Role::assign) {
      int from = in[1];
      if (plan_.home_of(in[0]).storage == plan_.home_of(from).storage) {  // they may overlap
        from = fresh(d, at(in[1]).dtype, at(in[1]).shape);
        add_copy(in[1], from, "copy");
      }
      add_copy(from, in[0], def.name, true);
      return {};
    }
    op::Attrs attrs = n.attrs.view();
    if (def.view) {
      Result<int> spot = plan_view(op, attrs, in[0]);
      if (!spot) return std::move(spot.status());
      if (*spot >= 0) {
        give(0, *spot);
        return {};
      }
      dispatch::Entry e;
      e.op = &op;
      e.device = &d;
      dispatch::Call call{.op = op, .inputs = impls.data(), .n_inputs = 1, .attrs = attrs.v, .n_attrs = attrs.n};
      call.device = &d;
      OAR_TRY(dispatch::infer_call(call, e));
      return decompose(n, e, d);
    }
    dispatch::Call call{
        .op = op, .inputs = impls.data(), .n_inputs = int(impls.size()), .attrs = attrs.v, .n_attrs = attrs.n};
    call.device = &d;
    size_t own = size_t(n.own_outputs());
    for (size_t i = size_t(op.visible_outputs); i < own; ++i) call.with_hidden |= n.outputs[i] != kNone;
    Result<std::shared_ptr<dispatch::Entry>> made = dispatch::make_entry(call);
    if (!made) return std::move(made.status());
    std::shared_ptr<dispatch::Entry> e = std::move(*made);
    if (e->dynamic)
      return {Code::unsupported, std::string(def.name) + ": the size of its result is known only when it has run."};
    if (e->kind == dispatch::Kind::promote)
      return {Code::internal, std::string(def.name) + ": operands of several dtypes in a program."};
    if (e->kind == dispatch::Kind::decomposition) return decompose(n, *e, d);
    if (e->kind == dispatch::Kind::fallback) {
      OAR_TRY(dispatch::allow_fallback(*e, call));
      return plan_node(n, true);
    }
    if (e->make_contiguous) OAR_TRY(arrange_inputs(*e, op, in));
    std::vector<int> out;
    bool variadic = e->n_outputs != def.outputs.count;
    for (int i = 0; i < e->n_outputs; ++i) {
      bool hidden = !variadic && i >= op.visible_outputs;
      if (hidden && !call.with_hidden) {
        out.push_back(-1);
        continue;
      }
      const auto& strides = e->strides;
      out.push_back(fresh(d, e->dtypes[size_t(i)], e->shapes[size_t(i)],
                          !strides.empty() && !strides[size_t(i)].empty() ? strides[size_t(i)].data() : nullptr));
      if (size_t(i) < own) give(size_t(i), out.back());
    }
    if (!e->launch) return {};
    if (e->kind == dispatch::Kind::kernel) return add_kernel(std::move(e), std::move(in), std::move(out));
    if (e->kind == dispatch::Kind::memory) add_copy(in[0], out[0], def.name);
    else add_reference(std::move(e), std::move(in), std::move(out));
    return {};
  }

  // The spot of an alias; -1: only the decomposition can do it.
  Result<int> plan_view(const op::Op& op, op::Attrs attrs, int spot) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      TensorImpl& x = at(spot);
      op::ViewCall view(*op.def, attrs, x.shape, x.strides, x.contiguous);
      bool alias = op.def->view(view);
      if (!view.status.ok()) return std::move(view.status);
      if (info(x.dtype).bits < 8 && view.out_offset * info(x.dtype).bits % 8 != 0) alias = false;
      if (alias) return view_of(spot, view.out, view.out_strides, view.out_offset);
      if (x.contiguous) return -1;
      Result<int> dense = row_major(spot);
      if (!dense) return dense;
      spot = *dense;
    }
    return Status(Code::internal, std::string(op.def->name) + ": its view rule refused a row-major operand.");
  }

  // Operands that the kernel wants row-major or expanded.
  Status arrange_inputs(const dispatch::Entry& e, const op::Op& op, std::vector<int>& in) {
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] < 0 || (op.host_inputs >> std::min<size_t>(i, 63) & 1)) continue;
      const op::Spec& spec = op.rule.in[std::min(int(i), op.def->inputs.count - 1)];
      bool batch = spec.count == 1 && op.rule.item[spec.first].kind == op::Item::batch;
      if (e.expand && batch && !(at(in[i]).shape == e.shapes[0])) {
        oar_attr_t shape = op::attr_dims(e.shapes[0]);
        Result<int> wide = plan_view(op::op_at(op::op_of(op::Role::expand)), op::Attrs(&shape, 1), in[i]);
        if (!wide) return std::move(wide.status());
        in[i] = *wide;
      }
      Result<int> dense = row_major(in[i]);
      if (!dense) return std::move(dense.status());
      in[i] = *dense;
    }
    return {};
  }

  // The op's decomposition, recorded into the program and planned in the node's place.
  Status decompose(const Node& n, dispatch::Entry& e, DeviceState& d) {
    const op::Op& op = n.def();
    std::vector<Node> nodes;
    std::vector<ValueId> ids;
    size_t own = size_t(n.own_outputs());
    std::string where = n.where;
    {
      Recording recording(p_, nodes, Device(device_.index));
      recording.set_where(where);
      std::vector<Tensor> in;
      std::vector<TensorImpl*> impls;
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        ValueId v = n.inputs[i];
        bool number = v != kNone && p_[v].kind == Kind::constant && (op.host_inputs >> std::min<size_t>(i, 63) & 1);
        in.push_back(v == kNone ? Tensor() : number ? p_[v].data : recording.tensor(v));
        impls.push_back(in.back().impl());
      }
      dispatch::Call call{.op = op,
                          .inputs = impls.data(),
                          .n_inputs = int(impls.size()),
                          .attrs = n.attrs.view().v,
                          .n_attrs = n.attrs.view().n};
      call.device = &d;
      for (size_t i = size_t(op.visible_outputs); i < own; ++i) call.with_hidden |= n.outputs[i] != kNone;
      std::vector<Tensor> out;
      OAR_TRY(dispatch::run_decomposition(e, call, out));
      for (size_t i = 0; i < own; ++i)
        ids.push_back(n.outputs[i] == kNone || !out[i].defined() ? kNone : recording.value(out[i]));
    }
    spot_of_.resize(p_.values.size(), -1);
    for (const Node& inner : nodes) OAR_TRY(plan_node(inner, false));
    for (size_t i = 0; i < own; ++i) {
      if (ids[i] == kNone || n.outputs[i] == kNone) continue;
      Result<int> spot = operand(ids[i], p_[n.outputs[i]].host ? host_device() : d);
      if (!spot) return std::move(spot.status());
      spot_of_[size_t(n.outputs[i])] = *spot;
    }
    return {};
  }

  Status hand_out(ValueId v, std::vector<Plan::Given>& to) {
    Result<int> spot = operand(v, p_[v].host ? host_device() : device_);
    if (!spot) return std::move(spot.status());
    to.push_back({v, *spot});
    return {};
  }

  Plan& plan_;
  Program& p_;
  DeviceState& device_;
  Constants& constants_;
  size_t own_values_;
  std::vector<int> spot_of_;
  std::map<std::pair<ValueId, int>, int> constant_spot_;  // plus one
  std::map<std::pair<int, int>, int> moved_;              // a spot on another device; plus one
  std::string where_;
};

Result<std::unique_ptr<Plan>> Plan::make(Program p, Device device, Constants& constants) {
  std::unique_ptr<Plan> plan(new Plan(device_at(device.index())));
  plan->p_ = std::move(p);
  try {
    OAR_TRY(Planner(*plan, constants).make());
  } catch (const Error& e) { return Status(e.code(), e.what()); }
  return plan;
}

}  // namespace oarlock::graph
