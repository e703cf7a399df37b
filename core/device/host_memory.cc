#include "core/device/host_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "core/base/settings.h"
#include "core/device/thread_store.h"

namespace oarlock {
using namespace thread_store;
namespace {

uint64_t machine_bytes() {
  static const uint64_t bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

class HostCache final : public BlockCache {
 public:
  std::atomic<uint64_t> mapped{0};

 protected:
  Status system_allocate(uint64_t size_bytes, Block* out) override {
    uint64_t limit = uint64_t(setting::host_memory_limit.load(std::memory_order_relaxed));
    if (limit == 0) limit = machine_bytes();
    auto none = [&] {
      return Status(Code::out_of_memory, "memory on cpu: no room for " + std::to_string(size_bytes) +
                                             " bytes more (limit " + std::to_string(limit) +
                                             "). Free tensors, or raise the setting host_memory_limit.");
    };
    if (size_bytes > limit || mapped.load() + size_bytes > limit) return none();
    // Chunks begin on 2 MiB so that the kernel can use huge pages: a first touch then costs a fifth.
    uint64_t room = size_bytes + (size_bytes >= kChunk ? kChunk : 0);
    void* p = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return none();
    if (size_bytes >= kChunk) {
      uintptr_t begin = uintptr_t(p), aligned = (begin + kChunk - 1) & ~uintptr_t(kChunk - 1);
      uintptr_t page_end = (aligned + size_bytes + 4095) & ~uintptr_t(4095);
      if (aligned > begin) munmap(p, aligned - begin);
      if (begin + room > page_end) munmap(reinterpret_cast<void*>(page_end), begin + room - page_end);
      p = reinterpret_cast<void*>(aligned);
      madvise(p, size_bytes, MADV_HUGEPAGE);
    }
    mapped += size_bytes;
    *out = {p, 0, size_bytes};
    return {};
  }
  void system_free(const Block& block) override {
    ASAN_UNPOISON_MEMORY_REGION(block.data, block.size_bytes);
    munmap(block.data, (block.size_bytes + 4095) & ~uint64_t(4095));
    mapped -= block.size_bytes;
  }
  uint64_t arena_bytes() const override { return 64u << 20; }
  Block cut(const Block& chunk, uint64_t at, uint64_t size_bytes) const override {
    return {static_cast<char*>(chunk.data) + at, 0, size_bytes};
  }
  void mark_free(const Block& b) override { ASAN_POISON_MEMORY_REGION(b.data, b.size_bytes); }
  void mark_used(const Block& b, uint64_t used) override { ASAN_UNPOISON_MEMORY_REGION(b.data, used); }
};

__attribute__((tls_model("initial-exec"))) thread_local bool tls_ended = false;
pthread_key_t store_key;

uint64_t class_bytes(uint32_t index) {
  if (index == 0) return 64;
  uint64_t base = uint64_t(64) << ((index - 1) / 4);
  return base + base / 4 * ((index - 1) % 4 + 1);
}

void drain(void* p) {
  Store* store = static_cast<Store*>(p);
  tls_store = nullptr;
  tls_ended = true;
  for (uint32_t i = 0; i < kClasses; ++i)
    while (void* b = pop(store->list[i])) host_memory().free({b, 0, class_bytes(i)}, nullptr);
  for (uint32_t i = 0; i < kObjectClasses; ++i)
    while (void* b = pop(store->objects[i])) {
      ASAN_UNPOISON_MEMORY_REGION(b, (i + 1) * 32);
      std::free(b);
    }
  delete store;
}
}  // namespace

thread_local Store* thread_store::tls_store = nullptr;
Store* thread_store::make() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_key_create(&store_key, drain); });
  if (tls_ended) return nullptr;  // another destructor of this thread still frees: go without
  tls_store = new Store;
  pthread_setspecific(store_key, tls_store);
  return tls_store;
}

BlockCache& host_memory() {
  static HostCache* cache = new HostCache;
  return *cache;
}

Result<Block> host_allocate(uint64_t size_bytes) {
  if (size_bytes == 0) return Block{};
  if (size_bytes <= kSmall) {
    SizeClass c = size_class(size_bytes);
    if (Store* s = get()) {
      if (void* p = pop(s->list[c.index])) {
        ASAN_UNPOISON_MEMORY_REGION(p, size_bytes);
        return Block{p, 0, c.size_bytes};
      }
    }
  }
  return host_memory().allocate(size_bytes, nullptr);
}

void host_free(const Block& block) noexcept {
  if (block.size_bytes == 0) return;
  if (block.size_bytes <= kSmall) {
    if (Store* s = get()) {
      Store::List& l = s->list[size_class(block.size_bytes).index];
      ASAN_POISON_MEMORY_REGION(block.data, block.size_bytes);
      push(l, block.data);
      if (l.n > kKeep)
        for (int i = 0; i < kKeep / 2; ++i) host_memory().free({pop(l), 0, block.size_bytes}, nullptr);
      return;
    }
  }
  host_memory().free(block, nullptr);
}

MemoryStats host_stats() {
  MemoryStats m = host_memory().stats();
  if (Store* s = tls_store)
    for (uint32_t i = 0; i < kClasses; ++i) m.in_use -= uint64_t(s->list[i].n) * class_bytes(i);
  return m;
}

void* thread_store::slow_allocate(size_t size_bytes) {
  if (get() && tls_store) {  // the store may just have been made
    uint32_t c = uint32_t((size_bytes + 31) / 32 - 1);
    if (c < kObjectClasses)
      if (void* p = pop(tls_store->objects[c])) {
        ASAN_UNPOISON_MEMORY_REGION(p, (c + 1) * 32);
        return p;
      }
  }
  void* p = std::malloc((size_bytes + 31) / 32 * 32);
  if (!p) throw std::bad_alloc();
  return p;
}
void thread_store::slow_free(void* p, size_t) noexcept { std::free(p); }

}  // namespace oarlock
