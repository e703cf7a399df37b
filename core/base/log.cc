#include "core/base/log.h"

#include <cstdio>
#include <string>

#include "core/base/settings.h"

namespace oarlock {

void log(int level, std::string_view text) {
  setting::load_environment();
  if (level < setting::log_level.load(std::memory_order_relaxed)) return;
  static const char* const kNames[] = {"debug", "info", "warning", "error"};
  std::string line = "oarlock ";
  line += kNames[level < 0 ? 0 : level > 3 ? 3 : level];
  line += ": ";
  line += text;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace oarlock
