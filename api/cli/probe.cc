// `oarlock probe FILE`: tries one plugin in a child process.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <oarlock/base/plugin.h>

#include "api/cli/command.h"

namespace oarlock::cli {

namespace {
void run(const std::string& file, int timeout_ms, bool json, int& out_exit) {
  PluginInfo p = probe_plugin(plugin_file(file), timeout_ms);
  bool loaded = p.state == PluginState::loaded;
  out_exit = loaded ? 0 : 1;
  const char* state = loaded ? "loads" : p.state == PluginState::refused ? "refused" : "failed";
  if (json) return print_json(plugin_json(p, state));
  fmt::print("{}\n", p.path);
  if (!p.name.empty()) {
    fmt::print("  {} {} by {}{}\n", p.name, p.version, p.vendor,
               p.build_target.empty() ? "" : ", built for " + p.build_target);
    if (p.abi_max > 0) fmt::print("  ABI {} to {}, minor {}\n", p.abi_min, p.abi_max, p.abi_minor);
  }
  if (!p.tables.empty()) fmt::print("  tables: {}\n", fmt::join(p.tables, ", "));
  if (!p.devices.empty()) fmt::print("  devices: {}\n", fmt::join(p.devices, ", "));
  if (!p.packs.empty()) fmt::print("  kernels for: {} ({} kernels)\n", fmt::join(p.packs, ", "), p.kernel_count);
  if (!p.ops.empty()) fmt::print("  ops of its own: {}\n", fmt::join(p.ops, ", "));
  for (const std::string& w : p.warnings) fmt::print("  warning: {}\n", w);
  if (loaded) fmt::print("  loads in {:.1f} ms\n", p.load_ms);
  else fmt::print("  {}: {}\n", state, p.reason);
}
}  // namespace

void add_probe(CLI::App& app, int& out_exit) {
  CLI::App* command = app.add_subcommand(
      "probe",
      "Loads one plugin in a process of its own, so that a crash or a hang is only a reason; exit code 1 if it fails");
  struct Arguments {
    std::string file;
    int timeout_ms = 10'000;
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  command->add_option("FILE", a->file, "The plugin: a path, or the name of one on the search path")->required();
  command->add_option("--timeout", a->timeout_ms, "Milliseconds until it counts as hung")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", a->json, "For machines");
  command->callback([a, &out_exit] { run(a->file, a->timeout_ms, a->json, out_exit); });
}

}  // namespace oarlock::cli
