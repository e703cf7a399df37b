#include "core/graph/abi_graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "core/dispatch/recorder.h"
#include "core/dispatch/role.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

std::string_view text(oar_str_t s) { return s.data ? std::string_view(s.data, s.size) : std::string_view(); }

const oar_op_range_t* range_of(const oar_graph_table_t& table, std::string_view op) {
  if (!OAR_HAS(&table, ops) || !table.ops) return nullptr;
  for (uint32_t i = 0; i < table.n_ops; ++i)
    if (table.ops[i] && OAR_HAS(table.ops[i], dtypes) && text(table.ops[i]->op) == op) return table.ops[i];
  return nullptr;
}

// The first attribute that is newer than this version of the op and not at its default.
const op::Attribute* newer_attribute(const op::OpDef& def, op::Attrs attrs, int version) {
  for (int i = 0; i < def.attributes.count; ++i) {
    const op::Attribute& a = def.attributes[i];
    if (a.since <= version) continue;
    bool list = a.kind == op::AttrKind::integers || a.kind == op::AttrKind::dims || a.kind == op::AttrKind::axes;
    bool plain = a.kind == op::AttrKind::real ? attrs.real(i) == a.f
                 : a.kind == op::AttrKind::text
                     ? attrs.text(i) == std::string_view(a.s).substr(0, std::string_view(a.s).find('|'))
                 : a.need == op::Attribute::may_be_none ? attrs.none(i)
                 : list                                 ? attrs.integers(i).empty()
                                                        : attrs.integer(i) == a.i;
    if (!plain) return &a;
  }
  return nullptr;
}

bool known(const Shape& s) {
  return std::all_of(s.begin(), s.end(), [](Dim d) { return d.known(); });
}

}  // namespace

Ends ends_of(const Program& p, const Body& body, std::span<const int> nodes) {
  Ends e;
  std::unordered_set<ValueId> made, seen, outside;
  auto named = [&](ValueId v) {
    if (v != kNone) outside.insert(v);
  };
  size_t next = 0;
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    bool inside = next < nodes.size() && size_t(nodes[next]) == i;
    next += inside;
    for (ValueId v : reads(body.nodes[i])) {
      if (!inside) named(v);
      else if (!made.contains(v) && seen.insert(v).second)
        (p[v].kind == Kind::constant ? e.constants : e.inputs).push_back(v);
    }
    if (inside)
      for (ValueId v : body.nodes[i].outputs) made.insert(v);
  }
  for (ValueId v : body.results) named(v);
  for (auto* list : {&p.updates, &p.gradients})
    for (const Program::Update& u : *list) named(u.value);
  for (int i : nodes)
    for (ValueId v : body.nodes[size_t(i)].outputs)
      if (v != kNone && outside.contains(v)) e.outputs.push_back(v);
  return e;
}

Bar bar_of(const Program& p, const Node& n, const oar_graph_table_t& table) {
  const op::OpDef& def = *n.def().def;
  if (!n.bodies.empty()) return {OAR_REASON_OP, "it has bodies, which are not shown to plugins", false};
  for (auto* list : {&n.inputs, &n.outputs})
    for (ValueId v : *list)
      if (v != kNone && !known(p[v].shape))
        return {OAR_REASON_SHAPE, "the size of " + p.name_of(v) + " is known only while it runs", false};
  const oar_op_range_t* range = range_of(table, def.name);
  if (!range) return {OAR_REASON_OP, "its graph table does not have this op"};
  if (n.version < int(range->op_min))
    return {OAR_REASON_VERSION, "its graph table has versions " + std::to_string(range->op_min) +
                                    " and up of this op, not " + std::to_string(n.version)};
  if (n.version > int(range->op_max))
    if (const op::Attribute* a = newer_attribute(def, n.attrs.view(), int(range->op_max)))
      return {OAR_REASON_VERSION, "its graph table knows this op up to version " + std::to_string(range->op_max) +
                                      ", which has no " + a->name};
  for (auto* list : {&n.inputs, &n.outputs})
    for (ValueId v : *list)
      if (v != kNone && !(range->dtypes & set_of(p[v].dtype)))
        return {OAR_REASON_DTYPE,
                "its graph table does not take " + std::string(to_string(p[v].dtype)) + " in this op"};
  return {};
}

AbiGraph::AbiGraph(const Program& p, const Body& body, std::span<const int> nodes, const oar_graph_table_t& table,
                   const DeviceState& device)
    : p_(p), device_(device), ends_(ends_of(p, body, nodes)), place_(p.values.size(), -1) {
  for (ValueId v : ends_.inputs) inputs_.push_back(value(v, OAR_LAYOUT_STRIDED));
  for (ValueId v : ends_.constants) value(v, OAR_LAYOUT_STRIDED);
  for (int i : nodes) add_node(body.nodes[size_t(i)], table);
  for (ValueId v : ends_.outputs) {
    outputs_.push_back(value(v, OAR_LAYOUT_DENSE));
    values_[size_t(place_[size_t(v)])].layout = OAR_LAYOUT_DENSE;
  }
  for (const oar_value_t& v : values_) value_list_.push_back(&v);
  for (Call& c : calls_) call_list_.push_back(&c.call);
  graph_.struct_size = sizeof graph_;
  graph_.n_values = uint32_t(value_list_.size());
  graph_.n_nodes = uint32_t(call_list_.size());
  graph_.n_inputs = uint32_t(inputs_.size());
  graph_.n_outputs = uint32_t(outputs_.size());
  graph_.values = value_list_.data();
  graph_.nodes = call_list_.data();
  graph_.inputs = inputs_.data();
  graph_.outputs = outputs_.data();
}

const oar_value_t* AbiGraph::value(ValueId v, oar_layout_t layout) {
  if (v == kNone) return nullptr;
  int& at = place_[size_t(v)];
  if (at >= 0) return &values_[size_t(at)];
  at = int(values_.size());
  const Value& from = p_[v];
  ids_.push_back(v);
  strides_.emplace_back(size_t(from.shape.rank));
  row_major_strides(from.shape, strides_.back().data());
  oar_value_t& to = values_.emplace_back();
  to.struct_size = sizeof to;
  to.id = uint32_t(at);
  to.dtype = uint32_t(from.dtype);
  to.n_dims = uint32_t(from.shape.rank);
  to.shape = reinterpret_cast<const int64_t*>(from.shape.d);
  to.strides = strides_.back().data();
  to.alignment = from.host ? 64 : device_.alignment;
  to.name = {from.name.data(), from.name.size()};
  if (from.host) to.flags |= OAR_VALUE_HOST;
  if (from.kind == Kind::constant) {
    to.flags |= OAR_VALUE_CONSTANT;
    if (from.data.defined() && from.data.impl()->device->is_host() && from.data.impl()->contiguous)
      to.constant = &from.data.impl()->view;
  }
  to.layout = layout;
  return &to;
}

void AbiGraph::add_node(const Node& n, const oar_graph_table_t& table) {
  const op::Op& op = n.def();
  Call& c = calls_.emplace_back();
  for (ValueId v : n.inputs) c.inputs.push_back(value(v, OAR_LAYOUT_ANY));
  for (ValueId v : n.outputs) c.outputs.push_back(value(v, OAR_LAYOUT_ANY));
  for (size_t i = 0; i < n.inputs.size(); ++i)
    if (n.inputs[i] != kNone && (op.mutated >> std::min<size_t>(i, 63) & 1))
      values_[size_t(place_[size_t(n.inputs[i])])].flags |= OAR_VALUE_MUTATED;
  op::Attrs attrs = n.attrs.view();
  const oar_op_range_t* range = range_of(table, op.def->name);
  uint32_t version = uint32_t(n.version), n_attrs = attrs.n;
  if (range && version > range->op_max) {  // as it was when the plugin was written
    version = range->op_max;
    n_attrs = 0;
    for (int i = 0; i < op.def->attributes.count; ++i) n_attrs += op.def->attributes[i].since <= int(version);
    n_attrs = std::min(n_attrs, attrs.n);
  }
  c.call.struct_size = sizeof c.call;
  c.call.op_version = version;
  c.call.op = {op.def->name, std::strlen(op.def->name)};
  c.call.n_inputs = uint32_t(c.inputs.size());
  c.call.n_outputs = uint32_t(c.outputs.size());
  c.call.n_attrs = n_attrs;
  c.call.inputs = c.inputs.data();
  c.call.outputs = c.outputs.data();
  c.call.attrs = attrs.v;
}

Status AbiGraph::read_constants() {
  dispatch::RecorderPause pause;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& from = p_[ids_[i]];
    if (from.kind != Kind::constant || values_[i].constant) continue;
    if (!from.data.defined())
      return invalid(p_.name + ": constant " + p_.name_of(ids_[i]) + " has no elements. Load the weights first.");
    Tensor& t = held_.emplace_back(from.data.detach());
    if (!t.impl()->device->is_host()) OAR_TRY(role::transfer(t, host_device(), &t));
    if (!t.is_contiguous()) OAR_TRY(role::copy(t, &t));
    values_[i].constant = &t.impl()->view;
  }
  return {};
}

}  // namespace oarlock::graph
