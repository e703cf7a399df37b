// What ran where, and when.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

// One line per op, device, route and reason since the last reset; views and casts of operands are not counted.
// Calls are always counted; times only while the setting `placement` is on, which waits for the device after every op, so
// that the time is the op's own.
struct PlacementRow {
  std::string op, device;
  std::string
      route;  // "kernel", "decomposition", "reference", "memory copy" (by the device itself), "fallback" (it ran
              // on the host instead), "transfer" (a copy from another device)
  std::string plugin;  // whose kernel; empty for the core's
  std::string reason;  // why nothing better took it: the refusals, in words; for a transfer, where from and what for
  uint64_t calls = 0;
  uint64_t host_ns =
      0;               // from call to return, what a decomposition or a fallback calls included; 0 without the setting
  uint64_t bytes = 0;  // of transfers
};
// What ran where since the last reset, on all threads, the longest time first, then the most calls. Any thread.
OAR_EXPORT std::vector<PlacementRow> placement();
OAR_EXPORT void reset_placement();
// The rows as a table for people, the last line their sums by route.
OAR_EXPORT std::string to_string(std::span<const PlacementRow> rows);

// Chrome trace-event JSON (chrome://tracing, Perfetto) of everything between start and stop. Spans: ops, kernels, copies,
// synchronisations, allocations from the system.
OAR_EXPORT void profile_start();
OAR_EXPORT Status profile_stop(std::string_view json_path);

}  // namespace oarlock
