// Elementwise calls that go to the kernel before them: which ones may, and how many of them a kernel takes.
#include <algorithm>

#include "core/dispatch/order.h"
#include "core/graph/planner.h"

namespace oarlock::graph {
namespace {

constexpr size_t kMostFollowing = 6;  // each length that is refused has cost a question

}  // namespace

bool Planner::follows(const Node& n, ValueId running, DeviceState& d) const {
  if (!dispatch::elementwise(n.def()) || !n.bodies.empty() || n.outputs.size() != 1 || n.outputs[0] == kNone)
    return false;
  const Value& out = p_[n.outputs[0]];
  if (out.host || !(out.shape == p_[running].shape)) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
    if (v == running) return true;
    if (v == kNone) return false;
    if (p_[v].kind == Kind::constant) return true;
    int spot = spot_of_[size_t(v)];
    if (spot >= 0) return at(spot).device == &d;
    return p_[v].kind == Kind::state && p_[v].data.defined() && p_[v].data.impl()->device == &d;
  });
}

std::vector<Planner::Unit*> Planner::chain_behind(const Node& n, DeviceState& d, List& list) const {
  std::vector<Unit*> chain;
  ValueId running = n.outputs[0];
  while (chain.size() < kMostFollowing) {
    auto use = list.uses.find(running);
    if (use == list.uses.end() || use->second.n != 1 || use->second.reader < 0) break;
    size_t reader = size_t(use->second.reader);
    Unit& u = list.units[reader];
    // What is written in between might lie where its operands do.
    if (u.done || !u.node || list.writes[reader] != list.writes[list.at]) break;
    if (!follows(*u.node, running, d)) break;
    chain.push_back(&u);
    running = u.node->outputs[0];
  }
  return chain;
}

Result<bool> Planner::fuse(const Node& n, dispatch::Call call, const std::vector<int>& in, List& list,
                           std::string& why) {
  const op::Op& op = n.def();
  DeviceState& d = *call.device;
  if (!options_.epilogues || op.mutated || op.visible_outputs != 1 || call.with_hidden || n.outputs[0] == kNone ||
      (op.def->outputs[0].flags & op::variadic))
    return false;
  const std::vector<Kernel>& kernels = kernel_index(d).by_op[op.id];
  if (std::none_of(kernels.begin(), kernels.end(), [](const Kernel& k) { return k.decl->prepare != nullptr; }))
    return false;
  std::vector<Unit*> chain = chain_behind(n, d, list);
  std::vector<dispatch::Following> following;
  std::vector<size_t> n_extra;
  // Optional operands that are absent keep their places before what follows has its own.
  std::vector<int> inputs = in;
  const op::OpDef& def = *op.def;
  bool variadic = def.inputs.count > 0 && (def.inputs[def.inputs.count - 1].flags & op::variadic);
  if (!variadic) inputs.resize(std::max(in.size(), size_t(def.inputs.count)), -1);
  const size_t own = inputs.size();
  std::vector<TensorImpl*> impls, extra;
  for (int spot : inputs) impls.push_back(spot < 0 ? nullptr : &at(spot));
  call.inputs = impls.data();
  call.n_inputs = int(own);
  ValueId running = n.outputs[0];
  dispatch::Outlook outlook = *call.outlook;
  for (Unit* u : chain) {
    const Node& next = *u->node;
    dispatch::Following& f =
        following.emplace_back(dispatch::Following{&next.def(), next.attrs.view(), {}, p_[next.outputs[0]].dtype});
    for (ValueId v : next.inputs) {
      if (v == running) {
        f.inputs.push_back(-1);
        continue;
      }
      Result<int> spot = operand(v, d);
      if (!spot) return std::move(spot.status());
      f.inputs.push_back(int(extra.size()));
      if (inputs.size() < 64) outlook.constants |= uint64_t(is_constant(*spot)) << inputs.size();
      inputs.push_back(*spot);
      extra.push_back(&at(*spot));
    }
    n_extra.push_back(extra.size());
    running = next.outputs[0];
  }
  call.outlook = &outlook;
  for (size_t length = chain.size(); length > 0; --length) {
    outlook.following = {following.data(), length};
    outlook.extra = {extra.data(), n_extra[length - 1]};
    std::string names, refusal;
    for (size_t k = 0; k < length; ++k) names += "+" + std::string(following[k].op->def->name);
    Result<std::shared_ptr<dispatch::Entry>> made = dispatch::make_fused_entry(call, refusal);
    if (!made) return std::move(made.status());
    if (!*made) {
      if (why.empty()) why = names.substr(1) + ": " + refusal;
      continue;
    }
    std::shared_ptr<dispatch::Entry> e = std::move(*made);
    inputs.resize(own + n_extra[length - 1]);
    std::vector<int> out(size_t(e->n_outputs), -1);
    const auto& strides = e->strides;
    out[0] = fresh(d, e->dtypes[0], e->shapes[0], strides.empty() || strides[0].empty() ? nullptr : strides[0].data());
    spot_of_[size_t(chain[length - 1]->node->outputs[0])] = out[0];
    OAR_TRY(add_kernel(std::move(e), std::move(inputs), std::move(out)));
    Step& s = plan_.steps_.back();
    s.n_extra = n_extra[length - 1];
    for (size_t k = 0; k < length; ++k) {
      s.tail.push_back({following[k].op, op::OwnedAttrs(following[k].attrs), following[k].inputs});
      chain[k]->done = true;
    }
    StepInfo& info = plan_.info_.steps.back();
    info.op += names;
    info.unfused = why;
    plan_.info_.fused += int(length);
    return true;
  }
  return false;
}

}  // namespace oarlock::graph
