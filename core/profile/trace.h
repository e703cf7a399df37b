// What is happening, for OARLOCK_TRACE=1 (lines to stderr) and for Chrome-trace JSON. Off, it costs one load.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace oarlock::trace {

// kUnread: settings have changed since they were looked at here.
enum Sink : uint32_t {
  kStops = 1,
  kProfile = 2,
  kPlacementTime = 4,
  kUnread = 8,
  kAnomaly = 16,
  kReport = 32,
  kCapture = 64,
  kRecording = 128  // some thread captures a program
};
// Which sinks are on. Zero almost always.
extern std::atomic<uint32_t> on;
inline uint32_t active() { return on.load(std::memory_order_relaxed); }
void read_settings();  // turns sinks on as the settings say; whoever finds kUnread set calls it

// One stop of a call's way, "core/dispatch/call.cc:41  matmul: found a prepared kernel"; only while kStops is on.
void stop(std::string_view text, const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The stop of a kernel whose plugin does not say where it is declared: library and offset.
void stop_at(const void* function, std::string_view text);
#define OAR_TRACE_STOP(text)                                                \
  do {                                                                      \
    if (::oarlock::trace::active() & ::oarlock::trace::kStops) [[unlikely]] \
      ::oarlock::trace::stop(text);                                         \
  } while (0)

// As the inside of a JSON text.
std::string escaped(std::string_view text);

uint64_t now_ns();
void record(const char* category, std::string name, uint64_t begin_ns, uint64_t end_ns, std::string detail = {});

// A span of the profile, from here to the end of the block.
class Span {
 public:
  Span(const char* category, const char* name) : category_(category), name_(name) {
    if (active() & kProfile) [[unlikely]]
      begin_ = now_ns();
  }
  ~Span() {
    if (begin_) [[unlikely]]
      record(category_, name_, begin_, now_ns());
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const char* category_;
  const char* name_;
  uint64_t begin_ = 0;
};

}  // namespace oarlock::trace
