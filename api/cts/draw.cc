// Drawing by rejection: shapes from the strings, attributes in several ways, then the op's own rule says if the call is
// legal. What led to legal calls is tried first afterwards, so even reshape needs no entry of its own.
#include "api/cts/draw.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cts/number.h"

namespace oarlock::cts {

namespace {

int64_t product(const std::vector<int64_t>& v) {
  int64_t n = 1;
  for (int64_t x : v) n *= x;
  return n;
}

constexpr int kAttempts = 1500;

int64_t draw_size(Random& random, const Wishes& w) {
  double total = 0;
  for (size_t i = 0; i < w.sizes.size(); ++i) total += i < w.weights.size() ? w.weights[i] : 0.1;
  double at = random.real(0, total);
  for (size_t i = 0; i < w.sizes.size(); ++i)
    if ((at -= i < w.weights.size() ? w.weights[i] : 0.1) <= 0) return w.sizes[i];
  return w.sizes.back();
}

std::vector<int64_t> draw_pack(Random& random, const Wishes& w) {
  std::vector<int64_t> pack(size_t(random.between(0, w.max_rank)));
  for (int64_t& n : pack) n = draw_size(random, w);
  while (product(pack) > w.max_elements) *std::max_element(pack.begin(), pack.end()) = 2;
  return pack;
}

// n as a product of `rank` factors.
std::vector<int64_t> factors(Random& random, int64_t n, int rank) {
  std::vector<int64_t> f(size_t(rank), 1);
  if (n == 0) {
    for (int64_t& x : f) x = random.between(0, 3);
    return f;
  }
  for (int64_t p = 2; n > 1 && rank > 0; ++p)
    for (; n % p == 0; n /= p) f[size_t(random.between(0, rank - 1))] *= p;
  return f;
}

bool is(const OpAttribute& a, std::initializer_list<std::string_view> kinds) {
  return std::find(kinds.begin(), kinds.end(), a.kind) != kinds.end();
}

uint32_t wire_type(const OpAttribute& a) {
  if (a.kind == "flag") return OAR_ATTR_BOOL;
  if (is(a, {"integer", "dim", "axis"})) return OAR_ATTR_INT;
  if (a.kind == "real") return OAR_ATTR_FLOAT;
  if (is(a, {"choice", "text"})) return OAR_ATTR_STRING;
  if (a.kind == "reals") return OAR_ATTR_FLOATS;
  if (a.kind == "dtype") return OAR_ATTR_DTYPE;
  return OAR_ATTR_INTS;
}

}  // namespace

int64_t Operand::count() const { return product(shape); }

oar_attr_t AttrValue::wire() const {
  oar_attr_t a{};
  a.type = type;
  a.is_set = is_set;
  if (!is_set) return a;
  a.count = 1;
  switch (type) {
    case OAR_ATTR_FLOAT: a.value.f = f; break;
    case OAR_ATTR_STRING:
      a.value.str = text.data();
      a.count = text.size();
      break;
    case OAR_ATTR_INTS:
      a.value.ints = ints.data();
      a.count = ints.size();
      break;
    case OAR_ATTR_FLOATS:
      a.value.floats = floats.data();
      a.count = floats.size();
      break;
    default: a.value.i = i;
  }
  return a;
}

std::string AttrValue::to_string() const {
  if (!is_set) return "none";
  switch (type) {
    case OAR_ATTR_BOOL: return i ? "true" : "false";
    case OAR_ATTR_FLOAT: return fmt::format("{}", f);
    case OAR_ATTR_STRING: return text;
    case OAR_ATTR_INTS: return fmt::format("[{}]", fmt::join(ints, ", "));
    case OAR_ATTR_FLOATS: return fmt::format("[{}]", fmt::join(floats, ", "));
    case OAR_ATTR_DTYPE: return std::string(oarlock::to_string(DType(i)));
    default: return std::to_string(i);
  }
}

std::vector<oar_attr_t> Draw::wire() const {
  std::vector<oar_attr_t> w;
  for (const AttrValue& a : attrs) w.push_back(a.wire());
  return w;
}

std::string Draw::to_string(const Schema& schema) const {
  std::string s = schema.info.name + "(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i) s += ", ";
    s += inputs[i].present
             ? fmt::format("{}[{}]", oarlock::to_string(inputs[i].dtype), fmt::join(inputs[i].shape, ", "))
             : "none";
  }
  for (size_t i = 0; i < attrs.size(); ++i)
    s += (s.back() == '(' ? "" : ", ") + schema.info.attributes[i].name + "=" + attrs[i].to_string();
  return s + ")";
}

std::optional<Draw> Generator::draw(Random& random, const Wishes& wishes) {
  reason_ = "nothing was tried";
  case_names_.clear();
  if (wishes.a_case) case_names_ = parse_dims(wishes.a_case->dims);
  for (int i = 0; i < kAttempts; ++i) {
    Draw draw;
    way_.clear();
    if (!attempt(random, wishes, draw)) continue;
    for (auto [attribute, way] : way_) good_ways_[attribute].push_back(way);
    return draw;
  }
  return {};
}

bool Generator::attempt(Random& random, const Wishes& w, Draw& d) {
  d.attrs.resize(schema_.info.attributes.size());
  if (w.a_case)
    for (auto& [i, value] : parse_attributes(schema_, w.a_case->attributes)) d.attrs[i] = value;
  for (auto& [name, own] : case_names_)
    if (name != "..." && !own.empty()) d.names[name] = own[0];
  if (!draw_types(random, w, d) || !draw_shapes(random, w, d)) return false;
  for (size_t i = 0; i < d.attrs.size(); ++i)
    if (d.attrs[i].type == 0) d.attrs[i] = draw_attribute(i, random, w, d);
  int64_t total = 0;
  for (const Operand& o : d.inputs) {
    if (!o.present) continue;
    if (int64_t(o.shape.size()) > kMaxRank) return reason_ = "rank above 16", false;
    total += o.count();
    if (o.count() > std::max<int64_t>(w.max_elements, w.a_case ? 1 << 20 : 0))
      return reason_ = "too many elements", false;
  }
  if (total > w.max_total) return reason_ = "too many elements", false;
  if (!draw_values(random, w, d)) return false;
  std::vector<Tensor> operands;
  for (const Operand& o : d.inputs)
    operands.push_back(!o.present ? Tensor()
                       : o.host   ? Tensor::from_host(o.bytes.data(), Shape(o.shape), o.dtype)
                                  : Tensor::empty(Shape(o.shape), o.dtype));
  try {
    Inferred out = infer_op(schema_.info.name, operands, d.wire());
    for (const Shape& s : out.shapes)
      if (oarlock::count(s) > std::max<int64_t>(4 * w.max_elements, w.a_case ? 1 << 20 : 0))
        return reason_ = "a large output", false;
  } catch (const Error& e) {
    reason_ = e.what();
    return false;
  }
  return true;
}

bool Generator::draw_types(Random& random, const Wishes& w, Draw& d) {
  std::map<std::string, DType> types = w.types;
  for (const std::string& name : schema_.type_names) {
    if (types.count(name)) continue;
    std::vector<DType> set;
    for (int i = 1; i < 64; ++i)
      if (schema_.types_of(name) & kAny & DTypeSet(1) << i) set.push_back(DType(i));
    if (set.empty()) set = {plain_dtype(schema_.types_of(name))};  // storage types alone
    if (set[0] == DType::none) return reason_ = "type variable " + name + " has no dtype", false;
    types[name] = w.a_case ? plain_dtype(schema_.types_of(name)) : random.of(set);
  }
  size_t n = schema_.inputs.size();
  if (n && schema_.info.inputs.back().variadic) {
    size_t own = 0;
    auto it = case_names_.find("...");
    if (it != case_names_.end()) own = it->second.size();
    n = n - 1 + (own > 1 ? own : size_t(random.between(1, 4)));
  }
  d.inputs.resize(n);
  bool first = true;
  for (size_t i = 0; i < n; ++i) {
    const OpOperand& info = schema_.input(i);
    const Spec& spec = schema_.input_spec(i);
    Operand& o = d.inputs[i];
    o.host = info.host;
    o.mutated = info.mutated;
    o.present = !info.optional || random.chance(0.6);
    if (spec.type == Spec::fixed) o.dtype = spec.dtype;
    if (spec.type == Spec::variable) {
      o.dtype = types[spec.type_name];
      if (spec.wide) {
        if (o.dtype == DType::f16 || o.dtype == DType::bf16) o.dtype = DType::f32;
        continue;
      }
      std::string mixing = schema_.mixing_of(spec.type_name);
      if (w.mix && !first && mixing.starts_with("promotes") && random.chance(0.15)) {
        std::vector<DType> fits;
        for (int t = 1; t < 64; ++t)
          if (schema_.types_of(spec.type_name) & kAny & DTypeSet(1) << t && promote(o.dtype, DType(t)) == o.dtype)
            fits.push_back(DType(t));
        if (!fits.empty()) o.dtype = random.of(fits);
      }
      first = false;
    }
    if (spec.type == Spec::attribute) {
      int a = schema_.attribute(spec.type_name);
      if (a < 0) return reason_ = spec.type_name + " is no attribute", false;
      if (d.attrs[size_t(a)].type == 0) d.attrs[size_t(a)] = draw_attribute(size_t(a), random, w, d);
      o.dtype = DType(d.attrs[size_t(a)].i);
    }
  }
  return true;
}

std::optional<int64_t> Generator::value_of(std::string_view name, const Draw& draw, bool draw_missing, Random* random,
                                           const Wishes* wishes) {
  bool rank = name[0] == '#';
  std::string key(rank ? name.substr(1) : name);
  if (!rank && !(key[0] >= 'A' && key[0] <= 'Z')) {
    int a = schema_.attribute(key);
    if (a < 0) return {};
    AttrValue& value = const_cast<Draw&>(draw).attrs[size_t(a)];
    if (value.type == 0 && draw_missing) value = draw_attribute(size_t(a), *random, *wishes, draw);
    if (value.type == 0 || !value.is_set) return {};
    return value.i;
  }
  auto& names = const_cast<Draw&>(draw).names;
  auto it = names.find(key);
  if (it == names.end()) {
    if (!draw_missing) return {};
    it = names.emplace(key, rank ? draw_pack(*random, *wishes) : std::vector<int64_t>{draw_size(*random, *wishes)})
             .first;
  }
  if (rank) return int64_t(it->second.size());
  return it->second.size() == 1 ? std::optional(it->second[0]) : std::nullopt;
}

bool Generator::draw_shapes(Random& random, const Wishes& w, Draw& d) {
  std::vector<int64_t> batch = draw_pack(random, w);
  Lookup lookup = [&](std::string_view name) { return value_of(name, d, true, &random, &w); };
  auto own = case_names_.find("...");
  size_t with_batch = 0;
  std::vector<size_t> late;
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    const Spec& spec = schema_.input_spec(i);
    Operand& o = d.inputs[i];
    if (spec.has(Item::any_pack)) {
      late.push_back(i);
      continue;
    }
    for (const Item& item : spec.items) switch (item.kind) {
        case Item::any: o.shape.push_back(draw_size(random, w)); break;
        case Item::batch: {
          if (own != case_names_.end()) {
            const auto& lists = own->second;
            const auto& mine = lists[std::min(with_batch++, lists.size() - 1)];
            o.shape.insert(o.shape.end(), mine.begin(), mine.end());
            break;
          }
          std::vector<int64_t> mine = batch;
          if (random.chance(0.3)) mine.erase(mine.begin(), mine.begin() + random.between(0, int64_t(mine.size())));
          for (int64_t& n : mine)
            if (random.chance(0.15)) n = 1;
          o.shape.insert(o.shape.end(), mine.begin(), mine.end());
          break;
        }
        case Item::pack: {
          auto it = d.names.find(item.text);
          if (it == d.names.end()) it = d.names.emplace(item.text, draw_pack(random, w)).first;
          o.shape.insert(o.shape.end(), it->second.begin(), it->second.end());
          break;
        }
        case Item::attribute_pack: {
          int a = schema_.attribute(item.text);
          if (a < 0) return reason_ = item.text + " is no attribute", false;
          AttrValue& value = d.attrs[size_t(a)];
          if (value.type == 0) value = draw_attribute(size_t(a), random, w, d);
          o.shape.insert(o.shape.end(), value.ints.begin(), value.ints.end());
          break;
        }
        default: {
          auto n = evaluate(item.text, lookup);
          if (!n || *n < 0) return reason_ = item.text + " has no value", false;
          o.shape.push_back(item.or_one && random.chance(0.3) ? 1 : *n);
        }
      }
  }
  // "[*_]": like another operand, like two packs together, or anything; a later one of a variadic input like the first.
  for (size_t i : late) {
    const Spec& spec = schema_.input_spec(i);
    std::vector<int64_t> any;
    std::string key = schema_.input(i).name;  // a case may name the operand itself
    auto named = case_names_.find(key);
    auto packs = own != case_names_.end() ? own : named;
    size_t number = i - late[0];
    if (packs != case_names_.end() && (named != case_names_.end() || late.size() == d.inputs.size())) {
      any = packs->second[std::min(number, packs->second.size() - 1)];
    } else if (number > 0 && schema_.input(i).variadic) {
      any = d.inputs[late[0]].shape;
      if (!any.empty() && random.chance(0.7))
        any[size_t(random.between(0, int64_t(any.size()) - 1))] = draw_size(random, w);
    } else {
      std::vector<std::vector<int64_t>> parts;
      for (auto& [name, sizes] : d.names) parts.push_back(sizes);
      for (const Operand& o : d.inputs) parts.push_back(o.shape);
      int64_t way = random.between(0, 3);
      if (way == 0 || parts.empty()) any = draw_pack(random, w);
      else {
        any = random.of(parts);
        if (way > 1) {
          const auto& more = random.of(parts);
          any.insert(any.end(), more.begin(), more.end());
        }
      }
    }
    for (const Item& item : spec.items)
      if (item.kind != Item::any_pack) {
        auto n = evaluate(item.text, lookup);
        if (!n) return reason_ = item.text + " has no value", false;
        any.push_back(*n);
      }
    d.inputs[i].shape = any;
  }
  return true;
}

AttrValue Generator::draw_attribute(size_t which, Random& random, const Wishes& w, const Draw& d) {
  const OpAttribute& a = schema_.info.attributes[which];
  AttrValue v;
  v.type = wire_type(a);
  const std::vector<int64_t> none;
  const std::vector<int64_t>& x = d.inputs.empty() ? none : d.inputs[0].shape;
  int rank = int(x.size());
  if (auto it = w.types.find(a.name); it != w.types.end() && a.kind == "dtype") {
    v.i = int64_t(it->second);
    return v;
  }
  if (a.name == "device") return v.i = random.of(w.devices), v;
  if (a.may_be_none && random.chance(0.25)) {
    v.is_set = false;
    return v;
  }
  auto bounded = [&](double low, double high) {
    if (std::isfinite(a.low)) low = std::max(low, a.low);
    if (std::isfinite(a.high)) high = std::min(high, a.high);
    return std::pair(low, std::max(low, high));
  };
  auto integer = [&](int64_t low, int64_t high) {
    auto [l, h] = bounded(double(low), double(high));
    return random.between(int64_t(std::ceil(l)), int64_t(std::floor(h)));
  };
  if (!a.required && !a.may_be_none && random.chance(0.3)) {  // the default
    const oar_attr_t& def = a.default_value;
    if (def.type == v.type && def.is_set) {
      v.i = v.type == OAR_ATTR_FLOAT ? 0 : def.value.i;
      if (v.type == OAR_ATTR_FLOAT) v.f = def.value.f;
      if (v.type == OAR_ATTR_STRING) v.text.assign(def.value.str, def.count), v.i = 0;
      if (v.type == OAR_ATTR_INTS) v.ints.assign(def.value.ints, def.value.ints + def.count), v.i = 0;
      if (v.type == OAR_ATTR_FLOATS) v.floats.assign(def.value.floats, def.value.floats + def.count), v.i = 0;
      return v;
    }
  }
  if (a.kind == "flag") return v.i = random.chance(0.5), v;
  if (a.kind == "integer") return v.i = integer(-2, 5), v;
  if (a.kind == "axis") return v.i = rank ? random.between(-rank, rank - 1) : 0, v;
  if (a.kind == "real") {
    auto [low, high] = bounded(-2, 2);
    return v.f = std::round(random.real(low, high) * 64) / 64, v.f = std::clamp(v.f, low, high), v;
  }
  if (v.type == OAR_ATTR_STRING) return v.text = a.choices.empty() ? "" : random.of(a.choices), v;
  if (a.kind == "dtype") {
    std::vector<DType> all;
    for (int i = 1; i < 64; ++i)
      if (kAny >> i & 1) all.push_back(DType(i));
    return v.i = int64_t(random.of(all)), v;
  }
  if (a.kind == "reals") {
    v.floats.resize(size_t(random.chance(0.5) ? rank : random.between(0, 3)));
    for (double& f : v.floats) f = random.real(-2, 2);
    return v;
  }
  // The rest has several ways; one that led to a legal call before is likely taken again.
  auto& good = good_ways_[which];
  int ways = a.kind == "axes" ? 3 : a.kind == "dim" ? 3 : a.kind == "integers" ? 4 : 11;
  int way = !good.empty() && random.chance(0.75) ? random.of(good) : int(random.between(0, ways - 1));
  way_[which] = way;
  if (a.kind == "dim") {
    v.i = way == 0 ? draw_size(random, w) : way == 1 && rank ? random.between(0, random.of(x)) : random.between(1, 5);
    v.i = int64_t(bounded(double(v.i), double(v.i)).first);
    return v;
  }
  if (a.kind == "axes") {
    for (int i = 0; i < rank; ++i) v.ints.push_back(random.chance(0.3) ? i - rank : i);
    random.shuffle(v.ints);
    if (way == 1) v.ints.resize(size_t(random.between(0, rank)));
    if (way == 2) v.ints.resize(size_t(std::min(rank, 1)));
    return v;
  }
  if (a.kind == "integers") {
    if (way == 1) v.ints = {integer(0, 3)};
    for (int i = 0; way > 1 && i < rank - (way == 3 ? 2 : 0); ++i) v.ints.push_back(integer(0, 3));
    return v;
  }
  auto& s = v.ints;
  switch (way) {
    case 0: s = draw_pack(random, w); break;
    case 1: s = x; break;
    case 2: s = factors(random, product(x), int(random.between(0, 4))); break;
    case 3:  // what x expands to
      s = x;
      for (int64_t& n : s)
        if (n == 1 && random.chance(0.7)) n = draw_size(random, w);
      for (int64_t k = random.between(0, 2); k > 0; --k) s.insert(s.begin(), draw_size(random, w));
      break;
    case 4:  // what x sums to
      s = x;
      for (int64_t& n : s)
        if (random.chance(0.4)) n = 1;
      s.erase(s.begin(), s.begin() + random.between(0, rank));
      break;
    case 5:  // a place inside x
      for (int64_t n : x) s.push_back(random.between(0, std::max<int64_t>(n, 0)));
      break;
    case 6:
      for (int64_t n : x) s.push_back(random.between(0, std::max<int64_t>(n / 2, 0)));
      break;
    case 7:
      for (int i = 0; i < rank; ++i) s.push_back(random.between(0, 2));
      break;
    case 8:  // pieces of the last or first axis
      if (rank) {
        int64_t left = random.chance(0.5) ? x.back() : x.front();
        while (left > 0) s.push_back(random.between(1, left)), left -= s.back();
      }
      break;
    case 9:
      s = d.inputs.empty() ? none : d.inputs[size_t(random.between(0, int64_t(d.inputs.size()) - 1))].shape;
      break;
    default:  // sizes that the operands' names have
      for (auto& [name, sizes] : d.names)
        if (random.chance(0.8)) s.insert(s.end(), sizes.begin(), sizes.end());
      random.shuffle(s);
  }
  if (std::isfinite(a.low))
    for (int64_t& n : s) n = std::max(n, int64_t(a.low));
  return v;
}

// A range with "S[axis]" in it, the size of pack S along attribute axis, as a number.
std::string Generator::along_axes(std::string range, const Draw& d) {
  for (size_t open; (open = range.find('[')) != range.npos;) {
    size_t close = range.find(']', open), from = open;
    while (from > 0 && std::isalpha(uint8_t(range[from - 1]))) --from;
    auto pack = d.names.find(range.substr(from, open - from));
    int which = schema_.attribute(range.substr(open + 1, close - open - 1));
    int64_t rank = pack == d.names.end() ? 0 : int64_t(pack->second.size());
    int64_t axis = which < 0 ? 0 : d.attrs[size_t(which)].i;
    if (axis < 0) axis += rank;
    std::string size = axis >= 0 && axis < rank ? std::to_string(pack->second[size_t(axis)]) : "0";
    range.replace(from, close + 1 - from, size);
  }
  return range;
}

bool Generator::draw_values(Random& random, const Wishes& w, Draw& d) {
  Lookup lookup = [&](std::string_view name) { return value_of(name, d, false, nullptr, nullptr); };
  // Smooth: one grid of distinct numbers for all operands, away from 0 and from each other.
  int64_t all = 0, next = 0;
  for (const Operand& o : d.inputs) all += o.present ? o.count() : 0;
  std::vector<double> grid;
  bool positive = random.chance(0.5);
  if (w.smooth) {
    for (int64_t i = 0; i < all; ++i)
      grid.push_back((0.3 + 1.7 * double(i) / double(std::max<int64_t>(all, 1))) *
                     (positive || random.chance(0.5) ? 1 : -1));
    random.shuffle(grid);
  }
  // Integers at their ends, but those that a float operand of the call, which they may be promoted to, can hold.
  double end = 0x1p52;
  for (const Operand& o : d.inputs)
    if (o.present && is_float(o.dtype)) end = std::min(end, largest(o.dtype) / 16);
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    Operand& o = d.inputs[i];
    if (!o.present) continue;
    const OpOperand& info = schema_.input(i);
    o.bytes.assign(size_t(size_bytes(o.dtype, uint64_t(o.count()))), 0);
    bool hole = info.range == "not 0";           // of integers
    bool above_zero = info.range == "positive";  // of floats
    bool natural = info.range == "not negative", unnatural = info.range == "not positive";
    if (!info.range.empty() && !hole && !above_zero && !natural && !unnatural) {
      std::vector<std::pair<int64_t, int64_t>> ends;  // per column: a pack's name stands for its sizes, one a column
      size_t columns = o.shape.empty() ? 1 : size_t(std::max<int64_t>(o.shape.back(), 1));
      for (size_t k = 0; k < columns; ++k) {
        Lookup sizes = [&](std::string_view name) -> std::optional<int64_t> {
          auto it = d.names.find(std::string(name));
          if (it == d.names.end() || it->second.size() == 1) return lookup(name);
          return k < it->second.size() ? std::optional(it->second[k]) : std::nullopt;
        };
        std::string range = along_axes(info.range, d);
        size_t dots = range.find("..");
        auto low = evaluate(std::string_view(range).substr(0, dots), sizes);
        auto high = evaluate(std::string_view(range).substr(dots + 2), sizes);
        if (!low || !high) return reason_ = "the range " + info.range + " has no value", false;
        if (!(set_of(o.dtype) & (kSigned | kFloat))) low = std::max<int64_t>(*low, 0);
        if (w.a_case && *high < *low) high = low = 0;  // the case means it
        if (o.count() > 0 && (*high < *low || double(*high) > largest(o.dtype)))
          return reason_ = "the range " + info.range + " is empty", false;
        ends.emplace_back(*low, *high);
      }
      for (int64_t k = 0; k < o.count(); ++k) {
        auto [low, high] = ends[size_t(k) % columns];
        put_number(o.bytes.data(), o.dtype, k, double(random.between(low, high)));
      }
      if (w.a_case) case_values(*w.a_case, info.name, o, random);
      continue;
    }
    int64_t mode = random.between(0, 9);
    for (int64_t k = 0; k < o.count(); ++k) {
      double x;
      if (o.host) x = is_float(o.dtype) ? random.real(0.01, 1) : double(random.between(0, 1 << 30));
      else if (w.smooth && is_float(o.dtype)) x = grid[size_t(next++)];
      else if (is_float(o.dtype))
        x = mode < 7    ? random.real(-2, 2)
            : mode == 7 ? random.real(0.1, 3)
                        : std::exp(random.real(-6, 3)) * (random.chance(0.5) ? 1 : -1);
      else if (o.dtype == DType::boolean) x = random.chance(0.5);
      else if (mode == 9)  // the ends, where integers wrap
        x = random.chance(0.5)          ? std::min(largest(o.dtype), end)
            : set_of(o.dtype) & kSigned ? -std::min(largest(o.dtype), end)
                                        : 0;
      else x = double(random.between(set_of(o.dtype) & kSigned ? -9 : 0, 9));
      if (hole && x == 0 && !is_float(o.dtype)) x = 1;
      if (natural || above_zero) x = std::max(std::fabs(x), above_zero ? 0.01 : 0);
      if (unnatural) x = -std::fabs(x);
      put_number(o.bytes.data(), o.dtype, k, x);
    }
    if (w.a_case) case_values(*w.a_case, info.name, o, random);
  }
  return true;
}

}  // namespace oarlock::cts
