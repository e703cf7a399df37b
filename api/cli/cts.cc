// `oarlock cts PLUGIN`: the conformance kit.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include <oarlock/base/op.h>

#include "api/cli/command.h"
#include "api/cts/cts.h"
#include "api/cts/html.h"

namespace oarlock::cli {

namespace {

const char* text(cts::Outcome outcome) {
  return outcome == cts::Outcome::passed ? "passed" : outcome == cts::Outcome::failed ? "failed" : "skipped";
}

std::string last_line(const cts::Report& r) {
  int passed = r.count(cts::Outcome::passed), failed = r.count(cts::Outcome::failed),
      skipped = r.count(cts::Outcome::skipped);
  return fmt::format("cts {}: {} of {} pass, {} excluded", r.plugin, passed, passed + failed, skipped);
}

Json json_of(const cts::Report& r) {
  Json rows = Json::array();
  for (const cts::Row& row : r.rows)
    rows.push_back({{"level", row.level},
                    {"name", row.name},
                    {"outcome", text(row.outcome)},
                    {"reason", row.reason},
                    {"seconds", row.seconds},
                    {"numbers", row.numbers},
                    {"note", row.note}});
  return {{"plugin", r.plugin},
          {"passed", r.count(cts::Outcome::passed)},
          {"failed", r.count(cts::Outcome::failed)},
          {"excluded", r.count(cts::Outcome::skipped)},
          {"tests", rows}};
}

void print_performance(const cts::Report& r) {
  Table figures({"P", "measured", "", "beside it", ""});
  for (const cts::Row& row : r.rows) {
    auto value = row.numbers.find("value"), beside = row.numbers.find("beside");
    if (row.level != "P" || row.outcome != cts::Outcome::passed || value == row.numbers.end()) continue;
    size_t cut = row.note.find("; ");
    figures.add({row.name, fmt::format("{:.4g}", value->second), row.note.substr(0, cut),
                 beside == row.numbers.end() ? "" : fmt::format("{:.4g}", beside->second),
                 cut == row.note.npos ? "" : row.note.substr(cut + 2)});
  }
  if (!figures.empty()) {
    fmt::print("\n");
    figures.print();
  }
}

void print(const cts::Report& r, bool verbose) {
  Table levels({"level", "passed", "failed", "skipped", "seconds"});
  for (const char* level : {"L0", "L1", "L2", "L3", "M", "P"}) {
    double seconds = 0;
    for (const cts::Row& row : r.rows) seconds += row.level == level ? row.seconds : 0;
    int p = r.count(cts::Outcome::passed, level), f = r.count(cts::Outcome::failed, level),
        s = r.count(cts::Outcome::skipped, level);
    if (p + f + s > 0)
      levels.add({level, std::to_string(p), std::to_string(f), std::to_string(s), fmt::format("{:.1f}", seconds)});
  }
  levels.print();
  print_performance(r);
  std::map<std::string, std::vector<std::string>> reasons;
  for (const cts::Row& row : r.rows)
    if (row.outcome == cts::Outcome::skipped) reasons[row.reason].push_back(row.level + " " + row.name);
  if (!reasons.empty()) fmt::print("\nSkipped\n");
  std::vector<std::pair<std::string, std::vector<std::string>>> groups(reasons.begin(), reasons.end());
  std::stable_sort(groups.begin(), groups.end(), [](auto& a, auto& b) { return a.second.size() > b.second.size(); });
  size_t shown_groups = verbose ? groups.size() : std::min<size_t>(groups.size(), 12);
  for (size_t g = 0; g < shown_groups; ++g) {
    auto& [reason, names] = groups[g];
    std::string shown;
    size_t most = verbose ? names.size() : 3;
    for (size_t i = 0; i < names.size() && i < most; ++i) shown += (i ? ", " : "") + names[i];
    if (names.size() > most) shown += fmt::format(" and {} more", names.size() - most);
    fmt::print("  {}: {}\n", reason, shown);
  }
  if (groups.size() > shown_groups) fmt::print("  and {} more reasons (--verbose)\n", groups.size() - shown_groups);
  if (r.count(cts::Outcome::failed)) fmt::print("\nFailed\n");
  for (const cts::Row& row : r.rows)
    if (row.outcome == cts::Outcome::failed) fmt::print("  {} {}: {}\n", row.level, row.name, row.reason);
  fmt::print("\n");
}

struct Arguments {
  cts::Options options;
  std::string json_file, html_file;
  bool json = false, verbose = false;
  int child = -1, from = 0;
};

// What the plugin defines is learnt in a process of its own: it may crash or hang. A wrong name of an op is told before
// anything starts.
void split_own_ops(cts::Options& o) {
  bool level2 = o.levels.empty() || std::find(o.levels.begin(), o.levels.end(), "L2") != o.levels.end();
  std::vector<std::string> own, ours;
  if (level2 && o.plugin != "host") own = probe_plugin(o.plugin, 5'000).ops;
  if (o.ops.empty()) return void(o.own = std::move(own));
  for (const std::string& op : o.ops)
    if (std::find(own.begin(), own.end(), op) != own.end()) {
      o.own.push_back(op);
    } else {
      op_info(op);
      ours.push_back(op);
    }
  o.own_only = ours.empty();
  o.ops = std::move(ours);
}

void run(Arguments a, int& out_exit) {
  if (a.child >= 0) {
    out_exit = cts::run_child(a.options, a.child, a.from);
    return;
  }
  if (a.options.plugin != "host") a.options.plugin = plugin_file(a.options.plugin);
  split_own_ops(a.options);
  if (!a.html_file.empty() && a.options.levels.empty()) {
    a.options.levels = {"L0", "L1", "L2", "L3", "P"};
    if (a.options.mutate) a.options.levels.push_back("M");
  }
  bool watched = !a.json && ::isatty(2);
  int done = 0;
  cts::Report report =
      cts::run(a.options, std::filesystem::read_symlink("/proc/self/exe").string(), [&](const cts::Row& row) {
        if (watched) fmt::print(stderr, "\r\033[K{} {} {}", ++done, row.level, row.name.substr(0, 60));
      });
  if (watched) fmt::print(stderr, "\r\033[K");
  out_exit = report.count(cts::Outcome::failed) == 0 && report.count(cts::Outcome::passed) > 0 ? 0 : 1;
  if (!a.json_file.empty()) {
    std::ofstream file(a.json_file);
    file << json_of(report).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    if (!file.flush()) throw std::runtime_error(a.json_file + ": can't be written.");
  }
  if (!a.html_file.empty()) {
    std::ofstream file(a.html_file);
    file << cts::html_of(report);
    if (!file.flush()) throw std::runtime_error(a.html_file + ": can't be written.");
  }
  if (a.json) return print_json(json_of(report));
  print(report, a.verbose);
  fmt::print("{}\n", last_line(report));
}

}  // namespace

void add_cts(CLI::App& app, int& out_exit) {
  CLI::App* command =
      app.add_subcommand("cts", "The conformance kit: does a plugin do what it must; exit code 1 if not");
  command->footer(
      "Levels: L0 file, negotiation, sizes, faults. L1 memory, copies, events, order, threads. L2 every op and dtype "
      "against\n"
      "the reference, gradients too. L3 graphs: claims, compiled programs, blobs. M (--mutate) spoils outputs on "
      "purpose: L2 must notice.\n"
      "P (--level P, and with --html) measures launches, copies, matrix products and convolutions.\n"
      "A crash or a hang fails the test that it happens in; the rest goes on in another process.");
  auto a = std::make_shared<Arguments>();
  command
      ->add_option("PLUGIN", a->options.plugin,
                   "A path, the name of a plugin on the search path, or host (references and decompositions only)")
      ->required();
  command->add_option("--level", a->options.levels, "Only these: L0 L1 L2 L3 M P")
      ->check(CLI::IsMember({"L0", "L1", "L2", "L3", "M", "P"}))
      ->take_all()
      ->delimiter(',');
  command->add_option("--ops", a->options.ops, "Only these ops in L2 and M")->take_all()->delimiter(',');
  command->add_option("--cases", a->options.cases, "Random calls per op and dtype")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", a->options.seed, "The same seed makes the same calls")->capture_default_str();
  command->add_flag("--mutate", a->options.mutate, "Also shows that L2 can fail, op by op");
  command->add_option("--timeout", a->options.timeout_ms, "Milliseconds for one test until it counts as hung")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--json", a->json_file,
                   "Writes the results to a file for machines; without a file name, prints them")
      ->expected(0, 1)
      ->default_str("");
  command->add_option(
      "--html", a->html_file,
      "Writes a page with the coverage by op and dtype, what failed, what was refused, and the figures of P");
  command->add_flag("--verbose", a->verbose, "Names every skipped test");
  command->add_option("--own", a->options.own)->group("");
  command->add_flag("--own-only", a->options.own_only)->group("");
  command->add_option("--child", a->child)->group("");
  command->add_option("--from", a->from)->group("");
  command->callback([a, command, &out_exit] {
    a->json = command->count("--json") > 0 && a->json_file.empty();
    run(*a, out_exit);
  });
}

}  // namespace oarlock::cli
