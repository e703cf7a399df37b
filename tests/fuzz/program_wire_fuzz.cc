// Programs as bytes. What is read must be sound, write again as itself, and stay sound for any sizes it takes.
#include <cstdlib>

#include "core/graph/form/form.h"
#include "core/graph/sizes.h"

using namespace oarlock;
using namespace oarlock::graph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<Program> p = from_wire({reinterpret_cast<const char*>(data), size});
  if (!p) return 0;
  if (!verify(*p).ok()) std::abort();
  Result<std::string> bytes = to_wire(*p), text = to_text(*p);
  if (!bytes || !text) std::abort();
  Result<Program> again = from_wire(*bytes);
  if (!again || *to_wire(*again) != *bytes) std::abort();
  std::vector<Shape> shapes;
  for (ValueId v : p->body.parameters) {
    shapes.emplace_back();
    for (Dim d : (*p)[v].shape) shapes.back().push(d.known() ? d : Dim(2));
  }
  Result<Program> sized = with_sizes(*p, shapes);
  if (sized && verify(*sized).ok() && !to_text(*sized)) std::abort();
  return 0;
}
