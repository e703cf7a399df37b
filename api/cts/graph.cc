// Graphs of level 3: made of drawn calls, computed on the host as they are made, and shown to plugins.
#include <string.h>

#include <algorithm>

#include "api/cts/level3.h"

namespace oarlock::cts {

namespace {

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = int64_t(uint64_t(step) * uint64_t(std::max<int64_t>(shape[i], 1)));  // odd graphs show sizes past 2^63
  }
  return strides;
}

// As attributes stand in programs: nothing left out, axes counted from the front.
AttrValue settled(const OpAttribute& a, AttrValue v, int64_t rank, bool has_input) {
  const oar_attr_t& d = a.default_value;
  bool use_default = (!v.is_set && !a.may_be_none) || (a.kind == "integers" && v.ints.empty() && !a.required);
  if (use_default && d.is_set && d.type != OAR_ATTR_TENSOR) {
    v.is_set = true;
    v.type = d.type;
    if (d.type == OAR_ATTR_FLOAT) v.f = d.value.f;
    else if (d.type == OAR_ATTR_STRING) v.text.assign(d.value.str, d.count);
    else if (d.type == OAR_ATTR_INTS) v.ints.assign(d.value.ints, d.value.ints + d.count);
    else if (d.type == OAR_ATTR_FLOATS) v.floats.assign(d.value.floats, d.value.floats + d.count);
    else v.i = d.value.i;
  }
  if (a.kind == "axes" && !v.is_set && has_input) {
    v.is_set = true;
    for (int64_t i = 0; i < rank; ++i) v.ints.push_back(i);
  }
  if (a.kind == "axis" && v.is_set && v.i < 0) v.i += rank;
  if (a.kind == "axes")
    for (int64_t& i : v.ints) i += i < 0 ? rank : 0;
  return v;
}

Tensor tensor_of(const Graph::Value& v) { return Tensor::from_host(v.bytes.data(), Shape(v.shape), v.dtype); }

}  // namespace

const Graph::Call& Graph::add(const std::string& op, std::vector<int> in, std::vector<AttrValue> attrs) {
  const OpInfo& info = op_info(op);
  std::vector<Tensor> tensors;
  for (int v : in) tensors.push_back(v < 0 ? Tensor() : tensor_of(values[size_t(v)]));
  std::vector<oar_attr_t> wire;
  for (const AttrValue& a : attrs) wire.push_back(a.wire());
  Call call{op, std::move(in), {}, {}};
  bool has_input = !call.inputs.empty() && call.inputs[0] >= 0;
  int64_t rank = has_input ? int64_t(values[size_t(call.inputs[0])].shape.size()) : 0;
  for (size_t i = 0; i < attrs.size(); ++i)
    call.attrs.push_back(settled(info.attributes[i], attrs[i], rank, has_input));
  for (const Tensor& t : call_op(op, tensors, wire)) {
    Value& v = values.emplace_back();
    v.dtype = t.dtype();
    for (Dim d : t.shape()) v.shape.push_back(d.n);
    v.bytes.resize(size_bytes(v.dtype, uint64_t(t.element_count())));
    t.copy_to_host(v.bytes.data());
    call.outputs.push_back(int(values.size()) - 1);
  }
  // Hidden outputs are made for gradients alone: nobody wants them here.
  bool variadic = !info.outputs.empty() && info.outputs.back().variadic;
  while (!variadic && call.outputs.size() < info.outputs.size()) call.outputs.push_back(-1);
  return calls.emplace_back(std::move(call));
}

Graph Graph::part(const std::vector<uint32_t>& nodes) const {
  Graph g;
  std::vector<int> to(values.size(), -1);
  std::vector<char> made(values.size(), 0), outside(values.size(), 0), inside(calls.size(), 0);
  for (uint32_t n : nodes) inside[n] = 1;
  for (size_t i = 0; i < calls.size(); ++i) {
    for (int v : calls[i].inputs)
      if (v >= 0 && !inside[i]) outside[size_t(v)] = 1;
    for (int v : calls[i].outputs)
      if (v >= 0 && inside[i]) made[size_t(v)] = 1;
  }
  for (int v : outputs) outside[size_t(v)] = 1;
  auto place = [&](int v) {
    if (v < 0) return -1;
    int& at = to[size_t(v)];
    if (at >= 0) return at;
    at = int(g.values.size());
    g.values.push_back(values[size_t(v)]);
    if (!made[size_t(v)] && !values[size_t(v)].constant) g.inputs.push_back(at);
    return at;
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!inside[i]) continue;
    Call c{calls[i].op, {}, {}, calls[i].attrs};
    for (int v : calls[i].inputs) c.inputs.push_back(place(v));
    for (int v : calls[i].outputs) c.outputs.push_back(place(v));
    for (size_t k = 0; k < c.outputs.size(); ++k)
      if (c.outputs[k] >= 0 && outside[size_t(calls[i].outputs[k])]) g.outputs.push_back(c.outputs[k]);
    g.calls.push_back(std::move(c));
  }
  return g;
}

std::string Graph::to_string() const {
  std::string all;
  for (const Call& c : calls) {
    all += (all.empty() ? "" : "; ") + c.op + "(";
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const Value* v = c.inputs[i] < 0 ? nullptr : &values[size_t(c.inputs[i])];
      all += (i ? ", " : "") +
             (v ? std::string(oarlock::to_string(v->dtype)) + oarlock::to_string(Shape(v->shape)) : "none");
    }
    for (size_t i = 0; i < c.attrs.size(); ++i)
      all += ", " + op_info(c.op).attributes[i].name + "=" + c.attrs[i].to_string();
    all += ")";
  }
  return all;
}

Graph graph_of(const Schema& schema, const Draw& draw, Random& random) {
  Graph g;
  std::vector<int> in;
  for (const Operand& o : draw.inputs) {
    in.push_back(o.present ? int(g.values.size()) : -1);
    if (!o.present) continue;
    bool constant = !g.values.empty() && !o.host && random.chance(0.3);
    g.values.push_back({o.dtype, o.shape, o.bytes, o.host, constant});
    if (!constant) g.inputs.push_back(in.back());
  }
  for (int v : g.add(schema.info.name, in, draw.attrs).outputs)
    if (v >= 0) g.outputs.push_back(v);
  return g;
}

std::optional<Graph> draw_chain(const std::vector<std::string>& first, const std::vector<std::string>& then,
                                DType dtype, Random& random) {
  const std::string& op = random.of(first);
  Schema schema(op_info(op));
  Generator generator(schema);
  Wishes wishes;
  wishes.mix = false;
  wishes.max_elements = 512;
  for (const std::string& name : schema.type_names)
    if (schema.types_of(name) & set_of(dtype)) wishes.types[name] = dtype;
  std::optional<Draw> draw = generator.draw(random, wishes);
  if (!draw) return {};
  Graph g;
  try {
    g = graph_of(schema, *draw, random);
    if (g.outputs.empty() || g.values[size_t(g.outputs[0])].dtype != dtype) return g;
    std::vector<int> alike{g.outputs[0]};  // of one shape
    for (int64_t k = random.between(1, 5); k > 0; --k) {
      const std::string& next = random.of(then);
      std::vector<int> in;
      for (size_t i = 0; i < op_info(next).inputs.size(); ++i) in.push_back(random.of(alike));
      alike.push_back(g.add(next, in, {}).outputs[0]);
    }
    g.outputs = {alike.back()};
    for (size_t i = 0; i + 1 < alike.size(); ++i)
      if (random.chance(0.2)) g.outputs.push_back(alike[i]);
  } catch (const Error&) { return {}; }
  return g;
}

oar_view_t host_view(const Graph::Value& v, const std::vector<int64_t>& strides) {
  oar_view_t view{};
  view.data = const_cast<uint8_t*>(v.bytes.data());
  view.device = {1, 0};
  view.n_dims = int32_t(v.shape.size());
  view.element = {info(v.dtype).dlpack_code, uint8_t(info(v.dtype).bits), 1};
  view.shape = v.shape.data();
  view.strides = strides.data();
  view.dtype = uint32_t(v.dtype);
  return view;
}

const oar_op_range_t* range_of(const oar_graph_table_t& table, const std::string& op) {
  for (uint32_t i = 0; table.ops && i < table.n_ops; ++i)
    if (table.ops[i] && view(table.ops[i]->op) == op) return table.ops[i];
  return nullptr;
}

Shown::Shown(const Graph& g, const oar_graph_table_t& table) : values_(g.values.size()), strides_(g.values.size()) {
  for (size_t i = 0; i < g.values.size(); ++i) {
    const Graph::Value& from = g.values[i];
    strides_[i] = row_major(from.shape);
    oar_value_t& v = values_[i];
    v.struct_size = sizeof v;
    v.id = uint32_t(i);
    v.dtype = uint32_t(from.dtype);
    v.flags = uint32_t(from.host) * OAR_VALUE_HOST | uint32_t(from.constant) * OAR_VALUE_CONSTANT;
    v.n_dims = uint32_t(from.shape.size());
    v.shape = from.shape.data();
    v.strides = strides_[i].data();
    v.layout = from.constant ? OAR_LAYOUT_STRIDED : OAR_LAYOUT_ANY;
    v.alignment = 64;
    value_list_.push_back(&v);
    if (!from.constant) continue;
    v.constant = &constants_.emplace_back(host_view(from, strides_[i]));
  }
  auto list = [&](const std::vector<int>& from) {
    auto& to = operands_.emplace_back();
    for (int v : from) to.push_back(v < 0 ? nullptr : &values_[size_t(v)]);
    return to.data();
  };
  for (const Graph::Call& c : g.calls) {
    const oar_op_range_t* range = range_of(table, c.op);
    uint32_t version = uint32_t(op_info(c.op).version);
    if (range) version = std::min(version, range->op_max);
    auto& attrs = attrs_.emplace_back();
    for (size_t i = 0; i < c.attrs.size(); ++i)
      if (op_info(c.op).attributes[i].since <= int(version)) attrs.push_back(c.attrs[i].wire());
    oar_call_t call{};
    call.struct_size = sizeof call;
    call.op_version = version;
    call.op = str(c.op);
    call.n_inputs = uint32_t(c.inputs.size());
    call.n_outputs = uint32_t(c.outputs.size());
    call.n_attrs = uint32_t(attrs.size());
    call.inputs = list(c.inputs);
    call.outputs = list(c.outputs);
    call.attrs = attrs.data();
    calls_.push_back(call);
  }
  for (const oar_call_t& c : calls_) call_list_.push_back(&c);
  for (int v : g.inputs) inputs_.push_back(&values_[size_t(v)]), values_[size_t(v)].layout = OAR_LAYOUT_STRIDED;
  for (int v : g.outputs) outputs_.push_back(&values_[size_t(v)]), values_[size_t(v)].layout = OAR_LAYOUT_DENSE;
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

}  // namespace oarlock::cts
