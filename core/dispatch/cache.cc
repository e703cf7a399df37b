#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/base/generation.h"
#include "core/base/settings.h"
#include "core/dispatch/entry.h"

namespace oarlock::dispatch {
namespace {

struct AllCaches {
  std::mutex lock;
  std::set<Cache*> caches;
};
AllCaches& all() {
  static AllCaches* a = new AllCaches;
  return *a;
}
// As in host_memory.cc: a plain pointer, emptied by a key's destructor when a thread ends but not at process exit, when
// plugins must not be called any more.
__attribute__((tls_model("initial-exec"))) thread_local Cache* tls_cache = nullptr;
pthread_key_t cache_key;

}  // namespace

const char* route_name(Kind kind) {
  switch (kind) {
    case Kind::promote: return "promotion";
    case Kind::kernel: return "kernel";
    case Kind::decomposition: return "decomposition";
    case Kind::reference: return "reference";
    case Kind::memory: return "memory copy";
    case Kind::fallback: return "fallback";
  }
  return "";
}

Entry::~Entry() {
  if (!prepared || !kernel.decl->release) return;
  // Only what is idle may be released: on a device a launch may still be under way.
  if (Stream* s = device->default_stream) {
    if (device->lost || forked()) return;
    if (!synchronize(*s).ok()) return;
  }
  kernel.decl->release(state);
}

Cache::Cache() {
  sets_ = std::max<size_t>(1, size_t(setting::kernel_cache.load()) / kWays);
  table_.resize(sets_ * kWays);
  std::lock_guard hold(all().lock);
  all().caches.insert(this);
}
Cache::~Cache() {
  clear();
  std::lock_guard hold(all().lock);
  all().caches.erase(this);
}

struct CacheOwner {
  static void end(void* cache) {
    tls_cache = nullptr;
    delete static_cast<Cache*>(cache);
  }
  static Cache* make() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_key_create(&cache_key, end); });
    tls_cache = new Cache;
    pthread_setspecific(cache_key, tls_cache);
    return tls_cache;
  }
};
Cache& Cache::of_thread() {
  Cache* c = tls_cache;
  if (!c) [[unlikely]]
    c = CacheOwner::make();
  return *c;
}

// Keys are a few words: a loop beats the call of memcmp.
static inline bool same(const uint64_t* a, const uint64_t* b, int n) {
  uint64_t differ = 0;
  for (int i = 0; i < n; ++i) differ |= a[i] ^ b[i];
  return differ == 0;
}

bool Cache::current() {
  if (uint64_t g = generation.load(std::memory_order_acquire); g != generation_) [[unlikely]] {
    clear();
    generation_ = g;
    return false;
  }
  return true;
}

Entry* Cache::find(const Key& key) {
  current();
  auto* set = &table_[(key.hash % sets_) * kWays];
  for (int i = 0; i < kWays; ++i) {
    Entry* e = set[i].get();
    if (!e) return nullptr;
    if (e->hash == key.hash && e->key.size() == size_t(key.n) && same(e->key.data(), key.word, key.n)) {
      e->used = ++tick_;
      return e;
    }
  }
  return nullptr;
}

Entry* Cache::add(const Key& key, std::shared_ptr<Entry> entry) {
  entry->key.assign(key.word, key.word + key.n);
  entry->hash = key.hash;
  entry->used = ++tick_;
  auto* set = &table_[(key.hash % sets_) * kWays];
  int place = 0;
  for (int i = 0; i < kWays; ++i) {
    if (!set[i]) {
      place = i;
      break;
    }
    if (set[i]->used < set[place]->used) place = i;
  }
  std::shared_ptr<Entry> old;
  {
    std::lock_guard hold(lock_);
    old = std::move(set[place]);
    if (old) forget(old.get());
    set[place] = std::move(entry);
  }
  return set[place].get();
}

void Cache::remove(Entry* entry) {
  auto* set = &table_[(entry->hash % sets_) * kWays];
  std::shared_ptr<Entry> old;
  std::lock_guard hold(lock_);
  for (int i = 0; i < kWays; ++i)
    if (set[i].get() == entry) {
      old = std::move(set[i]);
      for (int k = i; k + 1 < kWays; ++k) set[k] = std::move(set[k + 1]);  // no holes: find stops at one
      break;
    }
  if (old) forget(old.get());
}

void Cache::forget(Entry* entry) {
  retire(*entry);
  for (Entry*& e : last_)
    if (e == entry) e = nullptr;
}

void Cache::clear() {
  std::fill(std::begin(last_), std::end(last_), nullptr);
  std::vector<std::shared_ptr<Entry>> old(table_.size());
  {
    std::lock_guard hold(lock_);
    old.swap(table_);
  }
  for (auto& e : old)
    if (e) retire(*e);
}

void Cache::each(const std::function<void(const Entry&)>& see) {
  std::lock_guard hold(lock_);
  for (auto& e : table_)
    if (e) see(*e);
}

void each_cache(const std::function<void(Cache&)>& see) {
  std::lock_guard hold(all().lock);
  for (Cache* c : all().caches) see(*c);
}

}  // namespace oarlock::dispatch
