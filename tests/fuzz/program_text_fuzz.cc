// Programs as text. What is read must be sound, and write and read again as itself.
#include <cstdlib>

#include "core/graph/form/form.h"

using namespace oarlock;
using namespace oarlock::graph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<Program> p = from_text({reinterpret_cast<const char*>(data), size});
  if (!p) return 0;
  if (!verify(*p).ok()) std::abort();
  Result<std::string> text = to_text(*p);
  if (!text) std::abort();
  Result<Program> again = from_text(*text);
  if (!again || *to_text(*again) != *text) std::abort();
  return 0;
}
