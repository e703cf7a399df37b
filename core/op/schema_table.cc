// Plugins' ops in the table: registration, and the rules that stand behind each: shapes asked of the plugin, gradients by
// the gradient op.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "core/device/device.h"
#include "core/dispatch/call.h"
#include "core/dispatch/role.h"
#include "core/op/calls.h"
#include "core/op/schema.h"
#include "core/tensor/impl.h"

namespace oarlock::op {
namespace {

const SchemaOp& schema_of(const OpDef& def) { return static_cast<const SchemaOp&>(def); }

// ---- shapes
void infer(InferCall& c) {
  const SchemaOp& op = schema_of(c.def);
  size_t n = size_t(c.count), m = size_t(c.out_count);
  std::vector<oar_value_t> values(n + m);
  std::vector<const oar_value_t*> pointers(n + m, nullptr);
  for (size_t i = 0; i < n + m; ++i) {
    oar_value_t& v = values[i];
    v.struct_size = sizeof v;
    v.layout = OAR_LAYOUT_ANY;
    v.dtype = uint32_t(i < n ? c.in_type[i] : c.out_type[i - n]);
    if (i < n && !c.in[i]) continue;
    if (i < n) {
      v.n_dims = uint32_t(c.in[i]->rank);
      v.shape = reinterpret_cast<const int64_t*>(c.in[i]->d);
    }
    pointers[i] = &v;
  }
  oar_call_t call{};
  call.struct_size = sizeof call;
  call.op_version = op.version;
  call.op = {op.name, std::strlen(op.name)};
  call.n_inputs = uint32_t(n);
  call.n_outputs = uint32_t(m);
  call.inputs = pointers.data();
  call.outputs = pointers.data() + n;
  call.attrs = c.attrs.v;
  call.n_attrs = c.attrs.n;
  const oar_host_t* host = op.owner->given_host ? op.owner->given_host : &op.owner->host.host;
  for (size_t i = 0; i < m; ++i) {
    int64_t sizes[64] = {};
    uint32_t rank = UINT32_MAX;
    oar_status_t s = op.infer_callback(host, &call, uint32_t(i), &rank, sizes);
    if (s != OAR_OK) {
      c.fail(std::string(plugin_failure(*op.owner, s, "its shape rule").text()));
      return;
    }
    std::string who = "the shape rule of " + op.owner->info.name;
    if (rank > uint32_t(kMaxRank)) {
      c.fail(who + " says rank " + std::to_string(rank) + " of " + op.outputs[int(i)].name + ", at most " +
             std::to_string(kMaxRank) + " is possible");
      return;
    }
    if (!c.bind_output(int(i), sizes, int(rank), who)) return;
  }
}

// ---- gradients
// Can it be summed to the input's shape, as where "..." broadcast?
bool reduces_to(const Shape& gradient, const Shape& shape) {
  int extra = gradient.rank - shape.rank;
  if (extra < 0) return false;
  for (int i = 0; i < shape.rank; ++i)
    if (shape[i].n != gradient[i + extra].n && shape[i].n != 1) return false;
  return true;
}

void gradient(GradientCall& c) {
  const SchemaOp& op = schema_of(*c.op->def);
  const GradientMap& m = op.map;
  const Op& g = m.id == kNoOp ? *c.op : op_at(m.id);
  std::vector<Tensor> held;
  std::vector<TensorImpl*> in;
  for (size_t k = 0; k < m.arguments.size(); ++k) {
    auto [kind, index] = m.arguments[k];
    auto i = size_t(index);
    Tensor t;
    if (kind == GradientMap::input) t = i < c.inputs.size() ? c.inputs[i] : Tensor();
    else if (kind == GradientMap::output) t = i < c.outputs.size() ? c.outputs[i] : Tensor();
    else t = i < c.doutputs.size() ? c.doutputs[i] : Tensor();
    if (!t.defined() && kind == GradientMap::gradient && !(g.def->inputs[int(k)].flags & optional)) {
      const Tensor& like = c.out(index);  // a zero that was never made
      throw_if(role::full(like.shape(), 0, like.dtype(), *like.impl()->device, &t));
    }
    in.push_back(t.impl());
    held.push_back(std::move(t));
  }
  std::vector<oar_attr_t> attrs;
  for (int i : m.attributes) attrs.push_back(i < 0 ? attr_none(0) : c.attrs[i]);
  std::vector<Tensor> out;
  throw_if(dispatch::call_variadic(g.id, in.data(), int(in.size()), attrs.data(), uint32_t(attrs.size()), out));
  for (size_t k = 0; k < m.results.size(); ++k) {
    int i = m.results[k];
    if (i < 0 || !c.wants(i) || k >= out.size() || !out[k].defined()) continue;
    const Tensor& x = c.in(i);
    if (!reduces_to(out[k].shape(), x.shape()))
      throw_if(invalid(m.name + " gave " + op.inputs[i].name + " a gradient of shape " + to_string(out[k].shape()) +
                       ", " + op.inputs[i].name + " is " + to_string(x.shape()) + "."));
    if (out[k].dtype() != x.dtype()) throw_if(role::cast(out[k], x.dtype(), &out[k]));
    c.set(i, std::move(out[k]));
  }
}

// Does the gradient op take what the map gives it? A text if not.
void check_gradient(SchemaOp& op, const OpDef& g) {
  GradientMap& m = op.map;
  auto bad = [&](const std::string& why) { throw std::invalid_argument("gradient: " + m.name + " " + why); };
  if (g.view || g.role == Role::assign || g.role == Role::transfer) bad("is no op with kernels");
  int n = int(m.arguments.size());
  if (n > g.inputs.count) bad("takes " + std::to_string(g.inputs.count) + " inputs, given " + std::to_string(n));
  for (int k = 0; k < g.inputs.count; ++k) {
    int flags = g.inputs[k].flags;
    if (flags & variadic) bad("has a variadic input");
    if (k >= n) {
      if (!(flags & optional)) bad(std::string("needs its input ") + g.inputs[k].name);
      continue;
    }
    if (flags & (host | mutated)) bad(std::string("has the host or mutated input ") + g.inputs[k].name);
    const auto& a = m.arguments[size_t(k)];
    if (a.kind == GradientMap::input && (op.inputs[a.index].flags & optional) && !(flags & optional))
      bad(std::string("requires ") + g.inputs[k].name + ", but " + op.inputs[a.index].name + " is optional");
  }
  int visible = 0;
  for (auto& x : g.outputs) visible += !(x.flags & (hidden | variadic));
  if (int(m.results.size()) > visible)
    bad("gives " + std::to_string(visible) + " outputs, the map has " + std::to_string(m.results.size()));
  for (int k = 0; k < g.attributes.count; ++k) {
    const Attribute& theirs = g.attributes[k];
    int found = -1;
    for (int i = 0; i < op.attributes.count; ++i)
      if (std::string_view(op.attributes[i].name) == theirs.name) found = i;
    if (found >= 0 && op.attributes[found].kind != theirs.kind)
      bad(std::string("has an attribute ") + theirs.name + " of another kind");
    if (theirs.need == Attribute::required && (found < 0 || op.attributes[found].need == Attribute::may_be_none))
      bad(std::string("requires the attribute ") + theirs.name + ", which this op " +
          (found < 0 ? "does not have" : "may leave out"));
    m.attributes.push_back(found);
  }
}

// Why the two are not the same; empty if they are.
std::string difference(const SchemaOp& a, const SchemaOp& b) {
  if (a.version != b.version) return "version " + std::to_string(a.version);
  if (a.signature != b.signature) return a.signature;
  if (a.gradient_text != b.gradient_text)
    return a.gradient_text.empty() ? "no gradient" : "the gradient " + a.gradient_text;
  if (!a.infer_callback != !b.infer_callback) return a.infer_callback ? "a shape rule" : "no shape rule";
  return "";
}

std::mutex& registration() {
  static auto* m = new std::mutex;
  return *m;
}
std::vector<SchemaOp*>& registered() {
  static auto* all = new std::vector<SchemaOp*>;
  return *all;
}

}  // namespace

Result<OpId> register_schema(const Plugin& plugin, const oar_op_schema_t* schema) {
  Result<std::unique_ptr<SchemaOp>> read = read_schema(schema);
  if (!read) return std::move(read.status());
  SchemaOp& op = **read;
  op.owner = &plugin;
  op.registered_by = {&plugin};
  op.plugin = op.texts.emplace_back(plugin.info.name).c_str();
  if (op.infer_callback) op.infer = infer;
  if (!op.map.name.empty()) op.gradient = gradient;

  std::lock_guard hold(registration());
  for (SchemaOp* have : registered()) {
    if (std::string_view(have->name) != op.name) continue;
    std::string theirs = difference(*have, op);
    if (!theirs.empty())
      return invalid(std::string(op.name) + ": " + have->owner->info.name + " registered it already, with " + theirs +
                     ". Two of one name have to be equal.");
    if (!std::count(have->registered_by.begin(), have->registered_by.end(), &plugin))
      have->registered_by.push_back(&plugin);
    return find_op(op.name);
  }
  bool own = op.map.name == op.name;
  if (!op.map.name.empty()) {
    OpId id = own ? kNoOp : find_op(op.map.name);
    if (!own && id == kNoOp)
      return invalid(std::string(op.name) + ": gradient: there is no op " + op.map.name + ". Register it before.");
    try {
      check_gradient(op, own ? op : *op_at(id).def);
    } catch (const std::invalid_argument& e) { return invalid(std::string(op.name) + ": " + e.what() + "."); }
    op.map.id = id;
  }
  Result<OpId> id = register_op(&op);
  if (!id) return id;
  registered().push_back(read->release());
  return id;
}

std::vector<std::string> ops_of(const Plugin& plugin) {
  std::lock_guard hold(registration());
  std::vector<std::string> names;
  for (SchemaOp* op : registered())
    if (std::count(op->registered_by.begin(), op->registered_by.end(), &plugin)) names.emplace_back(op->name);
  return names;
}

}  // namespace oarlock::op
