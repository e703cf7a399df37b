// Is a program sound? Names, order of definitions, written operands, and each op's own rule on the types.
#include <algorithm>
#include <unordered_set>

#include "core/graph/control.h"
#include "core/graph/program.h"
#include "core/tensor/impl.h"

namespace oarlock::graph {
namespace {

constexpr int kMaxNesting = 1000;

class Verifier {
 public:
  explicit Verifier(const Program& p)
      : p_(p), symbols_(p.symbols), scope_(symbols_), at_(p.values.size(), unseen), depth_(p.values.size(), 0) {}
  Status run() {
    OAR_TRY(values());
    for (ValueId v : p_.feeds) OAR_TRY(enter(v, Kind::feed, "the feeds"));
    for (size_t i = 0; i < at_.size(); ++i)
      if (p_.values[i].kind == Kind::constant || p_.values[i].kind == Kind::state) at_[i] = visible;
    OAR_TRY(body(p_.body, Kind::input, 0));
    if (p_.result_names.size() != p_.body.results.size())
      return bad("results", "there are " + std::to_string(p_.body.results.size()) + " results but " +
                                std::to_string(p_.result_names.size()) + " result names. Give each result one name");
    for (const auto& u : p_.updates) OAR_TRY(pair(u, "updates", true));
    for (const auto& u : p_.gradients) OAR_TRY(pair(u, "gradients", false));
    return {};
  }

 private:
  enum At : uint8_t { unseen, visible, written, gone };

  static Status bad(const std::string& who, const std::string& what) { return invalid(who + ": " + what + "."); }
  static std::string type_text(const Value& v) { return std::string(to_string(v.dtype)) + to_string(v.shape); }

  Status values() {
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < p_.values.size(); ++i) {
      const Value& v = p_.values[i];
      const std::string who = p_.name_of(ValueId(i));
      auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
      for (size_t k = 0; k < v.name.size(); ++k) {
        char c = v.name[k];
        if (!letter(c) && !(c >= '0' && c <= '9') && !(k > 0 && c == '.'))
          return bad("value %" + std::to_string(i),
                     "its name has a bad character at " + std::to_string(k) + ". Names are [A-Za-z0-9_][A-Za-z0-9_.]*");
      }
      if (!v.name.empty() && !names.insert(v.name).second) return bad(who, "two values have this name. Rename one");
      if (v.kind > Kind::parameter) return bad(who, "kind " + std::to_string(int(v.kind)) + " does not exist");
      for (Dim d : v.shape)
        if (!symbols_.has(d))
          return bad(who, "its shape names a size that the program lacks. Use sizes of its symbols");
      bool holds = v.kind == Kind::constant || v.kind == Kind::state;
      if (v.data.defined() && !holds)
        return bad(who, std::string("it has data but is ") + to_text(v.kind) + ". Make it a constant or a state");
      if (v.data.defined() && (v.data.dtype() != v.dtype || !(v.data.shape() == v.shape)))
        return bad(who, "declared " + type_text(v) + ", its data is " + std::string(to_string(v.data.dtype())) +
                            to_string(v.data.shape()) + ". Make them agree");
    }
    return {};
  }
  bool known(ValueId v) const { return v >= 0 && size_t(v) < at_.size(); }
  Status enter(ValueId v, Kind kind, const std::string& who, int depth = 0) {
    if (!known(v)) return bad(who, "value " + std::to_string(v) + " does not exist");
    if (p_[v].kind != kind)
      return bad(who, p_.name_of(v) + " is " + to_text(p_[v].kind) + ", expected " + to_text(kind));
    if (at_[size_t(v)] != unseen) return bad(who, p_.name_of(v) + " is defined twice. Define each value once");
    at_[size_t(v)] = visible;
    depth_[size_t(v)] = depth;
    return {};
  }
  Status use(ValueId v, const std::string& who) const {
    if (!known(v)) return bad(who, "reads value " + std::to_string(v) + ", which does not exist");
    static const char* const kWhy[] = {"before it is defined", "", "after a node wrote to it: read the value it became",
                                       "outside the body that defines it"};
    At a = At(at_[size_t(v)]);
    return a == visible ? Status{} : bad(who, "reads " + p_.name_of(v) + " " + kWhy[a]);
  }
  Status pair(const Program::Update& u, const char* who, bool same) const {
    if (!known(u.state) || p_[u.state].kind != Kind::state)
      return bad(who, p_.name_of(u.state) + " is no state of the program");
    OAR_TRY(use(u.value, who));
    const Value &s = p_[u.state], &v = p_[u.value];
    if (!(s.shape == v.shape) || (same && s.dtype != v.dtype))
      return bad(who, p_.name_of(u.state) + " is " + type_text(s) + ", " + p_.name_of(u.value) + " is " + type_text(v) +
                          ". Make them agree");
    return {};
  }
  Status body(const Body& b, Kind kind, int depth) {
    if (depth > kMaxNesting)
      return bad("body", "nested deeper than " + std::to_string(kMaxNesting) + " levels. Flatten the program");
    for (ValueId v : b.parameters) OAR_TRY(enter(v, kind, "parameters", depth));
    for (const Node& n : b.nodes) OAR_TRY(node(n, depth));
    for (ValueId v : b.results) OAR_TRY(use(v, "results"));
    if (depth == 0) return {};
    for (ValueId v : b.parameters) at_[size_t(v)] = gone;
    for (const Node& n : b.nodes)
      for (ValueId v : n.outputs)
        if (v != kNone) at_[size_t(v)] = gone;
    return {};
  }
  Status node(const Node& n, int depth) {
    if (n.op >= op::op_count()) return bad("node", "op " + std::to_string(n.op) + " does not exist");
    const op::Op& op = n.def();
    const op::OpDef& def = *op.def;
    std::string who = def.name;
    if (!n.where.empty()) who += " (" + n.where + ")";
    if (!readable(def, n.version))
      return bad(who, "version " + std::to_string(n.version) + ", this build has " + std::to_string(def.version) +
                          ". Use a build that knows it, or save the program again");
    int count = int(n.inputs.size());
    if (count < op.required_inputs || (!op.variadic && count > def.inputs.count))
      return bad(who, "takes " + std::to_string(op.required_inputs) + " to " + std::to_string(def.inputs.count) +
                          " operands, given " + std::to_string(count));
    for (int i = 0; i < count; ++i) {
      if (n.inputs[size_t(i)] != kNone) OAR_TRY(use(n.inputs[size_t(i)], who));
      else if (!(def.inputs[std::min(i, def.inputs.count - 1)].flags & op::optional))
        return bad(who, "operand " + std::to_string(i) + " is absent but not optional. Give a value");
    }
    if (int(n.bodies.size()) != def.regions.count)
      return bad(who,
                 "has " + std::to_string(n.bodies.size()) + " bodies, expected " + std::to_string(def.regions.count));
    for (const Body& b : n.bodies) OAR_TRY(body(b, Kind::parameter, depth + 1));
    int own = n.own_outputs();
    if (own < 0) return bad(who, "lacks outputs for the operands that it writes to. Add one for each");
    OAR_TRY(def.regions.count ? control_types(n, who, own) : types(n, who, own));
    size_t next = size_t(own);
    for (int i = 0; i < count; ++i) {
      ValueId v = n.inputs[size_t(i)];
      if (v == kNone || !(op.mutated >> std::min(i, 63) & 1)) continue;
      OAR_TRY(use(v, who));
      if (depth_[size_t(v)] != depth || p_[v].kind == Kind::parameter)
        return bad(who,
                   "writes to " + p_.name_of(v) + ", which is older than the body it is in. Give the body a result");
      ValueId after = n.outputs[next++];
      if (!known(after)) return bad(who, "value " + std::to_string(after) + " does not exist");
      if (p_[after].dtype != p_[v].dtype || !(p_[after].shape == p_[v].shape))
        return bad(who, p_.name_of(v) + " is " + type_text(p_[v]) + ", after the write " + type_text(p_[after]) +
                            ". Make them agree");
      at_[size_t(v)] = written;
    }
    for (ValueId v : n.outputs)
      if (v != kNone) OAR_TRY(enter(v, Kind::computed, who, depth));
    return {};
  }

  // What an op's rule says begins with the op and ends with a full stop.
  static Status ruled(const Node& n, std::string_view text) {
    return invalid((n.where.empty() ? std::string() : n.where + ": ") + std::string(text));
  }
  static bool readable(const op::OpDef& def, int version) {
    if (version == def.version) return true;
    if (version < 1 || version > def.version) return false;
    if (def.upgrade) return true;
    bool added = false;
    for (const op::Attribute& a : def.attributes) {
      if (a.since <= version) continue;
      if (a.need == op::Attribute::required) return false;
      added = true;
    }
    return added;
  }
  op::ValueType type_of(ValueId v) const { return {p_[v].dtype, p_[v].shape, p_[v].host}; }
  // Of an op with regions: operands, what the bodies take and give, outputs. Sizes that are undecided are a plan's matter.
  Status control_types(const Node& n, const std::string& who, int own) {
    const op::OpDef& def = *n.def().def;
    op::AttrScratch scratch;
    op::Attrs attrs = n.attrs.view();
    if (int(attrs.n) != def.attributes.count)
      return bad(who, "has " + std::to_string(attrs.n) + " attributes, expected " +
                          std::to_string(def.attributes.count) + ". Give all, normalised");
    if (Status s = op::normalise(def, n.inputs.empty() ? nullptr : &p_[n.inputs[0]].shape, attrs.v, attrs.n, scratch);
        !s.ok())
      return ruled(n, s.text());
    std::vector<op::ValueType> inputs;
    for (ValueId v : n.inputs) inputs.push_back(type_of(v));
    op::ControlTypes c(def, {scratch.values, attrs.n}, inputs);
    if (Status s = check_types(c); !s.ok()) return ruled(n, s.text());
    auto compare = [&](const std::vector<op::ValueType>& want, const std::vector<ValueId>& got,
                       const std::string& what) {
      if (want.size() != got.size())
        return bad(who, "has " + std::to_string(got.size()) + " " + what + "s, its rule gives " +
                            std::to_string(want.size()) + ". Name them all");
      for (size_t i = 0; i < got.size(); ++i) {
        if (got[i] == kNone) continue;
        if (!known(got[i])) return bad(who, what + " " + std::to_string(i) + " does not exist");
        if (!c.agree(want[i], type_of(got[i]), ""))
          return bad(who, what + " " + p_.name_of(got[i]) + " is declared " + type_text(p_[got[i]]) +
                              ", the op's rule gives " + to_text(want[i]) + ". Declare that");
      }
      return Status();
    };
    for (size_t k = 0; k < n.bodies.size(); ++k) OAR_TRY(compare(c.parameters[k], n.bodies[k].parameters, "parameter"));
    for (const Body& b : n.bodies) {
      std::vector<op::ValueType>& results = c.results.emplace_back();
      for (ValueId v : b.results) results.push_back(type_of(v));
    }
    if (Status s = check_types(c); !s.ok()) return ruled(n, s.text());
    return compare(c.outputs, {n.outputs.begin(), n.outputs.begin() + own}, "output");
  }
  // The op's own rule on the operands' types, against the declared outputs. Calls of older versions are for .upgrade.
  Status types(const Node& n, const std::string& who, int own) {
    const op::Op& op = n.def();
    const op::OpDef& def = *op.def;
    if (n.version != def.version && def.upgrade) return {};
    const int count = int(n.inputs.size());
    std::vector<const Shape*> shapes;
    std::vector<DType> dtypes;
    std::vector<const oar_view_t*> host;
    for (int i = 0; i < count; ++i) {
      const Value* v = n.inputs[size_t(i)] == kNone ? nullptr : &p_[n.inputs[size_t(i)]];
      shapes.push_back(v ? &v->shape : nullptr);
      dtypes.push_back(v ? v->dtype : DType::none);
      bool read = v && (op.host_inputs >> std::min(i, 63) & 1) && v->data.defined() && v->data.impl()->storage;
      host.push_back(read ? &v->data.impl()->view : nullptr);
    }
    op::Attrs attrs = n.attrs.view();
    if (int(attrs.n) != def.attributes.count)
      return bad(who, "has " + std::to_string(attrs.n) + " attributes, expected " +
                          std::to_string(def.attributes.count) + ". Give all, normalised");
    op::AttrScratch scratch;
    if (Status s = op::normalise(def, count ? shapes[0] : nullptr, attrs.v, attrs.n, scratch); !s.ok())
      return ruled(n, s.text());
    std::vector<Shape> out(op::InferCall::kMaxOutputs);
    std::vector<DType> out_type(op::InferCall::kMaxOutputs);
    int out_count = 1;
    if (def.view) {
      if (!shapes[0]) return bad(who, "a view of nothing. Give its operand");
      std::vector<op::Guard> guards;
      op::ViewCall view(def, {scratch.values, attrs.n}, *shapes[0], nullptr, true);
      view.guards = &guards;
      def.view(view);
      if (!view.status.ok()) return ruled(n, view.status.text());
      out[0] = view.out;
      out_type[0] = dtypes[0];
    } else {
      DType var[op::Rule::kTypes]{};
      op::Report report;
      op::InferCall call(def, op.rule, {scratch.values, attrs.n}, count, shapes.data(), dtypes.data(),
                         def.outputs.count, out.data(), out_type.data(), var, report);
      call.host_values = host.data();
      if (!call.run()) return ruled(n, report.error);
      out_count = call.out_count;
    }
    if (own != out_count)
      return bad(who, "has " + std::to_string(own) + " outputs, its rule gives " + std::to_string(out_count) +
                          ". Name them all, kNone for one that nobody wants");
    for (int i = 0; i < own; ++i) {
      if (n.outputs[size_t(i)] == kNone) continue;
      if (!known(n.outputs[size_t(i)])) return bad(who, "output " + std::to_string(i) + " does not exist");
      const Value& v = p_[n.outputs[size_t(i)]];
      bool same = v.dtype == out_type[size_t(i)] && v.shape.rank == out[size_t(i)].rank;
      for (int k = 0; same && k < v.shape.rank; ++k) {
        Dim want = out[size_t(i)].d[k], got = v.shape.d[k];
        same = !want.known() || !got.known() || want == got;  // undecided: a plan's guards decide
      }
      if (!same)
        return bad(who, p_.name_of(n.outputs[size_t(i)]) + " is declared " + type_text(v) + ", the op's rule gives " +
                            std::string(to_string(out_type[size_t(i)])) + to_string(out[size_t(i)]) + ". Declare that");
    }
    return {};
  }

  const Program& p_;
  op::Symbols symbols_;
  op::SymbolScope scope_;
  std::vector<uint8_t> at_;
  std::vector<int> depth_;  // of the body that makes a value, where it is visible
};

}  // namespace

Status verify(const Program& p) { return Verifier(p).run(); }

}  // namespace oarlock::graph
