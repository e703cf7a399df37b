// `oarlock replay LOG PLUGIN`: a recorded stream of calls against a plugin, without model or application.
#include <filesystem>

#include <fmt/format.h>

#include <oarlock/base/replay.h>

#include "api/cli/command.h"

namespace oarlock::cli {

namespace {
void run(const std::string& log, const std::string& plugin, uint64_t seed, bool json, int& out_exit) {
  ReplayOptions options;
  options.seed = seed;
  ReplayReport r = replay(std::filesystem::absolute(log).string(), plugin_file(plugin), options).take();
  bool same = r.differences == 0 && r.skipped == 0;
  out_exit = same ? 0 : 1;
  if (json)
    return print_json({{"plugin", r.plugin},
                       {"replayed_on", r.replayed_on},
                       {"complete", r.complete},
                       {"calls", r.calls},
                       {"replayed", r.replayed},
                       {"skipped", r.skipped},
                       {"failures", r.failures},
                       {"first_failure", r.first_failure},
                       {"failure", r.failure},
                       {"outputs_compared", r.outputs_compared},
                       {"outputs_uncompared", r.outputs_uncompared},
                       {"payloads_regenerated", r.payloads_regenerated},
                       {"differences", r.differences},
                       {"first_difference", r.first_difference},
                       {"difference", r.difference},
                       {"remarks", r.remarks}});
  fmt::print("recorded from {}, replayed on {}\n", r.plugin, r.replayed_on);
  if (!r.complete) fmt::print("the recording has no end: the process died while it was made\n");
  fmt::print("{} calls, {} replayed, {} skipped\n", r.calls, r.replayed, r.skipped);
  fmt::print("{} outputs compared, {} not\n", r.outputs_compared, r.outputs_uncompared);
  if (r.failures)
    fmt::print("{} failures came back, the first at call {}: {}\n", r.failures, r.first_failure, r.failure);
  if (r.differences) fmt::print("first difference at call {}: {}\n", r.first_difference, r.difference);
  for (const std::string& remark : r.remarks) fmt::print("{}\n", remark);
  fmt::print("replay: {} differences\n", r.differences);
}
}  // namespace

void add_replay(CLI::App& app, int& out_exit) {
  CLI::App* command = app.add_subcommand("replay",
                                         "Runs a recording (setting `record`) against a plugin and compares; exit code "
                                         "1 if anything differs or is skipped");
  struct Arguments {
    std::string log, plugin;
    uint64_t seed = 1;
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  command->add_option("LOG", a->log, "The recording")->required()->check(CLI::ExistingFile);
  command->add_option("PLUGIN", a->plugin, "A path, or the name of one on the search path")->required();
  command->add_option("--seed", a->seed, "Of contents that the recording lacks")->capture_default_str();
  command->add_flag("--json", a->json, "For machines");
  command->callback([a, &out_exit] { run(a->log, a->plugin, a->seed, a->json, out_exit); });
}

}  // namespace oarlock::cli
