#include "core/profile/call_report.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/profile/trace.h"

#include <oarlock/plugin.h>

namespace oarlock::call_report {
namespace {

struct Sums {
  uint64_t calls = 0, ns = 0, own_ns = 0;
};
struct Report {
  std::mutex lock;
  std::map<std::string, Sums> rows;  // by the row as JSON
  uint64_t first_ns = 0;
};
Report& all() {
  static Report* r = new Report;
  return *r;
}

void at_exit() {
  Report& r = all();
  std::lock_guard hold(r.lock);
  std::string path = setting::call_report();
  std::FILE* f = path.empty() ? nullptr : std::fopen(path.c_str(), "a");
  if (!f) {
    if (!path.empty()) log(OAR_LOG_ERROR, "call_report: \"" + path + "\" can't be written.");
    return;
  }
  std::string text = "{\"process\":" + std::to_string(getpid()) +
                     ",\"wall_ns\":" + std::to_string(trace::now_ns() - r.first_ns) + "}\n";
  for (auto& [row, sums] : r.rows)
    text += "{" + row + ",\"calls\":" + std::to_string(sums.calls) + ",\"ns\":" + std::to_string(sums.ns) +
            ",\"own_ns\":" + std::to_string(sums.own_ns) + "}\n";
  bool bad = std::fwrite(text.data(), 1, text.size(), f) != text.size();
  bad |= std::fclose(f) != 0;
  if (bad) log(OAR_LOG_ERROR, "call_report: \"" + path + "\" could not be written to its end. Is the disk full?");
}

}  // namespace

void add(const Row& row, uint64_t ns, uint64_t own_ns) {
  std::string text;
  auto field = [&](const char* name, const std::string& value) {
    text += (text.empty() ? "\"" : ",\"") + std::string(name) + "\":\"" + trace::escaped(value) + "\"";
  };
  field("op", row.op);
  field("device", row.device);
  field("route", row.route);
  field("plugin", row.plugin);
  field("reason", row.reason);
  field("operands", row.operands);
  field("attributes", row.attributes);
  field("inside", row.inside);
  text += row.recorded ? ",\"recorded\":true" : ",\"recorded\":false";
  Report& r = all();
  std::lock_guard hold(r.lock);
  if (r.first_ns == 0) {
    r.first_ns = trace::now_ns() - ns;
    std::atexit(at_exit);
  }
  Sums& sums = r.rows[text];
  ++sums.calls;
  sums.ns += ns;
  sums.own_ns += own_ns;
}

}  // namespace oarlock::call_report
