#include "core/graph/planner.h"

#include <algorithm>

#include "core/dispatch/run.h"
#include "core/graph/memory_plan.h"
#include "core/graph/recording.h"
#include "core/op/calls.h"

namespace oarlock::graph {

Planner::List::List(const std::vector<Node>& nodes, std::span<const int> order, std::span<const ValueId> wanted) {
  for (const Node& n : nodes) units.push_back({&n, -1, false});
  if (!order.empty()) {
    std::vector<Unit> in_order;
    for (int i : order) in_order.push_back(i < 0 ? Unit{nullptr, -1 - i, false} : units[size_t(i)]);
    units = std::move(in_order);
  }
  std::unordered_map<const Node*, int> place;
  for (size_t i = 0; i < units.size(); ++i)
    if (units[i].node) place[units[i].node] = int(i);
  for (const Node& n : nodes)
    for (ValueId v : reads(n)) {
      Use& use = uses[v];
      ++use.n;
      auto it = place.find(&n);
      if (it != place.end()) use.reader = it->second;
    }
  for (ValueId v : wanted)
    if (v != kNone) ++uses[v].n;
  for (const Unit& u : units)
    writes.push_back((writes.empty() ? 0 : writes.back()) + (u.node && u.node->def().mutated != 0));
}

Planner::Planner(Plan& plan, Constants& constants, PlanOptions options)
    : plan_(plan),
      p_(plan.p_),
      device_(plan.device_),
      constants_(constants),
      options_(options),
      own_values_(p_.values.size()),
      spot_of_(p_.values.size(), -1) {}

Status Planner::make() {
  for (size_t i = 0; i < p_.body.parameters.size(); ++i) {
    ValueId v = p_.body.parameters[i];
    DeviceState& d = p_[v].host ? host_device() : device_;
    spot_of_[size_t(v)] = bound(p_[v].dtype, p_[v].shape, nullptr, d, Plan::Bound::input, int(i));
  }
  for (ValueId v : p_.feeds) {
    if (!p_[v].feed.next) return invalid(p_.name + ": nobody feeds " + p_.name_of(v) + ".");
    spot_of_[size_t(v)] = bound(p_[v].dtype, p_[v].shape, nullptr, host_device(), Plan::Bound::feed, v);
  }
  std::vector<int> order;
  OAR_TRY(claim_groups(order));
  std::vector<Node> nodes = p_.body.nodes;
  std::vector<ValueId> wanted = p_.body.results;
  for (auto* list : {&p_.updates, &p_.gradients})
    for (const Program::Update& u : *list) wanted.push_back(u.value);
  List list(nodes, order, wanted);
  OAR_TRY(plan_list(list));
  for (ValueId v : p_.body.results) OAR_TRY(hand_out(v, plan_.results_));
  for (const Program::Update& g : p_.gradients) OAR_TRY(hand_out(g.value, plan_.gradients_));
  return MemoryPlan(plan_).make();
}

Status Planner::plan_list(List& list) {
  for (list.at = 0; list.at < list.units.size(); ++list.at) {
    Unit& u = list.units[list.at];
    if (u.done) continue;
    u.done = true;
    OAR_TRY(u.node ? plan_node(*u.node, false, &list) : plan_group(u.group));
  }
  return {};
}

Status Planner::plan_node(const Node& n, bool on_host, List* list) {
  const op::Op& op = n.def();
  const op::OpDef& def = *op.def;
  if (!n.bodies.empty()) return {Code::unsupported, std::string(def.name) + ": it has bodies."};
  where_ = n.where;
  for (ValueId v : n.outputs)
    if (v != kNone) on_host |= p_[v].host;
  if (graphs_only_ && !on_host) {
    Result<bool> leaves = leaves_device(n);
    if (!leaves) return std::move(leaves.status());
    on_host = *leaves;
  }
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
      return invalid(std::string(def.name) + ": writes to " + p_.name_of(n.inputs[i]) + ", which is not on " + d.name +
                     ". Move it there first.");
    in.push_back(*spot);
    impls.push_back(&at(*spot));
  }
  OAR_TRY(plan_call(n, d, in, impls, list));
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

Status Planner::plan_call(const Node& n, DeviceState& d, std::vector<int>& in, std::vector<TensorImpl*>& impls,
                          List* list) {
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
  dispatch::Outlook outlook;
  for (size_t i = 0; i < std::min<size_t>(in.size(), 64); ++i) outlook.constants |= uint64_t(is_constant(in[i])) << i;
  call.outlook = &outlook;
  std::string unfused;
  if (list) {
    Result<bool> fused = fuse(n, call, in, *list, unfused);
    if (!fused) return std::move(fused.status());
    if (*fused) return {};
  }
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
    return plan_node(n, true, list);
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
  if (e->kind == dispatch::Kind::kernel) OAR_TRY(add_kernel(std::move(e), std::move(in), std::move(out)));
  else if (e->kind == dispatch::Kind::memory) add_copy(in[0], out[0], def.name);
  else add_reference(std::move(e), std::move(in), std::move(out));
  plan_.info_.steps.back().unfused = std::move(unfused);
  return {};
}

Result<int> Planner::plan_view(const op::Op& op, op::Attrs attrs, int spot) {
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

Status Planner::arrange_inputs(const dispatch::Entry& e, const op::Op& op, std::vector<int>& in) {
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

Status Planner::decompose(const Node& n, dispatch::Entry& e, DeviceState& d) {
  const op::Op& op = n.def();
  std::vector<Node> nodes;
  std::vector<ValueId> ids;
  size_t own = size_t(n.own_outputs());
  std::string where = n.where;
  // Recorded where the program's values are, whoever runs the pieces.
  bool host = std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return v != kNone && p_[v].host; });
  e.device = host ? &d : &device_;
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
    call.device = e.device;
    for (size_t i = size_t(op.visible_outputs); i < own; ++i) call.with_hidden |= n.outputs[i] != kNone;
    std::vector<Tensor> out;
    OAR_TRY(dispatch::run_decomposition(e, call, out));
    for (size_t i = 0; i < own; ++i)
      ids.push_back(n.outputs[i] == kNone || !out[i].defined() ? kNone : recording.value(out[i]));
  }
  spot_of_.resize(p_.values.size(), -1);
  List list(nodes, {}, ids);
  OAR_TRY(plan_list(list));
  for (size_t i = 0; i < own; ++i) {
    if (ids[i] == kNone || n.outputs[i] == kNone) continue;
    Result<int> spot = operand(ids[i], p_[n.outputs[i]].host ? host_device() : d);
    if (!spot) return std::move(spot.status());
    spot_of_[size_t(n.outputs[i])] = *spot;
  }
  return {};
}

Status Planner::hand_out(ValueId v, std::vector<Plan::Given>& to) {
  Result<int> spot = operand(v, p_[v].host ? host_device() : device_);
  if (!spot) return std::move(spot.status());
  to.push_back({v, *spot});
  return {};
}

Result<std::unique_ptr<Plan>> Plan::make(Program p, Device device, Constants& constants, PlanOptions options) {
  std::unique_ptr<Plan> plan(new Plan(device_at(device.index())));
  plan->p_ = std::move(p);
  try {
    OAR_TRY(Planner(*plan, constants, options).make());
  } catch (const Error& e) { return Status(e.code(), e.what()); }
  return plan;
}

}  // namespace oarlock::graph
