// Programs as bytes: program.proto.
#include <unordered_map>

#include <oarlock/app.h>

#include "core/graph/form/form.h"
#include "core/graph/form/parts.h"
#include "core/graph/form/protobuf.h"

namespace oarlock::graph {
namespace {

// Protobuf's strings are UTF-8; what isn't, of source places and free names, becomes question marks.
std::string utf8(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    bool good = n > 0 && i + n <= s.size();
    for (size_t k = 1; good && k < n; ++k) {
      auto next = static_cast<unsigned char>(s[i + k]);
      // The second byte rules out long forms, surrogates and what lies past the last character.
      unsigned low = k > 1 ? 0x80 : c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
      unsigned high = k > 1 ? 0xbf : c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
      good = next >= low && next <= high;
    }
    out += good ? s.substr(i, n) : "?";
    i += good ? n : 1;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Program& p) : p_(p) {}
  Result<std::string> all() {
    w_.number(1, kFormat);
    w_.text(2, std::string("oarlock ") + oar_version());
    w_.text(3, utf8(p_.name));
    std::vector<Dim> sizes = sizes_of(p_);
    for (Dim d : p_.symbols.atoms(sizes)) w_.piece(4, p_.symbols.text(d));
    for (size_t i = 0; i < sizes.size(); ++i) {
      place_of_size_[sizes[i].n] = -2 - int64_t(i);
      w_.piece(5, p_.symbols.text(sizes[i]));
    }
    each_node(p_.body, [&](const Node& n) { use(n); });
    for (const Value& v : p_.values) {
      Result<std::string> one = value(v);
      if (!one) return one;
      w_.piece(7, *one);
    }
    w_.piece(8, body(p_.body));
    for (const std::string& name : p_.result_names) w_.piece(9, utf8(name));
    w_.packed(10, p_.feeds, id);
    updates(11, p_.updates);
    updates(12, p_.gradients);
    for (const op::Guard& g : p_.guards) {
      WireWriter w;
      w.zigzag(1, size(g.a.n));
      w.zigzag(2, size(g.b.n));
      w.number(3, g.or_one);
      w.text(4, utf8(g.text));
      w_.piece(13, w.bytes);
    }
    w_.number(100, 1);
    return std::move(w_.bytes);
  }

 private:
  static uint64_t id(ValueId v) { return uint64_t(v); }
  static uint64_t id_or_none(ValueId v) { return uint64_t(v + 1); }
  static uint64_t zigzag(int64_t v) { return WireWriter::fold(v); }
  int64_t size(int64_t n) const {
    if (n >= 0) return n;
    auto it = place_of_size_.find(n);
    return it == place_of_size_.end() ? -1 : it->second;
  }
  void use(const Node& n) {
    uint64_t key = uint64_t(n.op) << 32 | uint32_t(n.version);
    if (!op_place_.emplace(key, op_place_.size() + 1).second) return;
    WireWriter w;
    w.text(1, n.def().def->name);
    w.number(2, uint64_t(n.version));
    w_.piece(6, w.bytes);
  }
  Result<std::string> value(const Value& v) const {
    WireWriter w;
    w.number(1, uint64_t(v.kind) + 1);
    w.text(2, to_string(v.dtype));
    w.packed(3, v.shape, [&](Dim d) { return zigzag(size(d.n)); });
    w.text(4, v.name);
    w.number(5, v.host);
    w.number(6, v.feed.random);
    if (v.kind == Kind::constant && v.data.defined()) {
      Result<std::string> bytes = bytes_of(v.data);
      if (!bytes) return bytes;
      w.piece(7, *bytes);
    }
    return std::move(w.bytes);
  }
  std::string body(const Body& b) const {
    WireWriter w;
    w.packed(1, b.parameters, id);
    for (const Node& n : b.nodes) w.piece(2, node(n));
    w.packed(3, b.results, id);
    return std::move(w.bytes);
  }
  std::string node(const Node& n) const {
    WireWriter w;
    w.number(1, op_place_.at(uint64_t(n.op) << 32 | uint32_t(n.version)));
    const op::OpDef& def = *n.def().def;
    op::Attrs attrs = n.attrs.view();
    for (int i = 0; i < int(attrs.n); ++i) w.piece(2, attribute(def.attributes[i], attrs, i));
    w.packed(3, n.inputs, id_or_none);
    w.packed(4, n.outputs, id_or_none);
    for (const Body& b : n.bodies) w.piece(5, body(b));
    w.text(6, utf8(n.where));
    return std::move(w.bytes);
  }
  std::string attribute(const op::Attribute& def, op::Attrs attrs, int i) const {
    WireWriter w, list;
    w.text(1, def.name);
    if (attrs.none(i)) return std::move(w.bytes);
    bool is_size = def.kind == op::AttrKind::dim || def.kind == op::AttrKind::dims;
    auto whole = [&](int64_t v) { return zigzag(is_size ? size(v) : v); };
    switch (attrs[i].type) {
      case OAR_ATTR_BOOL: w.member(2, attrs.flag(i)); break;
      case OAR_ATTR_INT: w.member(3, whole(attrs.integer(i))); break;
      case OAR_ATTR_FLOAT: w.real(4, attrs.real(i)); break;
      case OAR_ATTR_STRING: w.piece(5, attrs.text(i)); break;
      case OAR_ATTR_INTS:
        list.packed(1, attrs.integers(i), whole);
        w.piece(6, list.bytes);
        break;
      case OAR_ATTR_FLOATS: {
        WireWriter numbers;
        for (double v : attrs.reals(i)) numbers.put(v);
        if (!numbers.bytes.empty()) list.piece(1, numbers.bytes);
        w.piece(7, list.bytes);
        break;
      }
      default: w.piece(8, to_string(attrs.dtype(i)));
    }
    return std::move(w.bytes);
  }
  void updates(int field, const std::vector<Program::Update>& list) {
    for (const Program::Update& u : list) {
      WireWriter w;
      w.number(1, id(u.state));
      w.number(2, id(u.value));
      w_.piece(field, w.bytes);
    }
  }

  const Program& p_;
  WireWriter w_;
  std::unordered_map<int64_t, int64_t> place_of_size_;
  std::unordered_map<uint64_t, uint64_t> op_place_;
};

}  // namespace

Result<std::string> to_wire(const Program& p) { return Writer(p).all(); }

}  // namespace oarlock::graph
