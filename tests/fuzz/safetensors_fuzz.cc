// Safetensors and, since they are such files, checkpoints: in memory, mapped and read.
#include <oarlock/save.h>

#include <span>

#include "tests/fuzz/fuzz.h"

using namespace oarlock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::run([&] {
    for (auto& [name, x] : load_from_memory(std::as_bytes(std::span(bytes, size)))) fuzz::touch(x);
  });
  fuzz::MemoryFile file(bytes, size);
  for (bool map : {false, true})
    fuzz::run([&] {
      for (auto& [name, x] : load(file.path(), {.map = map})) fuzz::touch(x);
    });
  return fuzz::run([&] {
    for (auto& [name, part] : load_checkpoint(file.path()).parts)
      for (auto& [key, x] : part) fuzz::touch(x);
  });
}
