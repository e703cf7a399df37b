// IDX files, plain and gzip.
#include <oarlock/data/idx.h>

#include "tests/fuzz/fuzz.h"

using namespace oarlock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::MemoryFile file(bytes, size);
  return fuzz::run([&] { fuzz::touch(data::read_idx(file.path())); });
}
