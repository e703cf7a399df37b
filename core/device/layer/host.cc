// The host as a plugin under layers sees it: every callback passes here, so that layers know what was called on which
// thread.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "core/device/layer/record.h"
#include "core/device/layer/slot.h"
#include "core/device/layer/wrap.h"

namespace oarlock {
namespace layer {
namespace {

struct LayerHost {
  oar_host_t outer;
  const oar_host_t* inner;
  std::atomic<Recorder*> recorder{nullptr};
};

std::mutex g_mutex;
std::unordered_map<const oar_host_t*, LayerHost*>& by_inner() {
  static auto* map = new std::unordered_map<const oar_host_t*, LayerHost*>;  // never destroyed: plugins outlive main
  return *map;
}
std::unordered_map<const oar_host_t*, LayerHost*>& by_outer() {
  static auto* map = new std::unordered_map<const oar_host_t*, LayerHost*>;
  return *map;
}

LayerHost* find(const oar_host_t* outer) {
  std::lock_guard lock(g_mutex);
  auto it = by_outer().find(outer);
  return it == by_outer().end() ? nullptr : it->second;
}

}  // namespace

ErrorNote& error_note() {
  thread_local ErrorNote note;
  return note;
}

bool is_layer_host(const oar_host_t* host) { return find(host) != nullptr; }

void set_host_recorder(const oar_host_t* host, Recorder* recorder) {
  if (LayerHost* h = find(host)) h->recorder.store(recorder);
}

void host_enter(Fn fn, void* const* args, void* result) {
  const Function& f = function(fn);
  const oar_host_t* outer = argument<const oar_host_t*>(args, 0);
  LayerHost* host = find(outer);
  if (!host) {
    if (f.returns == Returns::status) *static_cast<oar_status_t*>(result) = OAR_INVALID_ARGUMENT;
    return;
  }
  check_host_call(outer, f);
  if (fn == Fn::host_error_set) {
    ErrorNote& note = error_note();
    oar_str_t text = argument<oar_str_t>(args, 3);
    ++note.count;
    note.status = argument<oar_status_t>(args, 1);
    note.native = argument<int64_t>(args, 2);
    note.text.assign(text.data ? text.data : "", text.data ? text.size : 0);
  }
  void* replaced[16];
  std::copy_n(args, f.n_args, replaced);
  replaced[0] = &host->inner;
  invoke(fn, reinterpret_cast<const char*>(host->inner) + f.offset, replaced, result);
  if (Recorder* recorder = host->recorder.load(std::memory_order_acquire)) recorder->host_call(f, args, result);
}

}  // namespace layer

const oar_host_t* layer_host(const oar_host_t* host) {
  using namespace layer;
  std::lock_guard lock(g_mutex);
  if (by_outer().count(host)) return host;
  LayerHost*& h = by_inner()[host];
  if (!h) {
    h = new LayerHost{};  // the plugin keeps it for ever
    h->inner = host;
    std::memcpy(&h->outer, host, std::min<size_t>(host->struct_size, sizeof(oar_host_t)));
    h->outer.struct_size = std::min<uint32_t>(host->struct_size, sizeof(oar_host_t));
    for (const Function& f : kFunctions) {
      if (std::strcmp(f.table, "host") != 0) continue;
      char* at = reinterpret_cast<char*>(&h->outer) + f.offset;
      void* present = nullptr;
      if (f.offset + sizeof(void*) <= h->outer.struct_size) std::memcpy(&present, at, sizeof present);
      if (present) std::memcpy(at, host_thunk(f.fn), sizeof(void*));
    }
    by_outer()[&h->outer] = h;
  }
  return &h->outer;
}

}  // namespace oarlock
