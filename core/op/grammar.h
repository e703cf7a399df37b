// The shape grammar, compiled: strings such as "T[N, C/groups, *K]" become a small program that inference runs.
// In our own op files this happens in the compiler (define is consteval); for a plugin's schema at load.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/op/opdef.h"

namespace oarlock::op {

[[noreturn]] inline void bad_op(const char* why) {
  throw std::invalid_argument(why);
}  // not constexpr: stops the compiler

struct Token {
  char op;  // n number, v name, a attribute, # rank of a pack, + - * /
  int16_t value;
};
struct Item {
  enum Kind : uint8_t { name, expr, batch, pack, attr_pack, any, any_pack, fresh } kind;
  uint8_t slot = 0, first = 0, count = 0;
  bool or_one = false;
};
struct Spec {
  uint8_t first = 0, count = 0;
  int8_t pack = -1;  // which item may be many dimensions
  char type = 0;     // 'f' fixed dtype, 'v' type variable, 'a' dtype attribute
  uint8_t type_slot = 0;
  bool wide = false;  // "T+": of a type variable, at least f32
};
struct Rule {
  static constexpr int kNames = 14, kTypes = 4;
  std::string_view names[kNames], types[kTypes];
  bool is_pack[kNames]{};
  uint8_t name_count = 0, type_count = 0, token_count = 0, item_count = 0;
  uint8_t open[4]{}, open_count = 0;  // names that only .infer binds
  bool one_pass = true;               // matching left to right once binds everything
  bool elementwise = false;           // all "[...]" of one type variable: equal operands skip the matcher
  DTypeSet first_type = kAny;
  Token token[48]{};
  Item item[56]{};
  Spec in[10]{}, out[6]{};
};

struct Parser {
  const OpDef& def;
  Rule& r;
  std::string_view s;
  size_t at = 0;
  int depth = 0;  // of brackets
  static constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
  static constexpr bool upper(std::string_view w) { return w[0] >= 'A' && w[0] <= 'Z'; }
  constexpr char peek() {
    while (at < s.size() && s[at] == ' ') ++at;
    return at < s.size() ? s[at] : 0;
  }
  constexpr bool take(char c) { return peek() == c ? (++at, true) : false; }
  constexpr std::string_view word() {
    size_t from = (peek(), at);
    while (at < s.size() && (((s[at] | 32) >= 'a' && (s[at] | 32) <= 'z') || s[at] == '_' || digit(s[at]))) ++at;
    return at == from ? (bad_op("shape string: a name is missing"), s) : s.substr(from, at - from);
  }
  constexpr uint8_t attribute(std::string_view w) {
    for (int i = 0; i < def.attributes.count; ++i)
      if (w == def.attributes.item[i].name) return uint8_t(i);
    bad_op("shape string: a lower-case word is neither an attribute of this op nor a dtype");
  }
  constexpr uint8_t slot(std::string_view w, bool pack) {
    uint8_t i = uint8_t(std::find(r.names, r.names + r.name_count, w) - r.names);
    if (i == Rule::kNames) bad_op("shape string: too many names in one op");
    if (i == r.name_count) {
      r.names[i] = w;
      r.is_pack[r.name_count++] = pack;
    }
    return r.is_pack[i] != pack ? (bad_op("shape string: one name is both a dimension and a pack"), i) : i;
  }
  constexpr void emit(char op, int v = 0) {
    if (r.token_count == std::size(r.token)) bad_op("the expressions of this op are too long");
    r.token[r.token_count++] = {op, int16_t(v)};
  }
  constexpr void factor() {
    if (take('(')) {
      if (++depth > 16) bad_op("shape string: brackets are nested too deep");
      expr();
      --depth;
      if (!take(')')) bad_op("shape string: ')' is missing");
      return;
    }
    if (take('#')) return emit('#', slot(word(), true));
    if (digit(peek())) {
      int v = 0;
      while (at < s.size() && digit(s[at])) {
        v = v * 10 + (s[at++] - '0');
        if (v > 32767) bad_op("shape string: a number above 32767");
      }
      return emit('n', v);
    }
    auto w = word();
    upper(w) ? emit('v', slot(w, false)) : emit('a', attribute(w));
  }
  constexpr void term() {
    factor();
    while (peek() == '*' || peek() == '/') {
      char op = s[at++];
      factor();
      emit(op);
    }
  }
  constexpr void expr() {
    term();
    while (peek() == '+' || peek() == '-') {
      char op = s[at++];
      term();
      emit(op);
    }
  }
  constexpr Item parse_item() {
    if (take('.')) {
      if (!take('.') || !take('.')) bad_op("shape string: write '...'");
      return {Item::batch};
    }
    if (take('?')) return {Item::fresh, slot(word(), false)};
    if (take('*')) {
      auto w = word();
      return w == "_"   ? Item{Item::any_pack}
             : upper(w) ? Item{Item::pack, slot(w, true)}
                        : Item{Item::attr_pack, attribute(w)};
    }
    if (take('_')) return {Item::any};
    Item it{Item::expr, 0, r.token_count};
    expr();
    if ((it.count = uint8_t(r.token_count - it.first)) > 15) bad_op("shape string: expression too long");
    if (it.count == 1 && r.token[it.first].op == 'v') {
      it.kind = Item::name;
      it.slot = uint8_t(r.token[it.first].value);
    }
    if (take('|')) {
      if (!take('1')) bad_op("shape string: only '|1' may follow a dimension");
      it.or_one = true;
      r.one_pass = false;
    }
    return it;
  }
  constexpr Spec spec(bool output) {
    Spec p{r.item_count};
    std::string_view t = peek() == '[' ? "T" : word();
    if (DType fixed = dtype_from(t); fixed != DType::none) {
      p.type = 'f';
      p.type_slot = uint8_t(fixed);
    } else if (upper(t)) {
      p.type = 'v';
      p.type_slot = uint8_t(std::find(r.types, r.types + r.type_count, t) - r.types);
      if (p.type_slot == Rule::kTypes) bad_op("too many type variables");
      if (p.type_slot == r.type_count) r.types[r.type_count++] = t;
      p.wide = take('+');
    } else {
      p.type = 'a';
      p.type_slot = attribute(t);
    }
    if (!take('[')) bad_op("shape string: '[' expected");
    if (peek() != ']') do {
        Item it = parse_item();
        bool pack =
            it.kind == Item::batch || it.kind == Item::pack || it.kind == Item::attr_pack || it.kind == Item::any_pack;
        if (pack && p.pack >= 0 && !output) bad_op("shape string: an input may hold only one of '...' and '*S'");
        if (it.kind == Item::fresh && !output) bad_op("shape string: '?' is for outputs");
        if (r.item_count == std::size(r.item)) bad_op("the shape strings of this op are too long");
        p.pack = pack ? int8_t(p.count) : p.pack;
        r.item[r.item_count++] = it;
        ++p.count;
      } while (take(','));
    return !take(']') || peek() ? (bad_op("shape string: ',' or one final ']' expected"), p) : p;
  }
};

// Parses all strings and checks the whole op.
constexpr Rule compile(const OpDef& def) {
  Rule r;
  bool bound[Rule::kNames]{};
  const bool calls = def.regions.count != 0;
  if (!def.name || !def.summary || !def.source || !(def.cases.count || def.plugin || calls))
    bad_op("op needs .name, .summary, .source and .cases");
  if (calls && (!def.types_of || !def.run)) bad_op("op with regions needs .types_of and .run");
  if (!def.reference && !def.decompose && !def.view && !def.plugin && !calls)
    bad_op("op needs .reference, .decompose or .view");
  if (!def.gradient && !def.decompose && !def.control_gradient && !def.no_gradient)
    bad_op("primitive needs .gradient, or .no_gradient = \"why\"");
  for (int i = 0; i < def.inputs.count; ++i) {
    if ((def.inputs.item[i].flags & variadic) && i + 1 != def.inputs.count)
      bad_op("only the last input may be variadic");
    r.in[i] = Parser{def, r, def.inputs.item[i].spec}.spec(false);
  }
  for (bool progress = true; std::exchange(progress, false);)  // the order in which matching will bind names
    for (int i = 0; i < def.inputs.count; ++i)
      for (int k = 0; k < r.in[i].count; ++k) {
        const Item& it = r.item[r.in[i].first + k];
        bool whole = it.kind == Item::name || it.kind == Item::pack;
        int unbound = whole && !bound[it.slot], which = it.slot;
        for (int t = it.first; t < it.first + it.count; ++t)
          if (it.kind == Item::expr && r.token[t].op == 'v' && !bound[r.token[t].value]) {
            ++unbound;
            which = r.token[t].value;
          }
        r.one_pass &= unbound < 2;
        if (unbound == 1 && !it.or_one && !(def.inputs.item[i].flags & optional)) bound[which] = progress = true;
      }
  for (int i = 0; i < def.outputs.count; ++i) {
    if ((def.outputs.item[i].flags & variadic) && def.outputs.count > 1)
      bad_op("a variadic output must be the only one");
    r.out[i] = Parser{def, r, def.outputs.item[i].spec}.spec(true);
    bool typed = r.out[i].type != 'v';
    for (int j = 0; j < def.inputs.count; ++j)
      typed |= r.in[j].type == 'v' && !r.in[j].wide && r.in[j].type_slot == r.out[i].type_slot &&
               !(def.inputs.item[j].flags & optional);
    if (!typed && !calls) bad_op("an output has a dtype that nothing gives");
  }
  for (int i = 0; i < def.outputs.count; ++i)
    for (int k = 0; k < r.out[i].count; ++k) {
      const Item& it = r.item[r.out[i].first + k];
      if (it.kind == Item::fresh) bound[it.slot] = true;
      if ((it.kind == Item::name || it.kind == Item::pack) && !bound[it.slot]) {
        if (!def.infer && !def.view)
          bad_op("an output has a dimension that no required input or attribute gives: write .infer");
        r.open_count == 4 ? bad_op("too many open names") : void(bound[r.open[r.open_count++] = it.slot] = true);
      }
      for (int t = it.first; it.kind == Item::expr && t < it.first + it.count; ++t)
        if (r.token[t].op == 'v' && !bound[r.token[t].value])
          bad_op("an output expression has a dimension that nothing gives");
    }
  auto among = [](auto& list, std::string_view n) {
    return std::any_of(list.begin(), list.end(), [&](auto& x) { return n == x.name; });
  };
  for (auto& s : def.saves) {
    if (!among(def.inputs, s.name) && !among(def.outputs, s.name))
      bad_op(".saves names neither an input nor an output");
    if (s.wanted_by && !among(def.inputs, s.wanted_by)) bad_op(".saves: wanted_by names no input");
  }
  for (auto& t : def.types)
    if (std::find(r.types, r.types + r.type_count, t.name) == r.types + r.type_count)
      bad_op(".types names a variable that no string has");
  auto batch = [&](const Spec& p) { return p.count == 1 && r.item[p.first].kind == Item::batch; };
  r.elementwise =
      def.inputs.count && def.outputs.count == 1 && batch(r.out[0]) && r.out[0].type != 'a' && !r.out[0].wide;
  for (int i = 0; i < def.inputs.count; ++i)
    r.elementwise &=
        batch(r.in[i]) && r.in[i].type == 'v' && !r.in[i].wide && !r.in[i].type_slot && !def.inputs.item[i].flags;
  for (auto& t : def.types)
    if (t.name == r.types[0]) r.first_type = t.mixing == promotes_to_float ? t.set & kFloat : t.set;
  return r;
}

consteval OpDef define(OpDef def) {
  compile(def);
  return def;
}

}  // namespace oarlock::op
