// Calls of ops as bytes: the file of the setting `capture`, and what bisect and its children say to each other. A record
// is a line of JSON, then the elements that its "bytes" count, operands first, results after them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/cts/compare.h"
#include "api/cts/draw.h"

namespace oarlock::cts {

struct Recorded {
  std::string op, plugin, path, device, route;  // path: the plugin's file; route: "kernel" or "memory copy"
  Draw draw;
  std::vector<HostTensor> results;  // outputs, then the operands that were written to
  std::string failure;              // instead of results
  bool refused = false;
};

// Reads records from a file descriptor that may not block. waiting, asked while nothing comes, says whether more may come.
class Reader {
 public:
  explicit Reader(int descriptor, std::function<bool()> waiting = {}) : descriptor_(descriptor), waiting_(waiting) {}
  // No value: the end. Throws std::runtime_error for what is no record.
  std::optional<Recorded> next();

 private:
  bool fill(size_t bytes);  // false: they won't come
  int descriptor_;
  std::function<bool()> waiting_;
  std::string buffer_;
};

bool write_record(int descriptor, const Recorded& record);

}  // namespace oarlock::cts
