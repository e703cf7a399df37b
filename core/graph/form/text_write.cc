// Programs as text.
#include <algorithm>

#include "core/graph/form/form.h"
#include "core/graph/form/parts.h"
#include "core/op/words.h"

namespace oarlock::graph {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (u < 32 || u == 127) out += "\\x" + std::string{"0123456789abcdef"[u >> 4], "0123456789abcdef"[u & 15]};
    else out += c;
  }
  return out + "\"";
}
// Can it stand without quotes? What the reader looks for where a name may stand can't.
bool is_word(std::string_view s) {
  static constexpr std::string_view kKept[] = {"_",      "none",   "size",  "input", "feed",   "state",    "constant",
                                               "return", "update", "guard", "host",  "random", "gradient", "at"};
  return !s.empty() && std::ranges::find(kKept, s) == std::end(kKept) && std::ranges::all_of(s, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

class Writer {
 public:
  explicit Writer(const Program& p) : p_(p) {}
  Result<std::string> all() {
    out_ = "program " + quoted(p_.name) + " " + std::to_string(kFormat) + " {\n";
    std::vector<Dim> sizes = sizes_of(p_);
    for (Dim d : p_.symbols.atoms(sizes)) out_ += "  size " + p_.symbols.text(d) + "\n";
    for (ValueId v : p_.body.parameters) out_ += "  input " + declared(v) + "\n";
    for (ValueId v : p_.feeds) out_ += "  feed " + declared(v) + (p_[v].feed.random ? " random\n" : "\n");
    for (size_t i = 0; i < p_.values.size(); ++i) {
      const Value& v = p_.values[i];
      if (v.kind == Kind::state) out_ += "  state " + declared(ValueId(i)) + "\n";
      if (v.kind != Kind::constant) continue;
      out_ += "  constant " + declared(ValueId(i));
      if (v.data.defined()) {
        Result<std::string> elements = elements_text(v.data);
        if (!elements) return elements;
        out_ += " = " + *elements;
      }
      out_ += "\n";
    }
    nodes(p_.body, 1);
    out_ += "  return";
    for (size_t i = 0; i < p_.body.results.size(); ++i) {
      const std::string& called = i < p_.result_names.size() ? p_.result_names[i] : "";
      out_ += i ? ", " : " ";
      if (!called.empty()) out_ += (is_word(called) ? called : quoted(called)) + " = ";
      out_ += name(p_.body.results[i]);
    }
    out_ += "\n";
    for (const Program::Update& u : p_.updates) out_ += "  update " + name(u.state) + " = " + name(u.value) + "\n";
    for (const Program::Update& u : p_.gradients) out_ += "  gradient " + name(u.state) + " = " + name(u.value) + "\n";
    for (const op::Guard& g : p_.guards)
      out_ += "  guard [" + p_.symbols.text(g.a) + ", " + p_.symbols.text(g.b) + "]" + (g.or_one ? " or_one " : " ") +
              quoted(g.text) + "\n";
    return out_ + "}\n";
  }

 private:
  std::string name(ValueId v) const {
    if (v == kNone) return "none";
    const std::string& n = p_[v].name;
    return n.empty() ? "%" + std::to_string(v) : is_word(n) ? n : quoted(n);
  }
  std::string shape(std::span<const Dim> dims) const {
    std::string out = "[";
    for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + p_.symbols.text(dims[i]);
    return out + "]";
  }
  std::string declared(ValueId v) const {
    const Value& value = p_[v];
    return name(v) + ": " + std::string(to_string(value.dtype)) + shape({value.shape.begin(), value.shape.end()}) +
           (value.host ? " host" : "");
  }
  template <class List, class F>
  static std::string listed(const List& list, F text) {
    std::string out;
    for (const auto& x : list) out += (out.empty() ? "" : ", ") + text(x);
    return out;
  }
  std::string attribute(const op::Attribute& def, op::Attrs attrs, int i) const {
    if (attrs.none(i)) return "none";
    switch (attrs[i].type) {
      case OAR_ATTR_BOOL: return attrs.flag(i) ? "true" : "false";
      case OAR_ATTR_INT:
        return def.kind == op::AttrKind::dim ? p_.symbols.text(attrs.dim(i)) : std::to_string(attrs.integer(i));
      case OAR_ATTR_FLOAT: return op::number_text(attrs.real(i));
      case OAR_ATTR_STRING: return quoted(attrs.text(i));
      case OAR_ATTR_INTS:
        if (def.kind == op::AttrKind::dims) return shape(attrs.dims(i));
        return "[" + listed(attrs.integers(i), [](int64_t n) { return std::to_string(n); }) + "]";
      case OAR_ATTR_FLOATS: return "[" + listed(attrs.reals(i), op::number_text) + "]";
      default: return std::string(to_string(attrs.dtype(i)));
    }
  }
  void nodes(const Body& b, int depth) {
    const std::string margin(size_t(depth) * 2, ' ');
    for (const Node& n : b.nodes) {
      const op::OpDef& def = *n.def().def;
      out_ += margin + listed(n.outputs, [&](ValueId v) { return v == kNone ? "_" : declared(v); }) + " = " + def.name +
              "@" + std::to_string(n.version) + "(" + listed(n.inputs, [&](ValueId v) { return name(v); });
      op::Attrs attrs = n.attrs.view();
      for (int i = 0; i < int(attrs.n); ++i)
        out_ +=
            (i ? ", " : "; ") + std::string(def.attributes[i].name) + " = " + attribute(def.attributes[i], attrs, i);
      out_ += ")";
      if (!n.where.empty()) out_ += " at " + quoted(n.where);
      for (size_t i = 0; i < n.bodies.size(); ++i) {
        const Body& inner = n.bodies[i];
        out_ += std::string(" ") + (int(i) < def.regions.count ? def.regions[int(i)].name : "body") + " (" +
                listed(inner.parameters, [&](ValueId v) { return declared(v); }) + ") {\n";
        nodes(inner, depth + 1);
        out_ += margin + "  return" + (inner.results.empty() ? "" : " ") +
                listed(inner.results, [&](ValueId v) { return name(v); }) + "\n" + margin + "}";
      }
      out_ += "\n";
    }
  }

  const Program& p_;
  std::string out_;
};

}  // namespace

Result<std::string> to_text(const Program& p) { return Writer(p).all(); }

}  // namespace oarlock::graph
