#include "core/profile/capture.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <oarlock/plugin.h>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/profile/trace.h"

namespace oarlock::capture {
namespace {

std::string list(const int64_t* numbers, int n) {
  std::string s = "[";
  for (int i = 0; i < n; ++i) s += (i ? "," : "") + std::to_string(numbers[i]);
  return s + "]";
}
// Hexadecimal, as text: JSON has no infinity, and nothing may be rounded.
std::string real(double x) {
  char text[48];
  std::snprintf(text, sizeof text, "\"%a\"", x);
  return text;
}

std::string attribute(const oar_attr_t& a) {
  std::string s = "{\"type\":" + std::to_string(a.type);
  if (!a.is_set) return s + "}";
  s += ",\"value\":";
  switch (a.type) {
    case OAR_ATTR_FLOAT: s += real(a.value.f); break;
    case OAR_ATTR_STRING: s += "\"" + trace::escaped({a.value.str, size_t(a.count)}) + "\""; break;
    case OAR_ATTR_INTS: s += list(a.value.ints, int(a.count)); break;
    case OAR_ATTR_FLOATS:
      s += "[";
      for (uint64_t i = 0; i < a.count; ++i) s += (i ? "," : "") + real(a.value.floats[i]);
      s += "]";
      break;
    default: s += std::to_string(a.value.i);
  }
  return s + "}";
}

std::string value(const Value& v) {
  if (!v.present) return "null";
  return "{\"dtype\":\"" + std::string(to_string(v.dtype)) +
         "\",\"shape\":" + list(reinterpret_cast<const int64_t*>(v.shape.d), v.shape.rank) +
         ",\"strides\":" + list(v.strides, v.shape.rank) + ",\"mutated\":" + (v.mutated ? "true" : "false") +
         ",\"host\":" + (v.host ? "true" : "false") + ",\"bytes\":" + std::to_string(v.bytes.size()) + "}";
}

bool send(int file, const void* bytes, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t wrote = ::write(file, static_cast<const char*>(bytes) + at, n - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += size_t(wrote);
  }
  return true;
}

}  // namespace

void write(const Record& r) {
  static std::mutex* lock = new std::mutex;
  static int file = -1;
  static bool failed = false;
  static auto* path = new std::string;
  std::lock_guard hold(*lock);
  if (std::string now = setting::capture(); now != *path) {
    if (file >= 0) ::close(file);
    *path = std::move(now);
    file = -1;
    failed = false;
  }
  if (failed || path->empty()) return;
  auto give_up = [&] {
    failed = true;
    log(OAR_LOG_ERROR, "capture: \"" + *path + "\" can't be written: " + std::strerror(errno) + ".");
  };
  if (file < 0) file = ::open(path->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return give_up();
  std::string head = "{\"op\":\"" + trace::escaped(r.op) + "\",\"version\":" + std::to_string(r.version) +
                     ",\"plugin\":\"" + trace::escaped(r.plugin) + "\",\"path\":\"" + trace::escaped(r.path) +
                     "\",\"device\":\"" + trace::escaped(r.device) + "\",\"route\":\"" + trace::escaped(r.route) +
                     "\",\"attributes\":[";
  for (uint32_t i = 0; i < r.attributes.n; ++i) head += (i ? "," : "") + attribute(r.attributes.v[i]);
  head += "],\"operands\":[";
  for (size_t i = 0; i < r.operands.size(); ++i) head += (i ? "," : "") + value(r.operands[i]);
  head += "],\"results\":[";
  for (size_t i = 0; i < r.results.size(); ++i) head += (i ? "," : "") + value(r.results[i]);
  head += "]}\n";
  ::flock(file, LOCK_EX);  // records of other processes come before or after, not between
  bool ok = send(file, head.data(), head.size());
  for (auto* values : {&r.operands, &r.results})
    for (const Value& v : *values) ok = ok && send(file, v.bytes.data(), v.bytes.size());
  if (!ok) give_up();
  ::flock(file, LOCK_UN);
}

}  // namespace oarlock::capture
