// Makes a call smaller and plainer for as long as something still holds of it.
#pragma once
#include <functional>
#include <string>

#include "api/cts/record.h"

namespace oarlock::cts {

struct Shrunk {
  Recorded call;
  int tried = 0, taken = 0;
};
// holds: asked of legal calls only; true for the call itself. Stops after `seconds`, or when nothing smaller holds.
Shrunk shrink(const Recorded& call, const std::function<bool(const Recorded&)>& holds, double seconds);

}  // namespace oarlock::cts
