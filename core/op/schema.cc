// Reading the text of a schema. Everything in it may be hostile; nothing here trusts a length or a character.
#include "core/op/schema.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace oarlock::op {
namespace {

constexpr size_t kMostText = 4096, kMostName = 64;

[[noreturn]] void bad(const std::string& why) { throw std::invalid_argument(why); }
std::string quoted(std::string_view s) {
  return "\"" + std::string(s.substr(0, 80)) + (s.size() > 80 ? "...\"" : "\"");
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
std::vector<std::string_view> words_of(std::string_view s) {
  std::vector<std::string_view> all;
  for (s = trim(s); !s.empty(); s = trim(s)) {
    size_t end = std::min(s.find(' '), s.size());
    all.push_back(s.substr(0, end));
    s.remove_prefix(end);
  }
  return all;
}
// At the commas that stand in no brackets; an empty text has no parts.
std::vector<std::string_view> parts_of(std::string_view s) {
  std::vector<std::string_view> all;
  if (trim(s).empty()) return all;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size()) depth += (s[i] == '(' || s[i] == '[') - (s[i] == ')' || s[i] == ']');
    if (i < s.size() && (s[i] != ',' || depth > 0)) continue;
    all.push_back(trim(s.substr(from, i - from)));
    if (all.back().empty()) bad("there is nothing before or after a comma");
    from = i + 1;
  }
  return all;
}

bool is_keyword(std::string_view s) {
  for (std::string_view word : {"and",    "as",   "assert", "async",  "await",    "break", "class", "continue", "def",
                                "del",    "elif", "else",   "except", "finally",  "for",   "from",  "global",   "if",
                                "import", "in",   "is",     "lambda", "nonlocal", "not",   "or",    "pass",     "raise",
                                "return", "try",  "while",  "with",   "yield",    "none",  "grad"})
    if (s == word) return true;
  return false;
}
// Small letters, digits and _, no digit first: a name in C, C++ and Python.
std::string_view name_of(std::string_view s, const char* what) {
  bool sound = !s.empty() && s.size() <= kMostName && !(s[0] >= '0' && s[0] <= '9') &&
               std::all_of(s.begin(), s.end(),
                           [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  if (!sound) bad(std::string(what) + " is " + quoted(s) + "; a name is of small letters, digits and _");
  if (is_keyword(s) || dtype_from(s) != DType::none)
    bad(std::string(what) + " is " + quoted(s) + ", which means something else. Choose another name");
  return s;
}

// Printable ASCII with each run of spaces one, so that texts compare.
std::string plain_text(oar_str_t s, const char* what) {
  if (!s.data && s.size) bad(std::string(what) + " has " + std::to_string(s.size) + " bytes but a null pointer");
  if (s.size > kMostText) bad(std::string(what) + " has " + std::to_string(s.size) + " bytes, at most 4096 are taken");
  std::string out;
  for (size_t i = 0; i < s.size; ++i) {
    auto c = static_cast<unsigned char>(s.data[i]);
    if (c == '\n' || c == '\t') c = ' ';
    if (c < ' ' || c > '~')
      bad(std::string(what) + " has the byte " + std::to_string(c) + " at " + std::to_string(i) +
          "; it has to be printable ASCII");
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += char(c);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// Takes "( ... )" off the front of s and gives what is inside.
std::string_view in_brackets(std::string_view& s, const char* what) {
  s = trim(s);
  int depth = 0;
  for (size_t i = 0; i < s.size() && s[0] == '('; ++i) {
    depth += (s[i] == '(') - (s[i] == ')');
    if (depth) continue;
    std::string_view inside = s.substr(1, i - 1);
    s = trim(s.substr(i + 1));
    return inside;
  }
  bad(std::string(what) + ": write (...) -> (...), found " + quoted(s));
}
void arrow(std::string_view& s, const char* what) {
  if (!s.starts_with("->")) bad(std::string(what) + ": \"->\" is missing before " + quoted(s));
  s.remove_prefix(2);
}

int64_t whole(std::string_view s) {
  std::string text(s);
  char* end = nullptr;
  errno = 0;
  long long v = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno) bad(quoted(s) + " is no whole number");
  return v;
}
double real_number(std::string_view s) {
  std::string text(s);
  char* end = nullptr;
  double v = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || std::isnan(v)) bad(quoted(s) + " is no number");
  return v;
}

struct Reader {
  SchemaOp& op;

  const char* keep(std::string_view s) { return op.texts.emplace_back(s).c_str(); }

  void check_new(std::string_view name) const {
    for (auto& x : op.inputs)
      if (name == x.name) bad("the name " + quoted(name) + " is there twice");
    for (auto& x : op.outputs)
      if (name == x.name) bad("the name " + quoted(name) + " is there twice");
    for (auto& x : op.attributes)
      if (name == x.name) bad("the name " + quoted(name) + " is there twice");
  }

  void operand(std::string_view left, std::string_view spec, bool is_output) {
    static const std::pair<const char*, int> kWords[] = {{"optional", optional}, {"variadic", variadic},
                                                         {"host", host},         {"mutated", mutated},
                                                         {"constant", constant}, {"hidden", hidden}};
    std::vector<std::string_view> words = words_of(left);
    if (words.empty()) bad("an operand has no name: " + quoted(spec));
    Input x;
    x.name = keep(name_of(words.back(), is_output ? "an output" : "an input"));
    words.pop_back();
    for (std::string_view w : words) {
      int flag = 0;
      for (auto& [text, value] : kWords)
        if (w == text) flag = value;
      if (!flag || (flag == hidden) != is_output)
        bad(quoted(w) + " before " + x.name +
            (is_output ? "; of outputs there is only hidden"
                       : "; there are optional, variadic, host, constant and mutated"));
      x.flags |= flag;
    }
    if ((x.flags & variadic) && (x.flags & (optional | mutated | host)))
      bad(std::string(x.name) + ": a variadic input is nothing else");
    check_new(x.name);
    x.spec = keep(spec);
    auto add = [&](auto& list, int most, const char* what) {
      if (list.count == most) bad("more than " + std::to_string(most) + " " + what);
      list.item[list.count++] = x;
    };
    if (!is_output) return add(op.inputs, int(std::size(op.inputs.item)), "inputs");
    if (!(x.flags & hidden) && op.outputs.count && (op.outputs[op.outputs.count - 1].flags & hidden))
      bad(std::string(x.name) + ": hidden outputs come last");
    add(op.outputs, int(std::size(op.outputs.item)), "outputs");
  }

  void attribute(std::string_view name, std::string_view text) {
    static const std::pair<const char*, AttrKind> kKinds[] = {
        {"flag", AttrKind::flag},   {"integer", AttrKind::integer}, {"real", AttrKind::real},
        {"text", AttrKind::text},   {"choice", AttrKind::text},     {"integers", AttrKind::integers},
        {"reals", AttrKind::reals}, {"dim", AttrKind::dim},         {"dims", AttrKind::dims},
        {"axis", AttrKind::axis},   {"axes", AttrKind::axes},       {"dtype", AttrKind::dtype}};
    Attribute a;
    a.name = keep(name_of(name, "an attribute"));
    check_new(a.name);
    std::vector<std::string_view> words = words_of(text);
    bool known = false;
    for (auto& [kind, value] : kKinds)
      if (!words.empty() && words[0] == kind) known = true, a.kind = value;
    if (!known)
      bad(std::string("attribute ") + a.name + " is of kind " + quoted(words.empty() ? "" : words[0]) +
          "; there are flag, integer, real, text, choice, integers, reals, dim, dims, axis, axes, dtype. An operand "
          "has "
          "its dimensions in [ ]");
    for (size_t i = 1; i < words.size(); i += 2) {
      if (i + 1 == words.size()) bad(std::string("attribute ") + a.name + ": nothing follows " + quoted(words[i]));
      std::string_view value = words[i + 1];
      if (words[i] == ">=") a.low = real_number(value);
      else if (words[i] == "<=") a.high = real_number(value);
      else if (words[i] == "=") default_value(a, value);
      else if (words[i] == "since") {
        int64_t since = whole(value);
        if (since < 1 || since > op.version)
          bad(std::string("attribute ") + a.name + " is since " + std::string(value) + ", the op is of version " +
              std::to_string(op.version));
        a.since = uint16_t(since);
      } else
        bad(std::string("attribute ") + a.name + ": " + quoted(words[i]) +
            "; write kind = default >= low <= high since n");
    }
    if (words[0] == "choice" && !a.s) bad(std::string("attribute ") + a.name + ": write its choices, = first|second");
    if (a.since > 1 && a.need == Attribute::required)
      bad(std::string("attribute ") + a.name + " came later, so it needs a default for older kernels");
    if (op.attributes.count == int(std::size(op.attributes.item)))
      bad("more than " + std::to_string(std::size(op.attributes.item)) + " attributes");
    op.attributes.item[op.attributes.count++] = a;
  }

  void default_value(Attribute& a, std::string_view value) {
    if (value == "none") return void(a.need = Attribute::may_be_none);
    a.need = Attribute::defaulted;
    switch (a.kind) {
      case AttrKind::flag:
        if (value != "true" && value != "false")
          bad(std::string("attribute ") + a.name + ": true or false, not " + quoted(value));
        a.i = value == "true";
        break;
      case AttrKind::integer:
      case AttrKind::integers:
      case AttrKind::dim:
      case AttrKind::axis: a.i = whole(value); break;
      case AttrKind::real: a.f = real_number(value); break;
      case AttrKind::dtype:
        a.i = int64_t(dtype_from(value));
        if (!a.i) bad(std::string("attribute ") + a.name + ": " + quoted(value) + " is no dtype");
        break;
      case AttrKind::text:
        if (value.front() == '|' || value.back() == '|' || value.find("||") != value.npos)
          bad(std::string("attribute ") + a.name + ": an empty choice in " + quoted(value));
        a.s = keep(value);
        break;
      default: bad(std::string("attribute ") + a.name + ": a list is required or may be none, it has no other default");
    }
    if (a.kind == AttrKind::dim && a.i < 0) bad(std::string("attribute ") + a.name + ": a size is not negative");
  }

  void where(std::string_view text) {
    static const std::pair<const char*, DTypeSet> kSets[] = {
        {"float", kFloat}, {"int", kInt}, {"bool", kBool}, {"numeric", kNumeric}, {"any", kAny}};
    for (std::string_view part : parts_of(text)) {
      size_t colon = part.find(':');
      if (colon == part.npos) bad("where: write T: f32 f64, found " + quoted(part));
      TypeVar v;
      std::string_view name = trim(part.substr(0, colon));
      if (name.empty() || name.size() > kMostName || name[0] < 'A' || name[0] > 'Z')
        bad("where: " + quoted(name) + " is no type variable; those begin with a capital");
      v.name = keep(name);
      v.set = 0;
      for (std::string_view w : words_of(part.substr(colon + 1))) {
        DTypeSet set = set_of(dtype_from(w)) & ~DTypeSet(1);
        for (auto& [word, value] : kSets)
          if (w == word) set = value;
        if (w == "promotes") v.mixing = promotes;
        else if (w == "promotes_to_float") v.mixing = promotes_to_float;
        else if (!set) bad("where: " + quoted(w) + " is neither a dtype nor a set of them");
        v.set |= set;
      }
      if (!v.set) bad(std::string("where: no dtype is left for ") + v.name);
      if (op.types.count == int(std::size(op.types.item))) bad("more than 4 type variables");
      op.types.item[op.types.count++] = v;
    }
  }

  void signature(std::string_view s) {
    std::string_view in = in_brackets(s, "signature");
    arrow(s, "signature");
    std::string_view out = in_brackets(s, "signature");
    if (!s.empty() && !s.starts_with("where ")) bad("signature: only \"where\" follows the outputs, not " + quoted(s));
    for (bool is_output : {false, true})
      for (std::string_view part : parts_of(is_output ? out : in)) {
        size_t colon = part.find(':');
        if (colon == part.npos) bad("signature: write name: what it is, found " + quoted(part));
        std::string_view left = trim(part.substr(0, colon)), right = trim(part.substr(colon + 1));
        if (right.find('[') != right.npos) operand(left, right, is_output);
        else if (is_output) bad("signature: an output has its dimensions in [ ], found " + quoted(part));
        else attribute(left, right);
      }
    if (!s.empty()) where(s.substr(6));
    bool writes = std::any_of(op.inputs.begin(), op.inputs.end(), [](auto& x) { return x.flags & mutated; });
    if (!op.outputs.count && !writes) bad("signature: it gives nothing and writes to nothing");
    if (op.outputs.count && (op.outputs[0].flags & hidden)) bad("signature: every output is hidden");
  }

  int place(const auto& list, std::string_view name) const {
    for (int i = 0; i < list.count; ++i)
      if (name == list[i].name) return i;
    return -1;
  }

  // "acme.swish_gradient(x, grad y) -> (grad x)"
  void gradient(std::string_view s) {
    size_t open = std::min(s.find('('), s.size());
    GradientMap& m = op.map;
    m.name = std::string(trim(s.substr(0, open)));
    s.remove_prefix(open);
    if (m.name.empty()) bad("gradient: write the gradient op's name and (...) -> (...)");
    for (auto& x : op.inputs)
      if (x.flags & variadic) bad("gradient: an op with a variadic input can't have one");
    std::string_view in = in_brackets(s, "gradient");
    arrow(s, "gradient");
    std::string_view out = in_brackets(s, "gradient");
    if (!s.empty()) bad("gradient: nothing follows the results, found " + quoted(s));
    for (std::string_view part : parts_of(in)) {
      std::vector<std::string_view> words = words_of(part);
      bool grad = words.size() == 2 && words[0] == "grad";
      int i = place(op.inputs, words.back()), o = place(op.outputs, words.back());
      if ((words.size() != 1 && !grad) || (grad ? o < 0 : i < 0 && o < 0))
        bad("gradient: " + quoted(part) + " is neither an input, an output nor grad of an output");
      if (grad) m.arguments.push_back({GradientMap::gradient, o});
      else m.arguments.push_back({i >= 0 ? GradientMap::input : GradientMap::output, i >= 0 ? i : o});
    }
    for (std::string_view part : parts_of(out)) {
      std::vector<std::string_view> words = words_of(part);
      int i = words.size() == 2 && words[0] == "grad" ? place(op.inputs, words[1]) : -1;
      if (part != "_" && i < 0) bad("gradient: its result " + quoted(part) + " is neither grad of an input nor _");
      if (i >= 0 && (op.inputs[i].flags & (host | constant | mutated)))
        bad(std::string("gradient: ") + op.inputs[i].name + " is host, constant or mutated and gets none");
      if (i >= 0 && std::count(m.results.begin(), m.results.end(), i))
        bad(std::string("gradient: two results are grad of ") + op.inputs[i].name);
      m.results.push_back(i);
    }
    if (std::all_of(m.results.begin(), m.results.end(), [](int i) { return i < 0; }))
      bad("gradient: no result is the gradient of an input");
    for (auto& a : m.arguments) {
      if (a.kind == GradientMap::gradient) continue;
      const char* name = a.kind == GradientMap::input ? op.inputs[a.index].name : op.outputs[a.index].name;
      if (place(op.saves, name) >= 0) continue;
      if (op.saves.count == int(std::size(op.saves.item))) bad("gradient: more than 6 values are kept for it");
      op.saves.item[op.saves.count++] = {name, nullptr};
    }
    // What no result is the gradient of never gets one.
    for (int i = 0; i < op.inputs.count; ++i)
      if (!std::count(m.results.begin(), m.results.end(), i)) op.inputs.item[i].flags |= constant;
  }
};

void op_name(std::string_view s) {
  size_t dot = s.find('.');
  if (dot == s.npos || s.find('.', dot + 1) != s.npos || s.size() > kMostName)
    bad("an op of a plugin is called vendor.name, not " + quoted(s));
  name_of(s.substr(0, dot), "the vendor");
  name_of(s.substr(dot + 1), "the op");
}

bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
    if (more > 3 || (c < ' ' && c != '\n') || i + more >= s.size()) return false;
    for (size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xc0) != 0x80) return false;
    i += more + 1;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<SchemaOp>> read_schema(const oar_op_schema_t* schema) {
  if (!schema) return invalid("op_register: the schema is a null pointer.");
  if (!OAR_HAS(schema, signature) || schema->struct_size > 4096)
    return invalid("op_register: the schema's struct_size is " + std::to_string(schema->struct_size) +
                   "; it has to be sizeof the struct.");
  auto op = std::make_unique<SchemaOp>();
  std::string name = "op_register";
  try {
    std::string given = plain_text(schema->name, "the name");
    op_name(given);
    name = given;
    Reader reader{*op};
    op->name = reader.keep(name);
    if (schema->version < 1 || schema->version > 0xffff)
      bad("its version is " + std::to_string(schema->version) + "; versions count from 1");
    op->version = uint16_t(schema->version);
    op->signature = plain_text(schema->signature, "the signature");
    reader.signature(op->signature);
    if (OAR_HAS(schema, gradient)) op->gradient_text = plain_text(schema->gradient, "the gradient");
    if (op->gradient_text.empty()) op->no_gradient = "its plugin gives none";
    else reader.gradient(op->gradient_text);
    std::string_view summary;
    if (OAR_HAS(schema, summary) && schema->summary.size) {
      if (!schema->summary.data || schema->summary.size > kMostText) bad("the summary is a null pointer or too long");
      summary = {schema->summary.data, schema->summary.size};
      if (!is_utf8(summary)) bad("the summary is not UTF-8");
    }
    op->summary = reader.keep(summary);
    op->source = "its plugin's documentation";
    op->plugin = "";  // register_schema says which
    if (OAR_HAS(schema, infer)) op->infer_callback = schema->infer;
  } catch (const std::invalid_argument& e) { return invalid(name + ": " + e.what() + "."); }
  return op;
}

}  // namespace oarlock::op
