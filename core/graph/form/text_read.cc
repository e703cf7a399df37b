// Programs from text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "core/graph/form/form.h"
#include "core/graph/form/lexer.h"
#include "core/graph/form/parts.h"
#include "core/op/words.h"

namespace oarlock::graph {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : in_(text) {}

  Result<Program> all() {
    program();
    if (in_.good() && !in_.end()) in_.expected("the end");
    if (!in_.good()) return std::move(in_.status());
    OAR_TRY(number());
    OAR_TRY(verify(p_));
    return std::move(p_);
  }

 private:
  void program() {
    in_.need("program");
    p_.name = in_.quoted();
    int64_t format = in_.integer();
    if (in_.good() && (format < 1 || format > int64_t(kFormat)))
      return in_.fail("format " + std::to_string(format) + ", this build reads up to " + std::to_string(kFormat));
    in_.need("{");
    while (in_.good() && in_.at("size")) size_line();
    while (in_.good() && declares()) declaration();
    nodes(p_.body, 0);
    in_.need("return");
    for (bool more = !in_.at("update") && !in_.at("gradient") && !in_.at("guard") && !in_.at("}"); in_.good() && more;
         more = in_.take(",")) {
      std::string called = in_.name();
      bool has_name = in_.take("=");
      p_.body.results.push_back(value(has_name ? in_.name() : called));
      p_.result_names.push_back(has_name ? called : "");
    }
    while (in_.good() && in_.take("update")) pair(p_.updates);
    while (in_.good() && in_.take("gradient")) pair(p_.gradients);
    while (in_.good() && in_.take("guard")) {
      in_.need("[");
      op::Guard g{size(), 0, false, {}};
      in_.need(",");
      g.b = size();
      in_.need("]");
      g.or_one = in_.take("or_one");
      g.text = in_.quoted();
      p_.guards.push_back(std::move(g));
    }
    in_.need("}");
  }
  void size_line() {
    in_.need("size");
    checked(p_.symbols.parse(in_.rest_of_line()));
  }
  bool declares() const { return in_.at("input") || in_.at("feed") || in_.at("state") || in_.at("constant"); }
  void declaration() {
    std::string kind = in_.name();
    Kind k = kind == "input"   ? Kind::input
             : kind == "feed"  ? Kind::feed
             : kind == "state" ? Kind::state
                               : Kind::constant;
    ValueId v = declared(k);
    if (k == Kind::input) p_.body.parameters.push_back(v);
    if (k == Kind::feed) {
      p_.feeds.push_back(v);
      if (in_.good()) p_[v].feed.random = in_.take("random");
    }
    if (k == Kind::constant && in_.take("=")) {
      std::string bytes = in_.at("[") ? decimals(p_[v].dtype) : in_.hexadecimal();
      if (!in_.good()) return;
      Result<Tensor> t = constant_of(bytes, p_[v].dtype, p_[v].shape);
      if (t) p_[v].data = std::move(*t);
      else in_.fail(std::string(t.status().text()));
    }
  }
  // name: dtype[sizes] [host]
  ValueId declared(Kind kind) {
    std::string name = in_.name();
    in_.need(":");
    Value v;
    v.kind = kind;
    std::string dtype = in_.name();
    v.dtype = dtype_from(dtype);
    if (in_.good() && v.dtype == DType::none) in_.fail("no dtype is called " + dtype);
    std::vector<Dim> dims = sizes();
    if (dims.size() > size_t(kMaxRank)) in_.fail("rank " + std::to_string(dims.size()));
    v.shape.push(dims.data(), int(dims.size()));
    v.host = in_.take("host");
    if (p_.values.size() == kMaxValues) in_.fail("more than " + std::to_string(kMaxValues) + " values");
    if (!in_.good()) return 0;
    ValueId id = ValueId(p_.values.size());
    if (!ids_.emplace(name, id).second) in_.fail(name + " is there twice");
    if (name[0] != '%') v.name = name;
    given_.push_back(std::move(name));
    return p_.add(std::move(v));
  }
  ValueId value(const std::string& name) {
    if (!in_.good()) return kNone;
    auto it = ids_.find(name);
    if (it == ids_.end()) in_.fail(name + " is not defined before it is read");
    return it == ids_.end() ? kNone : it->second;
  }
  void pair(std::vector<Program::Update>& out) {
    ValueId state = value(in_.name());
    in_.need("=");
    out.push_back({state, value(in_.name())});
  }
  void nodes(Body& b, int depth) {
    if (depth > kMaxBodies) in_.fail("bodies are nested deeper than " + std::to_string(kMaxBodies) + " levels");
    while (in_.good() && !in_.at("return") && !in_.at("}")) node(b.nodes, depth);
  }
  void node(std::vector<Node>& out, int depth) {
    Node n;
    const int line = in_.line();
    for (bool more = !in_.at("="); in_.good() && more; more = in_.take(",")) {
      if (in_.take("_")) n.outputs.push_back(kNone);
      else n.outputs.push_back(declared(Kind::computed));
    }
    in_.need("=");
    std::string name = in_.name();
    n.op = op::find_op(name);
    if (in_.good() && n.op == op::kNoOp)
      return in_.fail("no op is called " + name + ". Load the plugin that defines it, or use a newer build");
    in_.need("@");
    n.version = int(std::clamp<int64_t>(in_.integer(), 0, INT32_MAX));
    in_.need("(");
    for (bool more = !in_.at(")") && !in_.at(";"); in_.good() && more; more = in_.take(","))
      n.inputs.push_back(in_.take("none") ? kNone : value(in_.name()));
    std::vector<WrittenAttr> attrs;
    if (in_.take(";"))
      for (bool more = true; in_.good() && more; more = in_.take(",")) attribute(n.def(), attrs.emplace_back());
    in_.need(")");
    if (in_.take("at")) n.where = in_.quoted();
    if (!in_.good()) return;
    const op::OpDef& def = *n.def().def;
    for (int i = 0; i < def.regions.count && in_.good() && in_.opens(def.regions[i].name); ++i) {
      Body& inner = n.bodies.emplace_back();
      in_.need(def.regions[i].name);
      in_.need("(");
      for (bool more = !in_.at(")"); in_.good() && more; more = in_.take(","))
        inner.parameters.push_back(declared(Kind::parameter));
      in_.need(")");
      in_.need("{");
      nodes(inner, depth + 1);
      in_.need("return");
      for (bool more = !in_.at("}"); in_.good() && more; more = in_.take(","))
        inner.results.push_back(value(in_.name()));
      in_.need("}");
    }
    if (!in_.good()) return;
    Status s = finish_node(p_, out, std::move(n), attrs);
    if (!s.ok()) in_.fail(std::string(s.text()), line);
    // An op of an older version is brought up to date with values that nobody named.
    given_.resize(p_.values.size());
  }
  void attribute(const op::Op& op, WrittenAttr& a) {
    a.name = in_.name();
    in_.need("=");
    if (in_.take("none")) return;
    const op::Attribute* want = std::ranges::find_if(op.def->attributes, [&](auto& x) { return a.name == x.name; });
    if (want == op.def->attributes.end()) return in_.fail(std::string(op.def->name) + " has no attribute " + a.name);
    switch (want->kind) {
      case op::AttrKind::flag: {
        bool yes = in_.take("true");
        if (!yes) in_.need("false");
        a.value = op::attr_flag(yes);
        break;
      }
      case op::AttrKind::integer:
      case op::AttrKind::axis: a.value = op::attr_integer(in_.integer()); break;
      case op::AttrKind::real: a.value = op::attr_real(in_.real()); break;
      case op::AttrKind::dim: a.value = op::attr_dim(size()); break;
      case op::AttrKind::text:
        a.text = in_.quoted();
        a.value = op::attr_text(std::string_view());
        break;
      case op::AttrKind::dtype: a.value = op::attr_dtype(dtype_from(in_.name())); break;
      case op::AttrKind::reals:
        list([&] { a.reals.push_back(in_.real()); });
        a.value = op::attr_reals({});
        break;
      case op::AttrKind::dims:
        for (Dim d : sizes()) a.integers.push_back(d.n);
        a.value = op::attr_integers({});
        break;
      case op::AttrKind::integers:
      case op::AttrKind::axes: list([&] { a.integers.push_back(in_.integer()); }); a.value = op::attr_integers({});
    }
  }

  // ---- numbers
  template <class F>
  void list(F item) {
    in_.need("[");
    for (bool more = !in_.at("]"); in_.good() && more; more = in_.take(",")) item();
    in_.need("]");
  }
  Dim checked(Result<Dim> d) {
    if (!d && in_.good()) in_.fail(std::string(d.status().text()));
    return d ? *d : Dim(0);
  }
  Dim size() {
    std::string_view text = in_.size_text();
    return text == "-1" ? Dim(kRest) : checked(p_.symbols.parse(text));
  }
  std::vector<Dim> sizes() {
    std::vector<Dim> out;
    list([&] { out.push_back(size()); });
    return out;
  }
  template <class T>
  static void append(std::string& out, T v) {
    out.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  template <class T>
  void append_integer(std::string& out) {
    T v{};
    in_.number(v);
    append(out, v);
  }
  std::string decimals(DType dtype) {
    std::string out;
    list([&] {
      switch (dtype) {
        case DType::boolean:
        case DType::u8: return append_integer<uint8_t>(out);
        case DType::i8: return append_integer<int8_t>(out);
        case DType::u16: return append_integer<uint16_t>(out);
        case DType::i16: return append_integer<int16_t>(out);
        case DType::u32: return append_integer<uint32_t>(out);
        case DType::i32: return append_integer<int32_t>(out);
        case DType::u64: return append_integer<uint64_t>(out);
        case DType::i64: return append_integer<int64_t>(out);
        case DType::f32: return append_integer<float>(out);
        case DType::f64: return append_integer<double>(out);
        default: in_.fail(std::string(to_string(dtype)) + " is written as x\"...\"");
      }
    });
    return out;
  }

  // Values get the numbers that they were written with, as far as these are free; names take what is left.
  Status number() {
    const size_t n = p_.values.size();
    std::vector<ValueId> place(n, kNone);
    std::vector<bool> taken(n);
    for (size_t i = 0; i < n; ++i) {
      const std::string& name = given_[i];
      if (name.empty() || name[0] != '%') continue;
      size_t wanted = n;
      auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), wanted);
      if (error != std::errc() || end != name.data() + name.size())
        return invalid("value " + name.substr(0, 80) + ": what follows % is a number, or leave the % out.");
      if (wanted >= n || taken[wanted]) continue;
      taken[wanted] = true;
      place[i] = ValueId(wanted);
    }
    size_t next = 0;
    for (ValueId& v : place) {
      if (v != kNone) continue;
      while (taken[next]) ++next;
      v = ValueId(next++);
    }
    std::vector<Value> values(n);
    for (size_t i = 0; i < n; ++i) values[size_t(place[i])] = std::move(p_.values[i]);
    p_.values = std::move(values);
    auto move = [&](ValueId& v) { v = v == kNone ? kNone : place[size_t(v)]; };
    auto move_body = [&](Body& b) {
      std::ranges::for_each(b.parameters, move);
      std::ranges::for_each(b.results, move);
    };
    move_body(p_.body);
    each_node(p_.body, [&](Node& node) {
      std::ranges::for_each(node.inputs, move);
      std::ranges::for_each(node.outputs, move);
      std::ranges::for_each(node.bodies, move_body);
    });
    std::ranges::for_each(p_.feeds, move);
    for (auto* list : {&p_.updates, &p_.gradients})
      for (Program::Update& u : *list) move(u.state), move(u.value);
    return {};
  }

  Lexer in_;
  Program p_;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<std::string> given_;  // per value: its name in the text
};

}  // namespace

Result<Program> from_text(std::string_view text) { return Reader(text).all(); }

}  // namespace oarlock::graph
