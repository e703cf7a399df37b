#include "core/graph/sizes.h"

#include <set>

namespace oarlock::graph {
namespace {

bool is_size(op::AttrKind k) { return k == op::AttrKind::dim || k == op::AttrKind::dims; }

}  // namespace

Dim Sizes::value(Dim d) const {
  if (d.known() || !symbols_.has(d)) return d;
  bool all = true;
  int64_t n = symbols_.evaluate(d, [&](std::string_view name) -> int64_t {
    auto it = known_.find(name);
    if (it != known_.end()) return it->second;
    all = false;
    return -1;
  });
  return all && n >= 0 ? Dim(n) : d;
}
Shape Sizes::value(const Shape& s) const {
  Shape out;
  for (Dim d : s) out.push(value(d));
  return out;
}

Status Sizes::bind(const Shape& declared, const Shape& actual, const std::string& who) {
  auto disagree = [&](const std::string& what) {
    return invalid(who + ": " + what + ": the program wants " + shape_text(declared) + ", given " + to_string(actual) +
                   ".");
  };
  if (declared.rank != actual.rank) return disagree("the rank disagrees");
  for (int i = 0; i < declared.rank; ++i) solve(declared[i], actual(i));
  for (int i = 0; i < declared.rank; ++i) {
    Dim want = value(declared[i]);
    if (want.known() && want != actual[i])
      return disagree("axis " + std::to_string(i) + " disagrees (" + std::to_string(want.n) + " and " +
                      std::to_string(actual(i)) + ")");
  }
  return {};
}

// A size that speaks of one unknown name only, as a straight line: "N", "4*N + 1".
void Sizes::solve(Dim d, int64_t actual) {
  if (value(d).known()) return;
  std::set<std::string, std::less<>> unknown;
  auto at = [&](int64_t n) {
    return symbols_.evaluate(d, [&](std::string_view name) {
      if (auto it = known_.find(name); it != known_.end()) return it->second;
      unknown.insert(std::string(name));
      return n;
    });
  };
  int64_t first = at(1), slope = at(2) - first;
  if (unknown.size() != 1 || slope <= 0 || (actual - first) % slope != 0) return;
  int64_t n = 1 + (actual - first) / slope;
  if (n >= 0 && at(n) == actual) known_[*unknown.begin()] = n;
}

std::string Sizes::shape_text(const Shape& s) const {
  std::string out = "[";
  for (int i = 0; i < s.rank; ++i) {
    out += (i ? ", " : "") + (s[i].known() ? std::to_string(s[i].n) : symbols_.text(s[i]));
    if (Dim v = value(s[i]); v.known() && !s[i].known()) out += "=" + std::to_string(v.n);
  }
  return out + "]";
}

Result<op::OwnedAttrs> Sizes::value(const Node& node) const {
  op::Attrs a = node.attrs.view();
  const op::OpDef& def = *node.def().def;
  std::vector<oar_attr_t> attrs(a.v, a.v + a.n);
  std::vector<std::vector<int64_t>> room(a.n);
  auto known = [&](int64_t& n) {
    n = value(Dim(n)).n;
    return n >= 0 || n == kRest || n == -1;
  };
  for (uint32_t i = 0; i < a.n && int(i) < def.attributes.count; ++i) {
    if (!is_size(def.attributes[int(i)].kind) || !attrs[i].is_set) continue;
    bool all = true;
    if (attrs[i].type == OAR_ATTR_INTS) {
      room[i].assign(attrs[i].value.ints, attrs[i].value.ints + attrs[i].count);
      for (int64_t& n : room[i]) all &= known(n);
      attrs[i].value.ints = room[i].data();
    } else {
      all = known(attrs[i].value.i);
    }
    if (!all)
      return invalid(std::string(def.name) + ": its " + def.attributes[int(i)].name +
                     " holds a size that nothing before it gives. Give that size a name in an input's shape.");
  }
  return op::OwnedAttrs(op::Attrs(attrs.data(), a.n));
}

Status Sizes::check(const std::vector<op::Guard>& guards) const {
  for (const op::Guard& g : guards) {
    Dim a = value(g.a), b = value(g.b);
    if (!a.known() || !b.known() || a == b || (g.or_one && (a == 1 || b == 1))) continue;
    return invalid(g.text + " Here the sizes are " + std::to_string(a.n) + " and " + std::to_string(b.n) + ".");
  }
  return {};
}

Result<Program> with_sizes(const Program& p, std::span<const Shape> inputs) {
  if (inputs.size() != p.body.parameters.size())
    return invalid(p.name + ": takes " + std::to_string(p.body.parameters.size()) + " inputs, given " +
                   std::to_string(inputs.size()) + ".");
  Sizes sizes(p.symbols);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ValueId v = p.body.parameters[i];
    OAR_TRY(sizes.bind(p[v].shape, inputs[i], p.name + ": input " + p.name_of(v)));
  }
  OAR_TRY(sizes.check(p.guards));
  Program out = p;
  for (Value& v : out.values) v.shape = sizes.value(v.shape);
  // Sizes that a node makes while the program runs stay as they are: such programs are interpreted.
  each_node(out.body, [&](Node& n) {
    if (Result<op::OwnedAttrs> attrs = sizes.value(n)) n.attrs = std::move(*attrs);
  });
  return out;
}

}  // namespace oarlock::graph
