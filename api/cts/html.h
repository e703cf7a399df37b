// A report as one HTML page that needs nothing else: no script, no network.
#pragma once
#include <string>

#include "api/cts/cts.h"

namespace oarlock::cts {

// What became of one op and one dtype.
enum class Coverage {
  kernel,      // every call was taken by the plugin's kernel
  partly,      // some were
  refused,     // a kernel is declared for this dtype; it took none
  decomposed,  // no kernel; other kernels of its device carry the op
  absent,      // no kernel, and nothing carries it: the core's reference does, on the host
  failed,
};
struct Cell {
  std::string op, dtype;
  Coverage coverage;
  std::string why;  // the failure or the refusal
};
// Of the rows of L2 that are about one op and one dtype, by the op's first type variable.
std::vector<Cell> coverage(const Report& report);

std::string html_of(const Report& report);
// A text as XML and HTML may hold it.
std::string escaped(std::string_view text);

}  // namespace oarlock::cts
