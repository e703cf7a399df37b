// `oarlock advise PROGRAM PLUGIN`: the kernels to write next.
#include <fmt/format.h>

#include "api/cli/command.h"
#include "api/cts/advise.h"

namespace oarlock::cli {

namespace {

struct Arguments {
  cts::Program program;
  std::string plugin;
  std::vector<std::string> beside;
  bool json = false;
  size_t most = 20;
};

Json json_of(const cts::Advice& a, double total) {
  return {{"op", a.op},
          {"dtypes", a.dtypes},
          {"device", a.device},
          {"via", a.via},
          {"reason", a.reason},
          {"calls", a.calls},
          {"seconds", a.seconds},
          {"share", total > 0 ? a.seconds / total : 0},
          {"examples", a.examples},
          {"parts", a.parts}};
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

void print(const cts::Advised& r, size_t most) {
  fmt::print("{:.3f} s from the first op to the end, {:.3f} s of them in ops, {:.3f} s in kernels of {}\n", r.seconds,
             r.in_ops, r.in_kernels, r.plugin);
  if (!r.ended.empty()) fmt::print("the program did not end well: {}\n", r.ended);
  if (r.advice.empty()) return fmt::print("\nevery call was taken by a kernel of {}\n", r.plugin);
  fmt::print("\nKernels to write next\n");
  Table table({"", "op", "of", "on", "via", "calls", "seconds", "share", "why"});
  for (size_t i = 0; i < r.advice.size() && i < most; ++i) {
    const cts::Advice& a = r.advice[i];
    table.add({std::to_string(i + 1), a.op, a.dtypes, a.device, a.via, std::to_string(a.calls),
               fmt::format("{:.4f}", a.seconds),
               fmt::format("{:.1f} %", r.seconds > 0 ? 100 * a.seconds / r.seconds : 0), a.reason});
  }
  table.print();
  if (r.advice.size() > most) fmt::print("and {} more (--most)\n", r.advice.size() - most);
  fmt::print("\n");
  for (size_t i = 0; i < r.advice.size() && i < most; ++i) {
    const cts::Advice& a = r.advice[i];
    fmt::print("{}. {}\n", i + 1, a.op);
    for (const std::string& example : a.examples) fmt::print("     {}({})\n", a.op, example);
    if (!a.parts.empty()) fmt::print("     its steps have no kernel either: {}\n", joined(a.parts));
  }
  if (r.recorded.empty()) return;
  std::vector<std::string> names;
  double seconds = 0;
  for (const cts::Advice& a : r.recorded) names.push_back(a.op), seconds += a.seconds;
  fmt::print(
      "\n{:.4f} s in ops that are taken apart because gradients are recorded and they have no rule of their own; a "
      "kernel would not be "
      "asked: {}\n",
      seconds, joined(names));
}

void run(Arguments& a, int& out_exit) {
  a.program.plugins = {plugin_file(a.plugin)};
  for (const std::string& more : a.beside) a.program.plugins.push_back(plugin_file(more));
  cts::Advised r = cts::advise(a.program);
  out_exit = r.ended.empty() ? 0 : 1;
  if (!a.json) return print(r, a.most);
  Json advice = Json::array(), recorded = Json::array();
  for (const cts::Advice& x : r.advice) advice.push_back(json_of(x, r.seconds));
  for (const cts::Advice& x : r.recorded) recorded.push_back(json_of(x, r.seconds));
  print_json({{"plugin", r.plugin},
              {"seconds", r.seconds},
              {"in_ops", r.in_ops},
              {"in_kernels", r.in_kernels},
              {"ended", r.ended},
              {"advice", advice},
              {"recorded", recorded}});
}

}  // namespace

void add_advise(CLI::App& app, int& out_exit) {
  CLI::App* command = app.add_subcommand(
      "advise", "Runs a program with a plugin and names the kernels to write next, by the time lost without them");
  command->footer(
      "Only this plugin is loaded, so that nothing of others hides what it lacks; --beside adds some.\n"
      "Ops are timed one by one, their device waited for: the program runs slower than usual.\n"
      "seconds are the most that a kernel could save.");
  auto a = std::make_shared<Arguments>();
  command->add_option("PROGRAM", a->program.file, "A program, or a script *.py; it is run without a shell")->required();
  command->add_option("PLUGIN", a->plugin, "A path, or the name of one on the search path")->required();
  command->add_option("ARG", a->program.arguments, "The program's own arguments, after --")->expected(-1);
  command->add_option("--beside", a->beside, "Plugins that are loaded as well")->take_all()->expected(1);
  command->add_option("--python", a->program.python, "What runs a script")->capture_default_str();
  command->add_option("--most", a->most, "How many to print")->capture_default_str();
  command->add_flag("--json", a->json, "For machines");
  command->callback([a, &out_exit] { run(*a, out_exit); });
}

}  // namespace oarlock::cli
