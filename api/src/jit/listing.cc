// Exported programs as data.
#include <oarlock/exported.h>

#include "core/graph/sizes.h"
#include "core/op/words.h"

namespace oarlock::jit {
namespace {

using graph::Node;
using graph::Program;
using graph::ValueId;

Dim product(std::span<const Dim> sizes) {
  Dim n = 1;
  for (Dim d : sizes) n = n * d;
  return n;
}
std::span<const Dim> sizes(const Shape& s, int from = 0, int to = -1) {
  return {s.begin() + std::min(from, s.rank), s.begin() + (to < 0 ? s.rank : std::min(to, s.rank))};
}

// What a call costs where products are summed; 0 of other ops.
Dim multiply_adds(const Program& p, const Node& n) {
  const std::string_view op = n.def().def->name;
  auto in = [&](size_t i) { return i < n.inputs.size() && n.inputs[i] >= 0 ? p[n.inputs[i]].shape : Shape(); };
  auto out = [&] { return n.outputs.empty() || n.outputs[0] < 0 ? Shape() : p[n.outputs[0]].shape; };
  if (op == "matmul" && in(0).rank) return product(sizes(out())) * in(0)[in(0).rank - 1];
  if (op == "conv") return product(sizes(out())) * product(sizes(in(1), 1));
  if (op == "conv_transpose" || op == "conv_input_gradient") return product(sizes(in(0))) * product(sizes(in(1), 1));
  if (op == "conv_weight_gradient") return product(sizes(in(0))) * product(sizes(out(), 1));
  if (op == "attention" && in(0).rank > 1 && in(2).rank > 1) {
    const Shape q = in(0), v = in(2);
    return product(sizes(q, 0, q.rank - 1)) * v[v.rank - 2] * (q[q.rank - 1] + v[v.rank - 1]);
  }
  return 0;
}

class Lister {
 public:
  explicit Lister(Program& p) : p_(p), scope_(p.symbols) {}
  ProgramListing all() {
    out_.name = p_.name;
    for (ValueId v : p_.body.parameters) out_.inputs.push_back(p_.name_of(v));
    for (ValueId v : p_.body.results) out_.results.push_back(p_.name_of(v));
    out_.outputs = p_.result_names;
    for (size_t i = 0; i < p_.values.size(); ++i) {
      const graph::Value& v = p_.values[i];
      Dim n = product(sizes(v.shape));
      out_.values.push_back({p_.name_of(ValueId(i)), graph::to_text(v.kind),
                             std::string(to_string(v.dtype)) + to_string(v.shape),
                             n.known() ? int64_t(size_bytes(v.dtype, uint64_t(n.n))) : -1});
    }
    body(p_.body, 0);
    return std::move(out_);
  }

 private:
  std::vector<std::string> names(const std::vector<ValueId>& values) const {
    std::vector<std::string> out;
    for (ValueId v : values) out.push_back(p_.name_of(v));
    return out;
  }
  void body(const graph::Body& b, int depth) {
    for (const Node& n : b.nodes) {
      const op::OpDef& def = *n.def().def;
      ProgramNode row;
      row.op = def.name;
      row.version = n.version;
      row.depth = depth;
      row.where = n.where;
      op::Attrs attrs = n.attrs.view();
      for (int i = 0; i < int(attrs.n); ++i)
        row.attributes += (i ? ", " : "") + std::string(def.attributes[i].name) + " = " +
                          op::attribute_text(def.attributes[i].kind, attrs[i]);
      row.inputs = names(n.inputs);
      row.outputs = names(n.outputs);
      Dim work = multiply_adds(p_, n);
      row.multiply_adds = to_string(work);
      row.multiply_adds_number = work.known() ? double(work.n) : -1;
      out_.nodes.push_back(std::move(row));
      for (const graph::Body& inner : n.bodies) body(inner, depth + 1);
    }
  }

  Program& p_;
  op::SymbolScope scope_;
  ProgramListing out_;
};

}  // namespace

ProgramListing ExportedProgram::listing(std::span<const Shape> shapes) const {
  if (shapes.empty()) {
    Program copy = *program_;
    return Lister(copy).all();
  }
  Program sized = graph::with_sizes(*program_, shapes).take();
  throw_if(graph::verify(sized));
  return Lister(sized).all();
}

}  // namespace oarlock::jit
