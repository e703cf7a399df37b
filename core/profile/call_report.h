// The report of the setting `call_report`: every signature that was called, by whom it was carried out and how long it
// took, the device's own time included. One JSON object a line, appended at exit; `oarlock advise` reads it.
#pragma once
#include <cstdint>
#include <string>

namespace oarlock::call_report {

struct Row {
  std::string op, device, route, plugin, reason;
  std::string operands, attributes;  // "f32[64, 784], f32[784, 10] strided"; "axis=1"
  std::string inside;                // the op that this call is a part of, taken apart or moved to the host
  bool recorded = false;             // taken apart only because gradients are recorded
};
// ns: from call to result; own_ns: without the calls it is made of.
void add(const Row& row, uint64_t ns, uint64_t own_ns);

}  // namespace oarlock::call_report
