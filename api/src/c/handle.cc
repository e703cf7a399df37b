#include "api/src/c/handle.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace oarlock::c {
namespace {

// Slots never move and are never given back, so a stale handle may be looked up at any time. Odd generations are live.
struct Slot {
  std::atomic<uint32_t> generation{0};
  TensorImpl* tensor = nullptr;
};
constexpr uint32_t kChunk = 4096, kChunks = 65536;
std::atomic<Slot*> chunks[kChunks];
std::mutex lock;
uint32_t made = 0;
std::vector<uint32_t>& spare() {
  static auto* list = new std::vector<uint32_t>;
  return *list;
}
struct Mine {  // a thread's own spare slots
  std::vector<uint32_t> list;
  ~Mine() {
    std::lock_guard hold(lock);
    spare().insert(spare().end(), list.begin(), list.end());
    tls_mine = nullptr;
  }
  static thread_local Mine of_thread;
  __attribute__((tls_model("initial-exec"))) static thread_local Mine* tls_mine;  // 1 ns against 5 for of_thread
};
thread_local Mine Mine::of_thread;
thread_local Mine* Mine::tls_mine = nullptr;
std::vector<uint32_t>& mine() {
  if (!Mine::tls_mine) [[unlikely]]
    Mine::tls_mine = &Mine::of_thread;
  return Mine::tls_mine->list;
}

Slot& slot_at(uint32_t i) { return chunks[i / kChunk].load(std::memory_order_acquire)[i % kChunk]; }

void refill() {
  std::lock_guard hold(lock);
  auto& all = spare();
  for (int i = 0; i < 64 && !all.empty(); ++i) {
    mine().push_back(all.back());
    all.pop_back();
  }
  if (!mine().empty()) return;
  if (made == kChunk * kChunks)
    throw Error(Code::out_of_memory, "handles: " + std::to_string(made) + " are alive; release some.");
  if (made % kChunk == 0) chunks[made / kChunk].store(new Slot[kChunk], std::memory_order_release);
  for (int i = 0; i < 64; ++i) mine().push_back(made++);
}

Slot* live(oar_tensor_t* handle) {
  uint64_t bits = reinterpret_cast<uint64_t>(handle);
  uint32_t index = uint32_t(bits) - 1, generation = uint32_t(bits >> 32);
  if (uint32_t(bits) == 0 || !(generation & 1) || index / kChunk >= kChunks) return nullptr;
  Slot* chunk = chunks[index / kChunk].load(std::memory_order_acquire);
  if (!chunk) return nullptr;
  Slot& s = chunk[index % kChunk];
  return s.generation.load(std::memory_order_acquire) == generation ? &s : nullptr;
}

thread_local std::string error_text;
thread_local oar_status_t error_status = OAR_OK;

}  // namespace

oar_tensor_t* give(Tensor t) {
  std::vector<uint32_t>& list = mine();
  if (list.empty()) refill();
  uint32_t index = list.back();
  list.pop_back();
  Slot& s = slot_at(index);
  s.tensor = t.impl();
  std::construct_at(&t);  // empty again without a release: the slot has its reference now
  uint32_t generation = s.generation.load(std::memory_order_relaxed) + 1;
  s.generation.store(generation, std::memory_order_release);
  return reinterpret_cast<oar_tensor_t*>(uint64_t(generation) << 32 | (uint64_t(index) + 1));
}

TensorImpl* find(oar_tensor_t* handle) noexcept {
  Slot* s = live(handle);
  return s ? s->tensor : nullptr;
}

bool drop(oar_tensor_t* handle) noexcept {
  Slot* s = live(handle);
  if (!s) return false;
  uint32_t generation = uint32_t(reinterpret_cast<uint64_t>(handle) >> 32);
  TensorImpl* t = s->tensor;
  // Two threads may release one handle at once: only one of them wins.
  if (!s->generation.compare_exchange_strong(generation, generation + 1, std::memory_order_acq_rel)) return false;
  detail::release(t);
  mine().push_back(uint32_t(reinterpret_cast<uint64_t>(handle)) - 1);
  return true;
}

oar_status_t fail(Code code, std::string_view text) noexcept {
  try {
    error_text = text;
  } catch (...) { error_text.clear(); }
  error_status = oar_status_t(code) == OAR_OK ? oar_status_t(OAR_INTERNAL) : oar_status_t(code);
  return error_status;
}

}  // namespace oarlock::c

using namespace oarlock::c;
const char* OAR_CALL oar_error_text(void) { return error_text.c_str(); }
oar_status_t OAR_CALL oar_error_status(void) { return error_status; }
const char* OAR_CALL oar_version(void) { return OARLOCK_VERSION; }
