// The settings, each one line. Reading one is an atomic load.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include <oarlock/base/settings.h>

namespace oarlock {

// X(name, type, default, about): type flag, integer, text, or choice, which lists its words, the default first.
// OARLOCK_<NAME> sets it, unless the process runs with elevated privilege: then the environment is ignored.
#define OAR_SETTINGS(X)                                                                                                \
  X(trace, flag, 0, "print every op's way from the call to the kernel, file and line, to stderr")                      \
  X(validate, flag, 0, "put the validation layer around plugins loaded from now on")                                   \
  X(record, text, "", "write the ABI stream of plugins loaded from now on to this file, for oarlock replay")           \
  X(backends, text, "", "folders to search for plugins, separated by ':', instead of all others; set but empty: none") \
  X(fallback, text, "warn", "an op that a device lacks may run on the host: off, warn, or a list of op names")         \
  X(across_devices, choice, "off|warn|allow",                                                                          \
    "operands on several devices are copied to one of them: off, warn, allow")                                         \
  X(anomaly, flag, 0, "look for NaN after every op and gradient; the first that makes one is an error")                \
  X(placement, flag, 0, "time every op for the placement report; waits for the device after each")                     \
  X(call_report, text, "", "at exit, write here what ran where, how often and how long, for oarlock advise")           \
  X(capture, text, "", "write every kernel call here, operands and results in full, for oarlock bisect")               \
  X(capture_calls, integer, 4, "how many calls of one signature capture writes; 0: all")                               \
  X(log_level, integer, 2, "messages below it go nowhere: 0 debug, 1 info, 2 warning, 3 error")                        \
  X(threads, integer, 0, "threads of one op on the host; 0: what OpenMP says")                                         \
  X(kernel_cache, integer, 1024, "prepared kernels that a thread keeps; takes effect for threads that start later")    \
  X(host_memory_limit, integer, 0, "bytes that tensors on the host may take; 0: what the machine has")                 \
  X(cache_limit, integer, 1073741824, "bytes of unused memory kept per device for reuse")                              \
  X(sync_timeout_ms, integer, 60000, "how long a wait for a device may take before it is an error; 0: for ever")       \
  X(deterministic, flag, 0, "use only kernels that declare the same bits every time; others count as refusing")        \
  X(warn_reference_us, integer, 1000, "warn once per signature when the reference kernel takes longer; 0: never")

namespace setting {
#define OAR_SETTING_flag(name) extern std::atomic<int64_t> name;
#define OAR_SETTING_integer(name) extern std::atomic<int64_t> name;
#define OAR_SETTING_choice(name) extern std::atomic<int64_t> name;  // the word's place
#define OAR_SETTING_text(name) std::string name();
#define X(name, type, value, about) OAR_SETTING_##type(name)
OAR_SETTINGS(X)
#undef X

void load_environment();       // once; any number of calls
bool given(const char* name);  // set by the environment or the program, even if to nothing
}  // namespace setting

// True if the process runs with more rights than its user has: no environment variable is believed then.
bool elevated_privilege();

}  // namespace oarlock
