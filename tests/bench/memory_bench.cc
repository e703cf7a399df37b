// The host's allocator against malloc, and what loading a plugin takes.
#include <cstdlib>
#include <cstring>

#include <oarlock/oarlock.h>

#include "core/device/host_memory.h"
#include "timing.h"

using namespace oarlock;

int main() {
  for (size_t bytes : {size_t(256), size_t(64) << 10, size_t(8) << 20}) {
    void* volatile keep = nullptr;
    auto ours = [&] {
      Result<Block> b = host_allocate(bytes);
      keep = b->data;
      std::memset(keep, 1, bytes < 4096 ? 8 : bytes);  // touch it as a kernel would
      host_free(*b);
    };
    auto theirs = [&] {
      keep = std::malloc(bytes);
      std::memset(keep, 1, bytes < 4096 ? 8 : bytes);
      std::free(keep);
    };
    int calls = bytes > (1 << 20) ? 20 : 2'000;
    char name[64];
    std::snprintf(name, sizeof name, "allocate, touch, free %zu KiB", bytes >> 10);
    if (bytes < 1024) std::snprintf(name, sizeof name, "allocate, touch, free %zu bytes", bytes);
    double mine = bench::best_ns(ours, calls), rival = bench::best_ns(theirs, calls);
    bench::report(name, mine, "ns", 0, "malloc", rival);
  }
  throw_if(set_setting("backends", OARLOCK_BACKEND_DIR));
  for (const PluginInfo& p : plugins())
    if (p.state == PluginState::loaded) bench::report(("load plugin " + p.name).c_str(), p.load_ms, "ms");
}
