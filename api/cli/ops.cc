// `oarlock ops`: the op table and who has kernels for what.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <oarlock/base/op.h>
#include <oarlock/base/plugin.h>

#include "api/cli/command.h"

namespace oarlock::cli {

namespace {

std::vector<std::string> names_of(DTypeSet set) {
  std::vector<std::string> names;
  for (int i = 1; i < 64; ++i)
    if (set >> i & 1) names.emplace_back(to_string(DType(i)));
  return names;
}

std::string gradient_of(const OpInfo& op) {
  if (!op.plugin.empty() && op.has_gradient) return op.gradient.substr(0, op.gradient.find('('));
  if (op.has_gradient) return "rule";
  if (!op.no_gradient.empty()) return "none";
  return op.has_decomposition ? "decomposition" : "none";
}

// All dtypes that an op's type variables allow; of an op without variables, those it fixes.
DTypeSet dtypes_of(const OpInfo& op) {
  DTypeSet set = 0;
  for (const OpTypeVar& v : op.types) set |= v.set;
  auto scan = [&](const OpOperand& o) {
    std::string prefix = o.spec.substr(0, o.spec.find('['));
    bool listed = false;
    for (const OpTypeVar& v : op.types) listed |= v.name == (prefix.empty() ? "T" : prefix);
    if (DType fixed = dtype_from(prefix); fixed != DType::none) set |= set_of(fixed);
    else if (!listed) set |= kAny;
  };
  for (const OpOperand& o : op.inputs) scan(o);
  for (const OpOperand& o : op.outputs) scan(o);
  return set;
}

Json json_of(const OpInfo& op) {
  Json kernels = Json::object();
  for (const KernelInfo& k : kernels_of(op.name)) {
    Json masks = Json::array();
    for (DTypeSet m : k.dtypes) masks.push_back(names_of(m));
    kernels[k.plugin].push_back(
        {{"device", k.device_kind}, {"versions", {k.op_min, k.op_max}}, {"priority", k.priority}, {"dtypes", masks}});
  }
  Json attributes = Json::array(), inputs = Json::array(), outputs = Json::array(), types = Json::object();
  for (const OpAttribute& a : op.attributes)
    attributes.push_back({{"name", a.name},
                          {"kind", a.kind},
                          {"required", a.required},
                          {"default", a.default_text},
                          {"since", a.since}});
  for (const OpOperand& o : op.inputs) inputs.push_back({{"name", o.name}, {"shape", o.spec}});
  for (const OpOperand& o : op.outputs) outputs.push_back({{"name", o.name}, {"shape", o.spec}});
  for (const OpTypeVar& t : op.types) types[t.name] = {{"dtypes", names_of(t.set)}, {"mixing", t.mixing}};
  return {{"name", op.name},          {"version", op.version},       {"kind", op.primitive ? "primitive" : "composite"},
          {"plugin", op.plugin},      {"signature", op.signature},   {"dtypes", names_of(dtypes_of(op))},
          {"cases", op.cases.size()}, {"gradient", gradient_of(op)}, {"kernels", kernels},
          {"summary", op.summary},    {"view", op.is_view},          {"reference", op.has_reference},
          {"inputs", inputs},         {"outputs", outputs},          {"types", types},
          {"attributes", attributes}};
}

std::string kind_of(const OpInfo& op) {
  if (!op.plugin.empty()) return op.plugin + "'s";
  return op.primitive ? op.is_view ? "view" : "primitive" : "composite";
}

void run(const std::vector<std::string>& chosen, bool json) {
  plugins();  // loads them, so that their kernels and ops are listed
  std::vector<std::string> names = chosen.empty() ? op_names() : chosen;
  Json list = Json::array();
  Table table({"op", "version", "kind", "gradient", "cases", "kernels of", "summary"});
  int primitives = 0, of_plugins = 0;
  for (const std::string& name : names) {
    const OpInfo& op = op_info(name);
    primitives += op.primitive && op.plugin.empty();
    of_plugins += !op.plugin.empty();
    if (json) {
      list.push_back(json_of(op));
      continue;
    }
    std::vector<std::string> by;
    for (const KernelInfo& k : kernels_of(name))
      if (std::find(by.begin(), by.end(), k.plugin) == by.end()) by.push_back(k.plugin);
    std::string summary = op.summary.substr(0, op.summary.find(". "));  // its first sentence
    if (summary.ends_with('.')) summary.pop_back();
    table.add({op.name, std::to_string(op.version), kind_of(op), gradient_of(op), std::to_string(op.cases.size()),
               fmt::format("{}", fmt::join(by, " ")), summary});
  }
  if (json) return print_json(list);
  table.print();
  fmt::print("ops: {} ops, {} primitive{}\n", names.size(), primitives,
             of_plugins ? fmt::format(", {} defined by plugins", of_plugins) : "");
}

}  // namespace

void add_ops(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("ops", "The ops there are, and which plugins have kernels for them");
  struct Arguments {
    std::vector<std::string> names;
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  command->add_option("OP", a->names, "Only these");
  command->add_flag("--json", a->json, "For machines, with dtypes, shapes and attributes");
  command->callback([a] { run(a->names, a->json); });
}

}  // namespace oarlock::cli
