// Programs from bytes: program.proto.
#include <array>

#include "core/graph/form/form.h"
#include "core/graph/form/parts.h"
#include "core/graph/form/protobuf.h"

namespace oarlock::graph {
namespace {

template <class F>
Status each_field(WireReader r, F see) {
  while (r.next()) see(r);
  return std::move(r.status);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : whole_(bytes) {}

  Result<Program> all() {
    Status s = read();
    if (!s.ok()) return s;
    OAR_TRY(verify(p_));
    return std::move(p_);
  }

 private:
  struct OpUse {
    op::OpId op;
    int version;
  };

  // Fields may come in any order, and each speaks of those with lower numbers.
  Status read() {
    std::array<std::vector<std::string_view>, 14> fields;
    uint64_t format = 0;
    bool complete = false;
    WireReader top(whole_, whole_);
    while (top.next()) {
      if (top.field == 1) format = top.number();
      else if (top.field == 10) ids(top, p_.feeds);
      else if (top.field == 100) complete = top.number() != 0;
      else if (size_t(top.field) < fields.size()) fields[size_t(top.field)].push_back(top.piece());
    }
    if (top.status.ok() && format == 0) return {Code::bad_data, "it is no program: it says no format."};
    if (format > kFormat)
      return {Code::bad_data, "it is of format " + std::to_string(format) + ", this build reads up to " +
                                  std::to_string(kFormat) + ". Use a newer build."};
    OAR_TRY(std::move(top.status));
    if (!complete) return {Code::bad_data, "it ends before its end: the file was cut off."};
    for (std::string_view s : fields[3]) p_.name = s;
    for (std::string_view s : fields[4]) OAR_TRY(std::move(p_.symbols.parse(s).status()));
    for (std::string_view s : fields[5]) {
      Result<Dim> d = p_.symbols.parse(s);
      OAR_TRY(std::move(d.status()));
      sizes_.push_back(*d);
    }
    for (std::string_view s : fields[6]) OAR_TRY(op_use(s));
    if (fields[7].size() > kMaxValues)
      return {Code::bad_data,
              "it has " + std::to_string(fields[7].size()) + " values, more than " + std::to_string(kMaxValues) + "."};
    for (std::string_view s : fields[7]) OAR_TRY(value(s));
    for (std::string_view s : fields[8]) OAR_TRY(body(s, p_.body, 0));
    for (std::string_view s : fields[9]) p_.result_names.emplace_back(s);
    for (std::string_view s : fields[11]) OAR_TRY(update(s, p_.updates));
    for (std::string_view s : fields[12]) OAR_TRY(update(s, p_.gradients));
    for (std::string_view s : fields[13]) OAR_TRY(guard(s));
    return {};
  }

  static void ids(WireReader& r, std::vector<ValueId>& out, uint64_t less = 0) {
    r.numbers([&](uint64_t v) { out.push_back(v > kMaxValues * 2 ? INT32_MAX : ValueId(v) - ValueId(less)); });
  }
  Result<Dim> size(int64_t n) const {
    if (n >= -1) return n == -1 ? Dim(kRest) : Dim(n);
    uint64_t place = -2 - uint64_t(n);
    if (place >= sizes_.size())
      return Status(Code::bad_data,
                    "it speaks of size " + std::to_string(place) + ", but has " + std::to_string(sizes_.size()) + ".");
    return sizes_[size_t(place)];
  }
  Status op_use(std::string_view bytes) {
    WireReader r(whole_, bytes);
    std::string_view name;
    uint64_t version = 0;
    while (r.next()) {
      if (r.field == 1) name = r.piece();
      else if (r.field == 2) version = r.number();
    }
    OAR_TRY(std::move(r.status));
    op::OpId id = op::find_op(name);
    if (id == op::kNoOp)
      return {Code::unsupported, "it needs the op " + std::string(name.substr(0, 80)) +
                                     ", which this build and the loaded plugins lack. Load the plugin that defines "
                                     "it, or use a newer build."};
    ops_.push_back({id, version > INT32_MAX ? INT32_MAX : int(version)});
    return {};
  }
  Status value(std::string_view bytes) {
    WireReader r(whole_, bytes);
    Value v;
    uint64_t kind = 0;
    std::vector<int64_t> shape;
    std::string_view data;
    bool has_data = false;
    while (r.next()) {
      switch (r.field) {
        case 1: kind = r.number(); break;
        case 2: v.dtype = dtype_from(r.piece()); break;
        case 3: r.numbers([&](uint64_t n) { shape.push_back(WireReader::unfold(n)); }); break;
        case 4: v.name = r.piece(); break;
        case 5: v.host = r.number(); break;
        case 6: v.feed.random = r.number(); break;
        case 7: data = r.piece(), has_data = true; break;
        default: break;
      }
    }
    OAR_TRY(std::move(r.status));
    const std::string who = "value " + std::to_string(p_.values.size());
    if (kind < 1 || kind > uint64_t(Kind::parameter) + 1)
      return {Code::bad_data, who + " is of kind " + std::to_string(kind) + ", which does not exist."};
    v.kind = Kind(kind - 1);
    if (v.dtype == DType::none) return {Code::bad_data, who + " has no dtype that this build knows."};
    if (shape.size() > size_t(kMaxRank))
      return {Code::bad_data,
              who + " has rank " + std::to_string(shape.size()) + ", at most " + std::to_string(kMaxRank) + " is."};
    for (int64_t n : shape) {
      Result<Dim> d = size(n);
      OAR_TRY(std::move(d.status()));
      v.shape.push(*d);
    }
    if (has_data) {
      Result<Tensor> t = constant_of(data, v.dtype, v.shape);
      if (!t) return {Code::bad_data, who + ": " + std::string(t.status().text()) + "."};
      v.data = std::move(*t);
    }
    p_.add(std::move(v));
    return {};
  }
  Status body(std::string_view bytes, Body& out, int depth) {
    if (depth > kMaxBodies)
      return {Code::bad_data, "bodies are nested deeper than " + std::to_string(kMaxBodies) + " levels."};
    WireReader r(whole_, bytes);
    while (r.next()) {
      if (r.field == 1) ids(r, out.parameters);
      else if (r.field == 2) OAR_TRY(node(r.piece(), out.nodes, depth));
      else if (r.field == 3) ids(r, out.results);
    }
    return std::move(r.status);
  }
  Status node(std::string_view bytes, std::vector<Node>& out, int depth) {
    WireReader r(whole_, bytes);
    uint64_t use = 0;
    Node n;
    std::vector<std::string_view> attributes, bodies;
    while (r.next()) {
      switch (r.field) {
        case 1: use = r.number(); break;
        case 2: attributes.push_back(r.piece()); break;
        case 3: ids(r, n.inputs, 1); break;
        case 4: ids(r, n.outputs, 1); break;
        case 5: bodies.push_back(r.piece()); break;
        case 6: n.where = r.piece(); break;
        default: break;
      }
    }
    OAR_TRY(std::move(r.status));
    if (use == 0 || use > ops_.size())
      return {Code::bad_data, "a node is of op " + std::to_string(use) + ", but the program lists " +
                                  std::to_string(ops_.size()) + "."};
    n.op = ops_[size_t(use) - 1].op;
    n.version = ops_[size_t(use) - 1].version;
    const op::OpDef& def = *n.def().def;
    if (int(bodies.size()) > def.regions.count)
      return {Code::bad_data, std::string(def.name) + " has " + std::to_string(bodies.size()) + " bodies, expected " +
                                  std::to_string(def.regions.count) + "."};
    for (std::string_view b : bodies) OAR_TRY(body(b, n.bodies.emplace_back(), depth + 1));
    std::vector<WrittenAttr> attrs;
    for (std::string_view a : attributes) OAR_TRY(attribute(a, def, attrs.emplace_back()));
    return finish_node(p_, out, std::move(n), attrs);
  }
  Status attribute(std::string_view bytes, const op::OpDef& def, WrittenAttr& a) const {
    WireReader r(whole_, bytes);
    while (r.next()) {
      switch (r.field) {
        case 1: a.name = r.piece(); break;
        case 2: a.value = op::attr_flag(r.number() != 0); break;
        case 3: a.value = op::attr_integer(r.zigzag()); break;
        case 4: a.value = op::attr_real(r.real()); break;
        case 5:
          a.text = r.piece();
          a.value = op::attr_text({});
          break;
        case 6:
          OAR_TRY(each_field(r.inner(), [&](WireReader& list) {
            if (list.field == 1) list.numbers([&](uint64_t n) { a.integers.push_back(WireReader::unfold(n)); });
          }));
          a.value = op::attr_integers({});
          break;
        case 7:
          OAR_TRY(each_field(r.inner(), [&](WireReader& list) {
            if (list.field == 1) list.reals([&](double v) { a.reals.push_back(v); });
          }));
          a.value = op::attr_reals({});
          break;
        case 8: {
          DType t = dtype_from(r.piece());
          if (t == DType::none)
            return {Code::bad_data,
                    std::string(def.name) + ": attribute " + a.name + " is a dtype that this build does not know."};
          a.value = op::attr_dtype(t);
          break;
        }
        default: break;
      }
    }
    OAR_TRY(std::move(r.status));
    for (const op::Attribute& want : def.attributes) {
      if (a.name != want.name || (want.kind != op::AttrKind::dim && want.kind != op::AttrKind::dims)) continue;
      auto settle = [&](int64_t& n) -> Status {
        Result<Dim> d = size(n);
        if (d) n = d->n;
        return std::move(d.status());
      };
      if (a.value.type == OAR_ATTR_INT) OAR_TRY(settle(a.value.value.i));
      for (int64_t& n : a.integers) OAR_TRY(settle(n));
    }
    return {};
  }
  Status update(std::string_view bytes, std::vector<Program::Update>& out) {
    WireReader r(whole_, bytes);
    std::vector<ValueId> state, value;
    while (r.next()) {
      if (r.field == 1) ids(r, state);
      else if (r.field == 2) ids(r, value);
    }
    OAR_TRY(std::move(r.status));
    out.push_back({state.empty() ? 0 : state.back(), value.empty() ? 0 : value.back()});
    return {};
  }
  Status guard(std::string_view bytes) {
    WireReader r(whole_, bytes);
    op::Guard g{0, 0, false, {}};
    int64_t a = 0, b = 0;
    while (r.next()) {
      if (r.field == 1) a = r.zigzag();
      else if (r.field == 2) b = r.zigzag();
      else if (r.field == 3) g.or_one = r.number();
      else if (r.field == 4) g.text = r.piece();
    }
    OAR_TRY(std::move(r.status));
    for (auto [n, d] : {std::pair(a, &g.a), std::pair(b, &g.b)}) {
      Result<Dim> size = this->size(n);
      OAR_TRY(std::move(size.status()));
      *d = *size;
    }
    p_.guards.push_back(std::move(g));
    return {};
  }

  std::string_view whole_;
  Program p_;
  std::vector<Dim> sizes_;
  std::vector<OpUse> ops_;
};

}  // namespace

Result<Program> from_wire(std::string_view bytes) { return Reader(bytes).all(); }

}  // namespace oarlock::graph
