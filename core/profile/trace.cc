#include "core/profile/trace.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <vector>

#include <oarlock/base/profile.h>

#include "core/base/settings.h"

namespace oarlock::trace {

std::atomic<uint32_t> on{kUnread};

void read_settings() {
  setting::load_environment();
  on.fetch_and(~uint32_t(kUnread), std::memory_order_relaxed);
  auto set = [](Sink sink, bool value) {
    if (value) on.fetch_or(sink, std::memory_order_relaxed);
    else on.fetch_and(~uint32_t(sink), std::memory_order_relaxed);
  };
  set(kStops, setting::trace.load(std::memory_order_relaxed) != 0);
  set(kAnomaly, setting::anomaly.load(std::memory_order_relaxed) != 0);
  set(kPlacementTime, setting::placement.load(std::memory_order_relaxed) != 0);
  set(kReport, !setting::call_report().empty());
  set(kCapture, !setting::capture().empty());
}

namespace {
struct Event {
  const char* category;
  std::string name, detail;
  uint64_t begin_ns, end_ns;
  long thread;
};
struct Profile {
  std::mutex lock;
  std::vector<Event> events;
};
Profile& profile() {
  static Profile* p = new Profile;
  return *p;
}
void line(const std::string& place, std::string_view text) {
  std::string out = "oarlock trace: " + place;
  out.resize(std::max<size_t>(out.size() + 2, 52), ' ');
  out += text;
  out += '\n';
  std::fwrite(out.data(), 1, out.size(), stderr);
}
}  // namespace

std::string escaped(std::string_view s) {
  std::string out;
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out;
}

void stop(std::string_view text, const char* file, int at_line) {
  std::string_view path = file;
  while (path.substr(0, 2) == "./" || path.substr(0, 3) == "../") path.remove_prefix(path.find('/') + 1);
  line(std::string(path) + ":" + std::to_string(at_line), text);
}

void stop_at(const void* function, std::string_view text) {
  Dl_info info{};
  std::string place = "(unknown library)";
  if (dladdr(function, &info) && info.dli_fname) {
    std::string_view path = info.dli_fname;
    place = std::string(path.substr(path.rfind('/') + 1));
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%zx",
                  size_t(static_cast<const char*>(function) - static_cast<const char*>(info.dli_fbase)));
    place += offset;
  }
  line(place, text);
}

uint64_t now_ns() {
  return uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

void record(const char* category, std::string name, uint64_t begin_ns, uint64_t end_ns, std::string detail) {
  static thread_local long thread = syscall(SYS_gettid);
  Profile& p = profile();
  std::lock_guard hold(p.lock);
  if (p.events.size() < 10'000'000)
    p.events.push_back({category, std::move(name), std::move(detail), begin_ns, end_ns, thread});
}

}  // namespace oarlock::trace

namespace oarlock {

void profile_start() {
  if (trace::active() & trace::kUnread) trace::read_settings();
  {
    auto& p = trace::profile();
    std::lock_guard hold(p.lock);
    p.events.clear();
  }
  trace::on.fetch_or(trace::kProfile);
}

Status profile_stop(std::string_view json_path) {
  trace::on.fetch_and(~uint32_t(trace::kProfile));
  std::string path(json_path);
  std::FILE* f = std::fopen(path.c_str(), "w");
  if (!f) return invalid("profile: \"" + path + "\" can't be written. Name a file in a folder that exists.");
  auto& p = trace::profile();
  std::lock_guard hold(p.lock);
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", f);
  const char* comma = "\n";
  for (const auto& e : p.events) {
    std::fprintf(f, "%s{\"ph\":\"X\",\"pid\":%d,\"tid\":%ld,\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%.3f,\"dur\":%.3f",
                 comma, int(getpid()), e.thread, e.category, trace::escaped(e.name).c_str(), double(e.begin_ns) / 1e3,
                 double(e.end_ns - e.begin_ns) / 1e3);
    if (!e.detail.empty()) std::fprintf(f, ",\"args\":{\"detail\":\"%s\"}", trace::escaped(e.detail).c_str());
    std::fputs("}", f);
    comma = ",\n";
  }
  std::fputs("\n]}\n", f);
  p.events.clear();
  bool bad = std::ferror(f) != 0;
  bad |= std::fclose(f) != 0;
  return bad ? Status(Code::internal, "profile: \"" + path + "\" could not be written to its end. Is the disk full?")
             : Status();
}

}  // namespace oarlock
