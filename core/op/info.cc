// The op table in words that outlive it: op_names and op_info.
#include <cmath>
#include <map>
#include <mutex>

#include <oarlock/base/op.h>

#include "core/device/device.h"
#include "core/op/schema.h"
#include "core/op/table.h"
#include "core/op/words.h"

namespace oarlock {
namespace {

std::vector<OpOperand> operands(const auto& list) {
  std::vector<OpOperand> out;
  for (auto& x : list)
    out.push_back({x.name, x.spec, x.range ? x.range : "", (x.flags & op::optional) != 0, (x.flags & op::variadic) != 0,
                   (x.flags & op::host) != 0, (x.flags & op::mutated) != 0, (x.flags & op::constant) != 0,
                   (x.flags & op::hidden) != 0});
  return out;
}

OpAttribute attribute(const op::Attribute& a) {
  static const char* const kKinds[] = {"flag", "integer", "real", "text", "integers", "reals",
                                       "dim",  "dims",    "axis", "axes", "dtype"};
  OpAttribute out;
  out.name = a.name;
  out.kind = a.kind == op::AttrKind::text && a.s ? "choice" : kKinds[int(a.kind)];
  out.required = a.need == op::Attribute::required;
  out.may_be_none = a.need == op::Attribute::may_be_none;
  out.since = a.since;
  out.low = a.low;
  out.high = a.high;
  for (std::string_view left = a.s ? a.s : ""; !left.empty();) {
    size_t bar = left.find('|');
    out.choices.emplace_back(left.substr(0, bar));
    left.remove_prefix(bar == left.npos ? left.size() : bar + 1);
  }
  out.default_value = op::default_of(a);
  if (out.default_value.is_set) {
    if (a.kind == op::AttrKind::text)
      out.default_text = std::string(out.default_value.value.str, size_t(out.default_value.count));
    else if (a.kind == op::AttrKind::integers) out.default_text = std::to_string(a.i);
    else out.default_text = op::attribute_text(a.kind, out.default_value);
  }
  return out;
}

OpInfo describe(const op::OpDef& d) {
  static const char* const kMixing[] = {"same", "promotes", "promotes_to_float"};
  OpInfo out;
  out.name = d.name;
  out.summary = d.summary;
  out.source = d.source;
  out.no_gradient = d.no_gradient ? d.no_gradient : "";
  out.version = d.version;
  out.primitive = !d.decompose || d.view;
  out.has_reference = bool(d.reference);
  out.has_decomposition = bool(d.decompose);
  out.has_gradient = bool(d.gradient);
  out.is_view = bool(d.view);
  out.has_infer = bool(d.infer);
  out.inputs = operands(d.inputs);
  out.outputs = operands(d.outputs);
  for (auto& t : d.types) out.types.push_back({t.name, t.set, kMixing[t.mixing]});
  for (auto& a : d.attributes) out.attributes.push_back(attribute(a));
  for (auto& c : d.cases) out.cases.push_back({c.name, c.dims, c.attributes, c.values});
  for (auto& s : d.saves) out.saves.emplace_back(s.name, s.wanted_by ? s.wanted_by : "");
  if (d.plugin) {
    const auto& schema = static_cast<const op::SchemaOp&>(d);
    out.plugin = d.plugin;
    out.signature = schema.signature;
    out.gradient = schema.gradient_text;
  }
  out.tolerance_ulps = d.tolerance.ulps;
  out.tolerance_of_absolutes = d.tolerance.of_absolutes;
  return out;
}

}  // namespace

std::vector<std::string> op_names() {
  std::vector<std::string> out;
  for (int i = 0; i < op::op_count(); ++i)
    if (const op::OpDef& def = *op::op_at(op::OpId(i)).def; !def.regions.count) out.push_back(def.name);
  return out;
}

const OpInfo& op_info(std::string_view name) {
  op::OpId id = op::find_op(name);
  if (id == op::kNoOp && name.find('.') != name.npos) {  // a plugin's, and none is loaded yet
    ensure_plugins_loaded();
    id = op::find_op(name);
  }
  if (id == op::kNoOp)
    throw Error(Code::invalid_argument,
                "There is no op called \"" + std::string(name) + "\". op_names() lists those that exist.");
  static std::mutex mutex;
  static auto* made = new std::map<op::OpId, OpInfo>;
  std::lock_guard lock(mutex);
  auto it = made->find(id);
  if (it == made->end()) it = made->emplace(id, describe(*op::op_at(id).def)).first;
  return it->second;
}

}  // namespace oarlock
