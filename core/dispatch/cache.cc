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

void make_key(const Call& call, Key& key) {
  key.push(uint64_t(call.op.id) | uint64_t(call.device->index) << 16 | uint64_t(call.n_inputs) << 24 | uint64_t(call.n_attrs) << 48 |
           uint64_t(call.with_hidden) << 56 | uint64_t(call.decompose) << 57 | uint64_t(call.route) << 58);
  if (call.only) key.push(reinterpret_cast<uint64_t>(call.only));
  for (int i = 0; i < call.n_inputs; ++i) {
    const TensorImpl* t = call.inputs[i];
    if (!t) {
      key.push(0);
      continue;
    }
    uint64_t address = t->device->addressable ? reinterpret_cast<uint64_t>(t->view.data) : t->view.byte_offset;
    uint64_t alignment = (address & 63) == 0 ? 6 : uint64_t(__builtin_ctzll(address));
    key.push(1 | uint64_t(t->dtype) << 8 | uint64_t(t->shape.rank) << 16 | alignment << 24 | uint64_t(t->contiguous) << 32 |
             uint64_t(t->storage != nullptr) << 33 | uint64_t(t->device->index) << 40);
    for (int k = 0; k < t->shape.rank; ++k) key.push(uint64_t(t->shape.d[k].n));
    if (!t->contiguous)
      for (int k = 0; k < t->shape.rank; ++k) key.push(uint64_t(t->strides[k]));
  }
  for (uint32_t i = 0; i < call.n_attrs; ++i) {
    const oar_attr_t& a = call.attrs[i];
    key.push(uint64_t(a.type) | uint64_t(a.is_set) << 16 | a.count << 24);
    if (!a.is_set) continue;
    switch (a.type) {
      case OAR_ATTR_STRING:
        for (uint64_t at = 0; at < a.count && key.fits; at += 8) {
          uint64_t w = 0;
          std::memcpy(&w, a.value.str + at, std::min<uint64_t>(8, a.count - at));
          key.push(w);
        }
        break;
      case OAR_ATTR_INTS:
      case OAR_ATTR_FLOATS:
        for (uint64_t k = 0; k < a.count && key.fits; ++k) key.push(uint64_t(a.value.ints[k]));
        break;
      default: key.push(uint64_t(a.value.i));
    }
  }
  // Two lanes, so that one product does not wait for the other.
  uint64_t a = uint64_t(key.n), b = 0x2545F4914F6CDD1Dull;
  int i = 0;
  for (; i + 1 < key.n; i += 2) {
    a = (a ^ key.word[i]) * 0x9E3779B97F4A7C15ull;
    b = (b ^ key.word[i + 1]) * 0xD6E8FEB86659FD93ull;
    a ^= a >> 32;
    b ^= b >> 32;
  }
  if (i < key.n) a = (a ^ key.word[i]) * 0x9E3779B97F4A7C15ull;
  key.hash = (a ^ a >> 29) * 31 + (b ^ b >> 29);
}

const char* route_name(Kind kind) {
  switch (kind) {
    case Kind::promote: return "promotion";
    case Kind::kernel: return "kernel";
    case Kind::decomposition: return "decomposition";
    case Kind::reference: return "reference";
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
  if (!c) [[unlikely]] c = CacheOwner::make();
  return *c;
}

Entry* Cache::find(const Key& key) {
  if (uint64_t g = generation.load(std::memory_order_acquire); g != generation_) [[unlikely]] {
    clear();
    generation_ = g;
  }
  auto* set = &table_[(key.hash % sets_) * kWays];
  for (int i = 0; i < kWays; ++i) {
    Entry* e = set[i].get();
    if (!e) return nullptr;
    if (e->hash == key.hash && e->key.size() == size_t(key.n) && !std::memcmp(e->key.data(), key.word, size_t(key.n) * 8)) {
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
    if (old) retire(*old);
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
      for (int k = i; k + 1 < kWays; ++k) set[k] = std::move(set[k + 1]);   // no holes: find stops at one
      break;
    }
  if (old) retire(*old);
}

void Cache::clear() {
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
