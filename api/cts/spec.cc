#include "api/cts/spec.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace oarlock::cts {

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
bool is_word(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; });
}
bool upper(std::string_view s) { return !s.empty() && s[0] >= 'A' && s[0] <= 'Z'; }

Item parse_item(std::string_view s) {
  s = trim(s);
  if (s == "...") return {Item::batch, "..."};
  if (s == "_") return {Item::any, "_"};
  if (s == "*_") return {Item::any_pack, "_"};
  if (s.starts_with('?')) return {Item::fresh, std::string(trim(s.substr(1)))};
  if (s.starts_with('*')) {
    std::string name(trim(s.substr(1)));
    return {upper(name) ? Item::pack : Item::attribute_pack, name};
  }
  Item item{Item::expression, ""};
  if (s.ends_with("|1")) {
    item.or_one = true;
    s = trim(s.substr(0, s.size() - 2));
  }
  item.text = std::string(s);
  if (is_word(s) && upper(s)) item.kind = Item::name;
  if (s.empty()) throw std::runtime_error("an empty dimension");
  return item;
}

class Evaluator {
 public:
  Evaluator(std::string_view s, const Lookup& lookup) : s_(s), lookup_(lookup) {}
  std::optional<int64_t> run() {
    auto v = sum();
    return peek() == 0 && ok_ ? std::optional(v) : std::nullopt;
  }

 private:
  char peek() {
    while (at_ < s_.size() && s_[at_] == ' ') ++at_;
    return at_ < s_.size() ? s_[at_] : '\0';
  }
  int64_t sum() {
    int64_t v = product();
    for (char c; (c = peek()) == '+' || c == '-';) {
      ++at_;
      int64_t w = product();
      v = c == '+' ? v + w : v - w;
    }
    return v;
  }
  int64_t product() {
    int64_t v = factor();
    for (char c; (c = peek()) == '*' || c == '/';) {
      ++at_;
      int64_t w = factor();
      if (c == '/' && (w == 0 || v % w != 0)) return ok_ = false, 0;
      v = c == '*' ? v * w : v / w;
    }
    return v;
  }
  int64_t factor() {
    char c = peek();
    if (c == '-') return ++at_, -factor();
    if (c == '(') {
      ++at_;
      int64_t v = sum();
      ok_ &= peek() == ')';
      ++at_;
      return v;
    }
    size_t from = at_;
    if (c == '#') ++at_;
    while (at_ < s_.size() && (std::isalnum(uint8_t(s_[at_])) || s_[at_] == '_')) ++at_;
    std::string_view word = s_.substr(from, at_ - from);
    if (word.empty()) return ok_ = false, ++at_, 0;
    if (std::isdigit(uint8_t(word[0]))) return std::stoll(std::string(word));
    auto v = lookup_(word);
    if (!v) return ok_ = false, 0;
    return *v;
  }
  std::string_view s_;
  const Lookup& lookup_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

bool Spec::has(Item::Kind kind) const {
  return std::any_of(items.begin(), items.end(), [&](const Item& i) { return i.kind == kind; });
}

Spec parse_spec(std::string_view text) {
  size_t open = text.find('['), close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    throw std::runtime_error("'" + std::string(text) + "' is no shape string");
  Spec spec;
  spec.type_name = std::string(trim(text.substr(0, open)));
  if (spec.type_name.empty()) spec.type_name = "T";
  if (spec.type_name.ends_with('+')) {
    spec.wide = true;
    spec.type_name.pop_back();
  }
  spec.dtype = dtype_from(spec.type_name);
  spec.type = spec.dtype != DType::none ? Spec::fixed : upper(spec.type_name) ? Spec::variable : Spec::attribute;
  std::string_view body = trim(text.substr(open + 1, close - open - 1));
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= body.size() && !body.empty(); ++i) {
    if (i < body.size() && body[i] == '(') ++depth;
    if (i < body.size() && body[i] == ')') --depth;
    if (i < body.size() && (body[i] != ',' || depth > 0)) continue;
    spec.items.push_back(parse_item(body.substr(from, i - from)));
    from = i + 1;
  }
  return spec;
}

std::optional<int64_t> evaluate(std::string_view expression, const Lookup& lookup) {
  return Evaluator(expression, lookup).run();
}

std::vector<std::string> names_in(std::string_view s) {
  std::vector<std::string> names;
  for (size_t i = 0; i < s.size();) {
    if (!std::isalpha(uint8_t(s[i])) && s[i] != '#') {
      while (i < s.size() && std::isdigit(uint8_t(s[i]))) ++i;
      if (i < s.size() && !std::isalpha(uint8_t(s[i])) && s[i] != '#') ++i;
      continue;
    }
    size_t from = i++;
    while (i < s.size() && (std::isalnum(uint8_t(s[i])) || s[i] == '_')) ++i;
    std::string name(s.substr(from, i - from));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Schema::Schema(const OpInfo& op) : info(op) {
  auto read = [&](const std::vector<OpOperand>& operands, std::vector<Spec>& specs) {
    for (const OpOperand& o : operands) {
      specs.push_back(parse_spec(o.spec));
      const Spec& s = specs.back();
      if (s.type == Spec::variable && std::find(type_names.begin(), type_names.end(), s.type_name) == type_names.end())
        type_names.push_back(s.type_name);
    }
  };
  read(op.inputs, inputs);
  read(op.outputs, outputs);
}

DTypeSet Schema::types_of(std::string_view variable) const {
  for (const OpTypeVar& v : info.types)
    if (v.name == variable) return v.set;
  return kAny;
}
std::string Schema::mixing_of(std::string_view variable) const {
  for (const OpTypeVar& v : info.types)
    if (v.name == variable) return v.mixing;
  return "same";
}
int Schema::attribute(std::string_view name) const {
  for (size_t i = 0; i < info.attributes.size(); ++i)
    if (info.attributes[i].name == name) return int(i);
  return -1;
}

DType plain_dtype(DTypeSet set) {
  for (DType t : {DType::f32, DType::f64, DType::i64, DType::i32, DType::boolean})
    if (set & set_of(t)) return t;
  for (int i = 63; i > 0; --i)
    if (set >> i & 1) return DType(i);
  return DType::none;
}

}  // namespace oarlock::cts
