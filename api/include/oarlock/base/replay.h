// Runs a recording of the plugin interface against a plugin, without a model and without the program that made it.
//
// A recording holds every call with its arguments, the contents of small tensors and of what was copied to the device, and
// hashes of large ones. Replay reissues the calls in the order in which they ended, on one thread, and compares statuses
// and contents. Contents that the recording doesn't hold come from a seeded generator unless an earlier call produced
// them; what depends on those is not compared.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

struct ReplayOptions {
  uint64_t seed = 1;                                // of contents that the recording lacks
  uint64_t memory_limit_bytes = uint64_t(4) << 30;  // host memory that replay may hold at once; more is an error
  uint64_t timeout_ns = 60'000'000'000;             // for each wait that had an end when it was recorded
};

struct ReplayReport {
  std::string plugin;       // name and version, as recorded
  std::string replayed_on;  // name and version of the plugin that was opened
  bool complete = false;    // the recording has its end; false: the process died while it was made
  uint64_t calls = 0;       // in the recording, of this plugin
  uint64_t replayed = 0;
  uint64_t skipped = 0;        // could not be reissued; remarks say why
  uint64_t failures = 0;       // calls that failed when recorded and failed with the same status now
  uint64_t first_failure = 0;  // number of the first such call; 0: none
  std::string failure;         // its function, status and text
  uint64_t outputs_compared = 0;
  uint64_t outputs_uncompared = 0;    // depend on regenerated contents, or were not recorded
  uint64_t payloads_regenerated = 0;  // from the seed
  uint64_t differences = 0;
  uint64_t first_difference = 0;     // number of the call; 0: none
  std::string difference;            // what differed there
  std::vector<std::string> remarks;  // each said once
};

// log_path: a file that the setting `record` made. plugin_path: the shared library, opened in this process, so whoever
// doesn't trust it calls this in a child. Errors: a file that is no recording, damaged or cut; a plugin that can't be
// opened. A difference is no error. One replay at a time runs in a process; others wait.
OAR_EXPORT Result<ReplayReport> replay(std::string_view log_path, std::string_view plugin_path,
                                       const ReplayOptions& options = {});

}  // namespace oarlock
