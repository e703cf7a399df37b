// A thread's own free lists, in front of the host's memory: taking and giving back a small block is a few instructions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/device/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define OAR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OAR_ASAN 1
#endif
#endif
#ifdef OAR_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) (void(p), void(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) (void(p), void(n))
#endif

namespace oarlock::thread_store {

// A thread's own free lists. Classes up to 32 KiB; a list longer than kKeep goes back in part.
inline constexpr uint32_t kClasses = 37;
inline constexpr uint64_t kSmall = 32u << 10;
inline constexpr int kKeep = 64;
inline constexpr uint32_t kObjectClasses = 24;  // multiples of 32 bytes
struct Store {
  struct List {
    void* head = nullptr;
    int n = 0;
  };
  List list[kClasses];
  List objects[kObjectClasses];
};
// An initial-exec pointer: 1 ns against 4 for a thread_local with a destructor. The key's destructor empties the store of
// a thread that ends; the main thread's stays, since nothing is torn down at exit.
__attribute__((tls_model("initial-exec"))) extern thread_local Store* tls_store;
Store* make();  // null: the thread is ending
inline Store* get() { return tls_store ? tls_store : make(); }

#ifdef OAR_ASAN
struct Poke {  // links live in poisoned memory
  explicit Poke(void* p) : p_(p) { ASAN_UNPOISON_MEMORY_REGION(p_, sizeof(void*)); }
  ~Poke() { ASAN_POISON_MEMORY_REGION(p_, sizeof(void*)); }
  void* p_;
};
#else
struct Poke {
  explicit Poke(void*) {}
};
#endif

inline void* pop(Store::List& l) {
  void* p = l.head;
  if (p) {
    Poke open(p);
    l.head = *static_cast<void**>(p);
    --l.n;
  }
  return p;
}
inline void push(Store::List& l, void* p) {
  Poke open(p);
  *static_cast<void**>(p) = l.head;
  l.head = p;
  ++l.n;
}

// Objects of one size: headers of tensors and storages, nodes of the tape.
void* slow_allocate(size_t size_bytes);
void slow_free(void* p, size_t size_bytes) noexcept;

}  // namespace oarlock::thread_store

namespace oarlock {

// Never null: throws std::bad_alloc.
inline void* object_allocate(size_t size_bytes) {
  uint32_t c = uint32_t((size_bytes + 31) / 32 - 1);
  if (thread_store::tls_store && c < thread_store::kObjectClasses) [[likely]]
    if (void* p = thread_store::pop(thread_store::tls_store->objects[c])) {
      ASAN_UNPOISON_MEMORY_REGION(p, (c + 1) * 32);
      return p;
    }
  return thread_store::slow_allocate(size_bytes);
}
inline void object_free(void* p, size_t size_bytes) noexcept {
  uint32_t c = uint32_t((size_bytes + 31) / 32 - 1);
  if (thread_store::tls_store && c < thread_store::kObjectClasses && thread_store::tls_store->objects[c].n < 4096)
      [[likely]] {
    ASAN_POISON_MEMORY_REGION(p, (c + 1) * 32);
    thread_store::push(thread_store::tls_store->objects[c], p);
    return;
  }
  thread_store::slow_free(p, size_bytes);
}

}  // namespace oarlock
