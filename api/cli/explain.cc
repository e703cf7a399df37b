// `oarlock explain OP ARG...`: which kernel a call would take, and why the others refused.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include <oarlock/base/op.h>

#include "api/cli/command.h"

namespace oarlock::cli {

namespace {

std::vector<int64_t> integers_of(std::string text, const std::string& what) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '[' || c == ']' || c == ' '; }),
             text.end());
  std::vector<int64_t> list;
  for (size_t from = 0; from < text.size();) {
    size_t end = std::min(text.find(',', from), text.size()), used = 0;
    std::string one = text.substr(from, end - from);
    try {
      list.push_back(std::stoll(one, &used));
    } catch (const std::exception&) {}
    if (used != one.size() || one.empty())
      throw std::runtime_error(fmt::format("{}: '{}' is no whole number.", what, one));
    from = end + 1;
  }
  return list;
}

// "f32[64, 784]", "f32[64,784]@sim:0", "f32" (rank 0), "none" (absent).
Tensor operand_of(const std::string& text) {
  if (text == "none") return {};
  size_t open = text.find('['), close = text.find(']'), at = text.find('@');
  std::string dtype_text = text.substr(0, std::min(open, at));
  DType dtype = dtype_from(dtype_text);
  if (dtype == DType::none)
    throw std::runtime_error(
        fmt::format("{}: '{}' is no dtype; write an operand as f32[64,784] or f32[64,784]@sim:0.", text, dtype_text));
  if (open != std::string::npos &&
      (close == std::string::npos || close < open || (close + 1 != text.size() && close + 1 != at)))
    throw std::runtime_error(fmt::format("{}: write an operand as f32[64,784] or f32[64,784]@sim:0.", text));
  std::vector<int64_t> sizes;
  if (open != std::string::npos) sizes = integers_of(text.substr(open + 1, close - open - 1), text);
  for (int64_t n : sizes)
    if (n < 0) throw std::runtime_error(fmt::format("{}: a size is negative ({}).", text, n));
  if (sizes.size() > size_t(kMaxRank))
    throw std::runtime_error(fmt::format("{}: rank {} is above {}.", text, sizes.size(), kMaxRank));
  Device device;
  if (at != std::string::npos) device = Device(text.substr(at + 1));
  return Tensor::empty(Shape(sizes), dtype, device);
}

// Attributes in schema order, with room for what lists and texts point to.
struct Attributes {
  std::vector<oar_attr_t> wire;
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<std::unique_ptr<std::vector<int64_t>>> lists;
  std::vector<std::unique_ptr<std::vector<double>>> reals;
};

void set_attribute(const OpInfo& op, const std::string& word, Attributes& a, std::vector<bool>& given) {
  size_t equal = word.find('=');
  std::string name = word.substr(0, equal), text = equal == std::string::npos ? "true" : word.substr(equal + 1);
  size_t i = 0;
  while (i < op.attributes.size() && op.attributes[i].name != name) ++i;
  if (i == op.attributes.size()) {
    std::string names;
    for (const OpAttribute& x : op.attributes) names += (names.empty() ? "" : ", ") + x.name;
    throw std::runtime_error(
        fmt::format("{}: there is no attribute '{}'; it has {}.", op.name, name, names.empty() ? "none" : names));
  }
  const std::string& kind = op.attributes[i].kind;
  oar_attr_t& v = a.wire[i];
  v = {0, 1, 1, {.i = 0}};
  given[i] = true;
  std::string what = op.name + ": " + name;
  if (kind == "flag") {
    v.type = OAR_ATTR_BOOL;
    if (text != "true" && text != "false" && text != "1" && text != "0")
      throw std::runtime_error(what + " is a flag: true or false.");
    v.value.i = text == "true" || text == "1";
  } else if (kind == "real") {
    v.type = OAR_ATTR_FLOAT;
    size_t used = 0;
    try {
      v.value.f = std::stod(text, &used);
    } catch (const std::exception&) {}
    if (used != text.size() || text.empty())
      throw std::runtime_error(fmt::format("{}: '{}' is no number.", what, text));
  } else if (kind == "choice" || kind == "text") {
    v.type = OAR_ATTR_STRING;
    a.texts.push_back(std::make_unique<std::string>(text));
    v.value.str = a.texts.back()->data();
    v.count = text.size();
  } else if (kind == "dtype") {
    v.type = OAR_ATTR_DTYPE;
    DType t = dtype_from(text);
    if (t == DType::none) throw std::runtime_error(fmt::format("{}: '{}' is no dtype.", what, text));
    v.value.i = int64_t(t);
  } else if (kind == "integer" || kind == "dim" || kind == "axis") {
    v.type = OAR_ATTR_INT;
    auto list = integers_of(text, what);
    if (list.size() != 1) throw std::runtime_error(fmt::format("{}: '{}' is not one whole number.", what, text));
    v.value.i = list[0];
  } else if (kind == "reals") {
    v.type = OAR_ATTR_FLOATS;
    a.reals.push_back(std::make_unique<std::vector<double>>());
    for (int64_t n : integers_of(text, what)) a.reals.back()->push_back(double(n));
    v.value.floats = a.reals.back()->data();
    v.count = a.reals.back()->size();
  } else {
    v.type = OAR_ATTR_INTS;
    a.lists.push_back(std::make_unique<std::vector<int64_t>>(integers_of(text, what)));
    v.value.ints = a.lists.back()->data();
    v.count = a.lists.back()->size();
  }
}

uint32_t wire_type(const std::string& kind) {
  if (kind == "flag") return OAR_ATTR_BOOL;
  if (kind == "real") return OAR_ATTR_FLOAT;
  if (kind == "choice" || kind == "text") return OAR_ATTR_STRING;
  if (kind == "dtype") return OAR_ATTR_DTYPE;
  if (kind == "reals") return OAR_ATTR_FLOATS;
  return kind == "integer" || kind == "dim" || kind == "axis" ? OAR_ATTR_INT : OAR_ATTR_INTS;
}

void run(const std::string& name, const std::vector<std::string>& arguments, const std::vector<std::string>& attributes,
         bool json, int& out_exit) {
  const OpInfo& op = op_info(name);
  std::vector<Tensor> inputs;
  for (const std::string& text : arguments) inputs.push_back(operand_of(text));
  Attributes a;
  std::vector<bool> given(op.attributes.size(), false);
  for (const OpAttribute& info : op.attributes)
    a.wire.push_back(info.default_value.is_set ? info.default_value : oar_attr_t{wire_type(info.kind), 0, 0, {.i = 0}});
  for (const std::string& word : attributes) set_attribute(op, word, a, given);
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i] && op.attributes[i].required)
      throw std::runtime_error(
          fmt::format("{}: {} is required; add --attr {}=...", op.name, op.attributes[i].name, op.attributes[i].name));
  Inferred out = infer_op(name, inputs, a.wire);  // a wrong call is told apart from one that nobody takes
  std::vector<Candidate> candidates = explain(name, inputs, a.wire);
  bool taken = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.chosen; });
  out_exit = taken ? 0 : 1;

  std::string call = name + "(";
  for (const std::string& text : arguments) call += (call.back() == '(' ? "" : ", ") + text;
  call += ")";
  std::string result;
  for (size_t i = 0; i < out.shapes.size(); ++i)
    result += fmt::format("{}{}{}", result.empty() ? "" : ", ", to_string(out.dtypes[i]), to_string(out.shapes[i]));
  if (json) {
    Json list = Json::array();
    for (const Candidate& c : candidates)
      list.push_back({{"plugin", c.plugin},
                      {"kernel", c.kernel},
                      {"priority", c.priority},
                      {"chosen", c.chosen},
                      {"reason", c.reason}});
    return print_json({{"call", call}, {"result", result}, {"candidates", list}});
  }
  fmt::print("{} -> {}\n", call, result);
  Table table({"  who", "kernel", "priority", "answer"});
  for (const Candidate& c : candidates)
    table.add({(c.chosen ? "* " : "  ") + c.plugin, c.kernel, std::to_string(c.priority),
               c.chosen           ? "takes it"
               : c.reason.empty() ? "would take it"
                                  : c.reason});
  table.print();
  if (!taken) fmt::print("nobody takes this call\n");
}

}  // namespace

void add_explain(CLI::App& app, int& out_exit) {
  CLI::App* command =
      app.add_subcommand("explain", "Which kernel a call would take, and why the others refused; nothing runs");
  struct Arguments {
    std::string op;
    std::vector<std::string> operands, attributes;
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  command->add_option("OP", a->op, "An op, as `oarlock ops` lists them")->required();
  // Unlimited and plain text: CLI11 would otherwise take "f32[2,3]" for a list of its own.
  command->add_option("ARG", a->operands, "Operands: f32[64,784], f32[64,784]@sim:0, f32[] (one number), none (absent)")
      ->expected(-1);
  command->add_option("--attr", a->attributes, "name=value, any number of times; lists as 1,2")
      ->take_all()
      ->expected(1);
  command->add_flag("--json", a->json, "For machines");
  command->callback([a, &out_exit] { run(a->op, a->operands, a->attributes, a->json, out_exit); });
}

}  // namespace oarlock::cli
