// What ran where, and when.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

// One line per op, device and route since the last reset. Any thread.
struct PlacementRow {
  std::string op, device;
  std::string route;   // "kernel", "decomposition", "reference", "fallback"
  std::string plugin;  // whose kernel; empty for the core's
  std::string reason;  // why nothing better took it: the refusals, in words
  uint64_t calls = 0;
  uint64_t host_ns = 0;  // time on the calling thread; counted while the setting `placement` is on
};
OAR_EXPORT std::vector<PlacementRow> placement();
OAR_EXPORT void reset_placement();

// Chrome trace-event JSON (chrome://tracing, Perfetto) of everything between start and stop. Spans: ops, kernels, copies,
// synchronisations, allocations from the system.
OAR_EXPORT void profile_start();
OAR_EXPORT Status profile_stop(std::string_view json_path);

}  // namespace oarlock
