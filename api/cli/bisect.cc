// `oarlock bisect PROGRAM PLUGIN`: the first call whose kernel is wrong, as a small C program.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <oarlock/base/settings.h>

#include "api/cli/command.h"
#include "api/cts/bisect.h"
#include "api/cts/trial.h"

namespace oarlock::cli {

namespace {

struct Arguments {
  cts::BisectOptions options;
  std::string plugin, out, serve;
  std::vector<std::string> beside;
  bool json = false;
};

bool is_capture(const std::string& path) {
  std::ifstream file(path);
  char head[7] = {};
  return file.read(head, 6) && std::string_view(head) == "{\"op\":";
}

void print(const cts::Bisected& r, const std::string& out) {
  for (const std::string& text : r.unjudged) fmt::print("not judged: {}\n", text);
  if (!r.ended.empty()) fmt::print("the program did not end well: {}\n", r.ended);
  if (!r.found) {
    if (r.looked_at == 0) fmt::print("no call was taken by a kernel of {}\n", r.plugin);
    else fmt::print("bisect {}: {} calls looked at, no difference\n", r.plugin, r.looked_at);
    return;
  }
  fmt::print("call {} differs: {}\n  {}\n", r.found->number, r.found->call, r.found->wrong);
  if (r.found->alone)
    fmt::print("smallest, after {} tries: {}\n  {}\n", r.found->tried, r.found->small, r.found->small_wrong);
  else fmt::print("not shrunk: {}\n", r.found->note);
  fmt::print("bisect {}: {} calls looked at, 1 difference; written to {}\n", r.plugin, r.looked_at, out);
}

void run(Arguments& a, int& out_exit) {
  if (!a.serve.empty()) {
    out_exit = cts::serve_calls(a.serve);
    return;
  }
  if (a.plugin.empty()) throw std::runtime_error("bisect: name a program or a capture, and a plugin.");
  a.options.plugin = plugin_file(a.plugin);
  throw_if(set_setting("backends", ""));  // from here on the core alone says what is right
  if (is_capture(a.options.program.file)) a.options.capture = a.options.program.file;
  a.options.program.plugins = {a.options.plugin};
  for (const std::string& more : a.beside) a.options.program.plugins.push_back(plugin_file(more));
  bool watched = !a.json && ::isatty(2);
  cts::Bisected r = cts::bisect(a.options, std::filesystem::read_symlink("/proc/self/exe").string(),
                                [&](int n, const std::string& call) {
                                  if (watched) fmt::print(stderr, "\r\033[K{} {}", n, call.substr(0, 70));
                                });
  if (watched) fmt::print(stderr, "\r\033[K");
  out_exit = r.found ? 1 : r.looked_at && r.ended.empty() ? 0 : 2;
  if (r.found) {
    if (a.out.empty()) a.out = r.plugin + "_case.c";
    std::ofstream file(a.out);
    file << r.found->c_file;
    if (!file.flush()) throw std::runtime_error(a.out + ": can't be written.");
  }
  if (!a.json) return print(r, a.out);
  Json found = nullptr;
  if (r.found)
    found = {{"number", r.found->number},
             {"call", r.found->call},
             {"wrong", r.found->wrong},
             {"small", r.found->small},
             {"small_wrong", r.found->small_wrong},
             {"alone", r.found->alone},
             {"note", r.found->note},
             {"tried", r.found->tried},
             {"file", a.out}};
  print_json({{"plugin", r.plugin},
              {"looked_at", r.looked_at},
              {"unjudged", r.unjudged},
              {"ended", r.ended},
              {"found", found}});
}

}  // namespace

void add_bisect(CLI::App& app, int& out_exit) {
  CLI::App* command = app.add_subcommand(
      "bisect",
      "Finds the first call of a program that a plugin's kernel gets wrong, and writes it as a small C program");
  command->footer(
      "Every call that a kernel of the plugin takes is computed again by the reference on the host and compared by the "
      "kit's\n"
      "tolerance. The first that differs is made smaller for as long as it differs, in a process of its own.\n"
      "Exit code: 0 no difference, 1 a difference was found, 2 nothing was compared or the program ended badly.");
  auto a = std::make_shared<Arguments>();
  command->add_option("PROGRAM", a->options.program.file,
                      "A program, a script *.py, or a file that the setting `capture` wrote");
  command->add_option("PLUGIN", a->plugin, "A path, or the name of one on the search path");
  command->add_option("ARG", a->options.program.arguments, "The program's own arguments, after --")->expected(-1);
  command->add_option("--out", a->out, "The C file; default: PLUGIN_case.c here");
  command->add_option("--ops", a->options.ops, "Only calls of these ops")->take_all()->delimiter(',');
  command->add_option("--calls", a->options.calls, "How many calls of one signature are looked at; 0: all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seconds", a->options.shrink_seconds, "How long to shrink")->capture_default_str();
  command->add_option("--beside", a->beside, "Plugins that are loaded as well")->take_all()->expected(1);
  command->add_option("--python", a->options.program.python, "What runs a script")->capture_default_str();
  command->add_flag("--json", a->json, "For machines");
  command->add_option("--serve", a->serve)->group("");
  command->callback([a, &out_exit] { run(*a, out_exit); });
}

}  // namespace oarlock::cli
