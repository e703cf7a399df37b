// Arrays that NumPy wrote: single, and archives of them.
#include <oarlock/data/npy.h>

#include "tests/fuzz/fuzz.h"

using namespace oarlock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::MemoryFile file(bytes, size);
  fuzz::run([&] { fuzz::touch(data::read_npy(file.path())); });
  return fuzz::run([&] {
    for (auto& [name, x] : data::read_npz(file.path())) fuzz::touch(x);
  });
}
