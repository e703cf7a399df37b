// `oarlock doctor`: what was found, loaded and refused, and why.
#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <oarlock/base/device.h>
#include <oarlock/base/plugin.h>
#include <oarlock/base/settings.h>

#include "api/cli/command.h"

namespace oarlock::cli {

namespace {

const char* state_text(PluginState state) {
  switch (state) {
    case PluginState::loaded: return "loaded";
    case PluginState::refused: return "refused";
    case PluginState::failed: return "failed";
  }
  return "?";
}

// OpenMP runtimes mapped into this process; each brings a thread pool of its own.
std::vector<std::string> openmp_runtimes() {
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    std::string path = line.substr(slash), file = path.substr(path.rfind('/') + 1);
    for (const char* runtime : {"libgomp", "libiomp5", "libomp.", "libomp-"})
      if (file.starts_with(runtime)) found.insert(path);
  }
  return {found.begin(), found.end()};
}

void run(bool json, int& out_exit) {
  std::vector<PluginInfo> found = plugins();
  std::vector<SearchFolder> folders = plugin_search_path();
  std::vector<SettingInfo> all_settings = settings();
  std::vector<std::string> openmp = openmp_runtimes();
  std::vector<std::string> problems;
  for (const PluginInfo& p : found) {
    if (p.state != PluginState::loaded) problems.push_back(p.path + ": " + p.reason);
    for (const std::string& w : p.warnings) problems.push_back((p.name.empty() ? p.path : p.name) + ": " + w);
  }
  for (const SettingInfo& s : all_settings)
    if (!s.problem.empty()) problems.push_back(s.environment + ": " + s.problem);
  if (openmp.size() > 1)
    problems.push_back(
        fmt::format("{} OpenMP runtimes in one process: {}. Each has threads of its own, which compete; use "
                    "plugins built for the same one.",
                    openmp.size(), fmt::join(openmp, ", ")));
  out_exit = problems.empty() ? 0 : 1;

  if (json) {
    Json j;
    j["search_path"] = Json::array();
    for (const SearchFolder& f : folders)
      j["search_path"].push_back({{"path", f.path}, {"origin", f.origin}, {"note", f.note}});
    j["plugins"] = Json::array();
    for (const PluginInfo& p : found) j["plugins"].push_back(plugin_json(p, state_text(p.state)));
    j["devices"] = Json::array();
    for (const Device& d : devices()) j["devices"].push_back(d.name());
    j["openmp"] = openmp;
    j["problems"] = problems;
    return print_json(j);
  }
  fmt::print("Search path\n");
  if (folders.empty()) fmt::print("  empty: no plugin is looked for\n");
  for (const SearchFolder& f : folders)
    fmt::print("  {} ({}){}\n", f.path, f.origin, f.note.empty() ? "" : ": " + f.note);
  fmt::print("\nPlugins\n");
  Table table({"  name", "version", "state", "devices", "kernels for", "kernels", "ms", "file"});
  for (const PluginInfo& p : found)
    table.add({"  " + (p.name.empty() ? std::string("?") : p.name), p.version, state_text(p.state),
               fmt::format("{}", fmt::join(p.devices, " ")), fmt::format("{}", fmt::join(p.packs, " ")),
               std::to_string(p.kernel_count), fmt::format("{:.1f}", p.load_ms), p.path});
  if (table.empty()) fmt::print("  none found\n");
  else table.print();
  for (const PluginInfo& p : found)
    if (!p.ops.empty()) fmt::print("  {} defines the ops {}\n", p.name, fmt::join(p.ops, ", "));
  fmt::print("\nDevices\n");
  for (const Device& d : devices()) fmt::print("  {}: {}\n", d.name(), d.description());
  fmt::print("\nOpenMP\n");
  if (openmp.empty()) fmt::print("  none in this process\n");
  for (const std::string& path : openmp) fmt::print("  {}\n", path);
  fmt::print("\n");
  if (problems.empty()) fmt::print("doctor: no problems\n");
  else fmt::print("Problems\n");
  for (const std::string& p : problems) fmt::print("  {}\n", p);
  if (!problems.empty()) fmt::print("doctor: {} problem{}\n", problems.size(), problems.size() == 1 ? "" : "s");
}

}  // namespace

void add_doctor(CLI::App& app, int& out_exit) {
  CLI::App* command = app.add_subcommand(
      "doctor", "What plugins were found, loaded or refused, and why; exit code 1 if anything is wrong");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For machines");
  command->callback([=, &out_exit] { run(*json, out_exit); });
}

}  // namespace oarlock::cli
