// Typed settings. Each has a name, an environment variable and one line of documentation; `oarlock settings` lists them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/status.h>

namespace oarlock {

struct SettingInfo {
  std::string name;         // "trace"
  std::string type;         // "flag", "integer", "text", "choice off|warn|allow"
  std::string environment;  // "OARLOCK_TRACE"
  std::string about;
  std::string default_text, value_text;
  std::string origin;   // "default", "environment", "program"
  std::string problem;  // why the environment's text was not taken, if it was not
};
OAR_EXPORT std::vector<SettingInfo> settings();
// Any thread; takes effect for calls that begin afterwards. The text names setting, value and what it expects.
OAR_EXPORT Status set_setting(std::string_view name, std::string_view value);

}  // namespace oarlock
