// Plugins as a program sees them: what was found, what was loaded, and why the rest was not.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

enum class PluginState {
  loaded,   // its devices and kernels are in use
  refused,  // the loader would not run it: wrong version, foreign file, missing function ...
  failed,   // it ran and failed
};
struct PluginInfo {
  std::string path;
  PluginState state = PluginState::refused;
  std::string reason;  // why it is not loaded, in a sentence that says what to do
  std::string origin;  // "explicit", "application", "user", "entry point", "system"
  std::string name, vendor, version, build_target;
  uint32_t abi_min = 0, abi_max = 0, abi_minor = 0;
  std::vector<std::string> tables;   // "device 1", "kernel 1"
  std::vector<std::string> devices;  // names of the devices it brought
  std::vector<std::string> packs;    // names of the devices it brought kernels for
  std::vector<std::string> ops;      // names of the ops it defined: "acme.swish"
  std::vector<std::string> warnings;
  int kernel_count = 0;
  double load_ms = 0;
};

// Everything found on the search path, in the order found. The first call of the process loads them; later calls only
// report. Any thread.
OAR_EXPORT std::vector<PluginInfo> plugins();
// Loads one more plugin from a file, whatever the search path says. Absolute path. The error text is PluginInfo::reason.
OAR_EXPORT Result<PluginInfo> load_plugin(std::string_view path);
// Loads, queries and opens a plugin in a child process, so that a crash or a hang is only a reason. Nothing of it stays.
OAR_EXPORT PluginInfo probe_plugin(std::string_view path, int timeout_ms = 10'000);
// The folders searched: the setting `backends` (OARLOCK_BACKENDS, replaces all others; empty: none), the application's, the
// user's, entry points', the system's. Never the working directory.
struct SearchFolder {
  std::string path, origin, note;  // note: why it is skipped, if it is
};
OAR_EXPORT std::vector<SearchFolder> plugin_search_path();

}  // namespace oarlock
