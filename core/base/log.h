// Messages for people, to stderr, one line each.
#pragma once
#include <string_view>

namespace oarlock {

// level: OAR_LOG_ of plugin.h. Below the setting log_level it goes nowhere. Any thread.
void log(int level, std::string_view text);

}  // namespace oarlock
