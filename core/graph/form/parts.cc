#include "core/graph/form/parts.h"

#include <algorithm>
#include <unordered_set>

#include "core/dispatch/role.h"
#include "core/graph/recording.h"
#include "core/op/calls.h"
#include "core/op/words.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {

std::vector<Dim> sizes_of(const Program& p) {
  std::vector<Dim> out;
  std::unordered_set<int64_t> seen;
  auto see = [&](Dim d) {
    if (!d.known() && p.symbols.has(d) && seen.insert(d.n).second) out.push_back(d);
  };
  for (const Value& v : p.values) std::for_each(v.shape.begin(), v.shape.end(), see);
  each_node(p.body, [&](const Node& n) {
    const op::OpDef& def = *n.def().def;
    op::Attrs a = n.attrs.view();
    for (int i = 0; i < int(a.n) && i < def.attributes.count; ++i) {
      if (a.none(i)) continue;
      if (def.attributes[i].kind == op::AttrKind::dim) see(a.dim(i));
      if (def.attributes[i].kind == op::AttrKind::dims) std::ranges::for_each(a.dims(i), see);
    }
  });
  for (const op::Guard& g : p.guards) see(g.a), see(g.b);
  return out;
}

namespace {

// The outputs that the node declares become those of the nodes that do its work today.
Status upgrade(Program& p, std::vector<Node>& nodes, const Node& node, op::Attrs attrs) {
  std::vector<Node> made;
  const ValueId first = ValueId(p.values.size());
  std::vector<ValueId> now;
  {
    Recording recording(p, made, Device());
    recording.set_where(node.where);
    std::vector<Tensor> in, out;
    for (ValueId v : node.inputs) in.push_back(v == kNone ? Tensor() : recording.tensor(v));
    op::UpgradeCall call{node.version, in, attrs, out};
    try {
      node.def().def->upgrade(call);
      for (Tensor& t : out)
        if (t.defined() && recording.value(t) < first) OAR_TRY(role::copy(t, &t));  // an operand, handed through
    } catch (const Error& e) { return {e.code(), e.what()}; }
    for (const Tensor& t : out) now.push_back(recording.value(t));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    ValueId declared = node.outputs[i];
    if (declared == kNone) continue;
    if (i >= now.size() || now[i] == kNone)
      return invalid(std::string(node.def().def->name) + ": brought up to date from version " +
                     std::to_string(node.version) + " it has no output " + std::to_string(i) + ".");
    for (Node& n : made) {
      std::ranges::replace(n.inputs, now[i], declared);
      std::ranges::replace(n.outputs, now[i], declared);
    }
  }
  std::ranges::move(made, std::back_inserter(nodes));
  return {};
}

}  // namespace

Status finish_node(Program& p, std::vector<Node>& nodes, Node node, std::vector<WrittenAttr>& attrs) {
  const op::OpDef& def = *node.def().def;
  auto bad = [&](const std::string& what) {
    return invalid(std::string(def.name) + (node.where.empty() ? "" : " (" + node.where + ")") + ": " + what + ".");
  };
  if (node.version < 1 || node.version > int(def.version))
    return bad("version " + std::to_string(node.version) + ", this build has " + std::to_string(def.version) +
               ". Use a build that knows it, or save the program again");
  for (ValueId v : node.inputs)
    if (v != kNone && (v < 0 || size_t(v) >= p.values.size()))
      return bad("reads value " + std::to_string(v) + ", which does not exist");
  for (WrittenAttr& a : attrs) {
    if (a.value.type == OAR_ATTR_STRING) a.value.count = a.text.size(), a.value.value.str = a.text.data();
    if (a.value.type == OAR_ATTR_INTS) a.value.count = a.integers.size(), a.value.value.ints = a.integers.data();
    if (a.value.type == OAR_ATTR_FLOATS) a.value.count = a.reals.size(), a.value.value.floats = a.reals.data();
  }
  op::SymbolScope scope(p.symbols);
  if (node.version < int(def.version) && def.upgrade) {
    std::vector<oar_attr_t> as_written;
    for (const WrittenAttr& a : attrs) as_written.push_back(a.value);
    return upgrade(p, nodes, node, {as_written.data(), uint32_t(as_written.size())});
  }
  std::vector<oar_attr_t> given;
  for (const op::Attribute& want : def.attributes) {
    auto it = std::ranges::find(attrs, std::string_view(want.name), &WrittenAttr::name);
    given.push_back(it == attrs.end() ? op::attr_none(op::wire_type(want.kind)) : it->value);
    if (it != attrs.end()) it->name.clear();  // taken
  }
  for (const WrittenAttr& a : attrs)
    if (!a.name.empty()) return bad("it has no attribute " + a.name + ", or it is there twice");
  node.version = def.version;
  op::AttrScratch scratch;
  const Shape* first = node.inputs.empty() || node.inputs[0] == kNone ? nullptr : &p[node.inputs[0]].shape;
  OAR_TRY(op::normalise(def, first, given.data(), uint32_t(given.size()), scratch));
  node.attrs = op::OwnedAttrs({scratch.values, uint32_t(given.size())});
  nodes.push_back(std::move(node));
  return {};
}

}  // namespace oarlock::graph
