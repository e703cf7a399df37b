// Which of two values is better.
#pragma once
#include <string>

#include <oarlock/model/callback.h>

namespace oarlock {

// mode: "min", "max", or empty: by the value's name. Throws Error for others.
bool wants_max(const char* who, const std::string& mode, const std::string& monitor);
// The value to watch; throws Error naming what there is.
double monitored(const char* who, const std::string& monitor, const Logs& logs);

}  // namespace oarlock
