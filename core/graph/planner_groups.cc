// Parts of a program that a graph plugin runs as one step each. What nobody claims is planned node by node; on a device
// without kernels that is on the host.
#include <algorithm>

#include "core/dispatch/run.h"
#include "core/graph/order_check.h"
#include "core/graph/planner.h"

namespace oarlock::graph {
namespace {

constexpr uint64_t kAlignment = 64;  // of what lies in an arena

}  // namespace

// Compiled, and such that a plan can launch it.
static Result<std::unique_ptr<CompiledGroup>> compiled(const Program& p, const Group& g) {
  for (int i : g.nodes)
    if (p.body.nodes[size_t(i)].def().mutated)
      return Status(Code::refused, std::string(p.body.nodes[size_t(i)].def().def->name) + " writes to its operands");
  Result<std::unique_ptr<CompiledGroup>> made = CompiledGroup::compile(p, p.body, g);
  if (!made) return made;
  uint64_t most = (*made)->workspace_alignment();
  for (auto* list : {&(*made)->inputs(), &(*made)->outputs()})
    for (const GroupOperand& o : *list) most = std::max(most, o.alignment);
  if (most > std::min(kAlignment, g.pack->device->alignment))
    return Status(Code::refused, "it wants an alignment of " + std::to_string(most));
  return made;
}

Status Planner::claim_groups(std::vector<int>& order) {
  const auto& by_op = kernel_index(device_).by_op;
  graphs_only_ = !device_.is_host() && std::all_of(by_op.begin(), by_op.end(), [](auto& k) { return k.empty(); });
  bool asks = std::any_of(device_.packs.begin(), device_.packs.end(), [](Pack* p) { return p->plugin->graph; });
  if (!options_.groups || !asks) return {};
  Claims claims = claim(p_, p_.body, device_);
  for (const Refusal& r : claims.refusals) plan_.info_.refusals.push_back(to_text(p_.body, r));
  OrderCheck check(p_, p_.body);
  std::vector<int> owner(p_.body.nodes.size(), -1);
  for (Group& g : claims.groups) {
    Result<std::unique_ptr<CompiledGroup>> made = compiled(p_, g);
    if (!made) {
      plan_.info_.refusals.push_back(g.pack->plugin->info.name + ": a group of " + std::to_string(g.nodes.size()) +
                                     " nodes is dropped: " + std::string(made.status().text()));
      continue;
    }
    int number = int(claimed_.size());
    check.join(g.nodes, number);
    for (int i : g.nodes) owner[size_t(i)] = number;
    plan_.groups_.push_back(std::move(*made));
    claimed_.push_back(std::move(g));
  }
  if (claimed_.empty()) return {};
  order = check.order(owner);
  return {};
}

// The operand as the group wants it to lie.
Result<int> Planner::arranged(int spot, const GroupOperand& o) {
  const TensorImpl& t = at(spot);
  const Home& home = plan_.homes_[size_t(plan_.spots_[size_t(spot)].home)];
  bool fits =
      o.alignment == 0 || (home.kind == Home::arena && plan_.spots_[size_t(spot)].byte_offset % o.alignment == 0);
  for (int k = 0; k < t.shape.rank; ++k) fits &= t.shape[k] == 1 || t.strides[k] == o.strides[size_t(k)];
  if (fits) return spot;
  int to = fresh(*t.device, o.dtype, o.shape, o.strides.data());
  add_copy(spot, to, "copy");
  return to;
}

Status Planner::plan_group(int number) {
  const Group& g = claimed_[size_t(number)];
  CompiledGroup& c = *plan_.groups_[size_t(number)];
  where_ = p_.body.nodes[size_t(g.nodes[0])].where;
  std::vector<int> in, out;
  for (size_t i = 0; i < g.ends.inputs.size(); ++i) {
    const GroupOperand& o = c.inputs()[i];
    Result<int> spot = operand(g.ends.inputs[i], o.host ? host_device() : device_);
    if (spot) spot = arranged(*spot, o);
    if (!spot) return std::move(spot.status());
    in.push_back(*spot);
  }
  for (size_t i = 0; i < g.ends.outputs.size(); ++i) {
    const GroupOperand& o = c.outputs()[i];
    out.push_back(fresh(o.host ? host_device() : device_, o.dtype, o.shape, o.strides.data()));
    spot_of_[size_t(g.ends.outputs[i])] = out.back();
  }
  std::string names;
  for (int i : g.nodes) names += (names.empty() ? "" : "+") + std::string(p_.body.nodes[size_t(i)].def().def->name);
  Step& s = add_step(names, "group", std::move(in), std::move(out));
  StepInfo& info = plan_.info_.steps.back();
  info.plugin = g.pack->plugin->info.name;
  info.workspace_bytes = c.workspace_bytes();
  s.go = c.function();
  s.state = c.state();
  s.pack = g.pack;
  for (int i : s.in) s.inputs.push_back(&at(i).view);
  for (int o : s.out) s.outputs.push_back(&at(o).view);
  s.frame.struct_size = sizeof s.frame;
  s.frame.n_inputs = uint32_t(s.in.size());
  s.frame.n_outputs = uint32_t(s.out.size());
  if (c.workspace_bytes()) s.workspace = new_home(device_, c.workspace_bytes(), Home::arena);
  return {};
}

Result<bool> Planner::leaves_device(const Node& n) const {
  const op::Op& op = n.def();
  auto is_on_host = [&](ValueId v) {
    if (v == kNone) return false;
    if (spot_of_[size_t(v)] >= 0) return at(spot_of_[size_t(v)]).device->is_host();
    return p_[v].data.defined() && p_[v].data.impl()->device->is_host();
  };
  if (op.def->role == op::Role::transfer) return false;
  if (op.def->view) return is_on_host(n.inputs[0]);
  if (op.mutated) {
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if ((op.mutated >> std::min<size_t>(i, 63) & 1) && !is_on_host(n.inputs[i])) return false;
    return true;
  }
  dispatch::Entry e;
  e.op = &op;
  e.device = &device_;
  dispatch::Call call{.op = op, .inputs = nullptr, .n_inputs = 0, .attrs = nullptr, .n_attrs = 0};
  OAR_TRY(dispatch::allow_fallback(e, call));
  return true;
}

}  // namespace oarlock::graph
