// raw_host.h - a host of the plugin ABI in its smallest form, without the core: what a plugin must get by with, and
// what the tests of sim and of the misbehaving plugins load plugins with.
#ifndef OARLOCK_TESTS_ABI_RAW_HOST_H
#define OARLOCK_TESTS_ABI_RAW_HOST_H
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include "kit.h"

namespace oarlock::test {

// The last text that error_set noted on this thread.
inline std::string& last_error() {
  static thread_local std::string text;
  return text;
}

// Everything that plugins logged, in order, from any thread.
struct Log {
  std::mutex lock;
  std::string text;
};
inline Log& host_log() {
  static Log log;
  return log;
}

inline void host_write(const oar_host_t*, int32_t, oar_str_t text) {
  std::lock_guard<std::mutex> guard(host_log().lock);
  host_log().text.append(text.data, text.size).append("\n");
}

inline oar_status_t host_error_set(const oar_host_t*, oar_status_t status, int64_t, oar_str_t text) {
  last_error().assign(text.data, text.size);
  return status;
}

inline void* host_alloc(const oar_host_t*, size_t size_bytes, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size_bytes) == 0 ? memory
                                                                                                         : nullptr;
}

inline void host_free(const oar_host_t*, void* memory) { std::free(memory); }

inline void host_parallel_for(const oar_host_t*, int64_t n, int64_t, void (*body)(void*, int64_t, int64_t),
                              void* context) {
  if (n > 0) body(context, 0, n);
}

inline uint32_t host_thread_count(const oar_host_t*) { return 1; }
inline int host_cancelled(const oar_host_t*) { return 0; }

inline oar_host_t make_host() {
  oar_host_t host{};
  host.struct_size = sizeof(host);
  host.abi_min = host.abi_max = OAR_ABI_VERSION;
  host.log_level = OAR_LOG_DEBUG;
  host.version = OAR_STR("raw test host");
  host.log = host_write;
  host.error_set = host_error_set;
  host.alloc = host_alloc;
  host.free = host_free;
  host.parallel_for = host_parallel_for;
  host.thread_count = host_thread_count;
  host.cancelled = host_cancelled;
  return host;
}

inline const oar_host_t* raw_host() {
  static const oar_host_t host = make_host();
  return &host;
}

using Query = oar_status_t (*)(const oar_host_t*, const oar_plugin_t**);

// A loaded plugin and its tables; null where it has none. Never unloaded.
struct RawPlugin {
  const oar_plugin_t* plugin = nullptr;
  const oar_device_table_t* device = nullptr;
  const oar_memory_table_t* memory = nullptr;
  const oar_stream_table_t* stream = nullptr;
  const oar_pack_table_t* pack = nullptr;
  const oar_kernel_table_t* kernel = nullptr;
  const oar_graph_table_t* graph = nullptr;
  std::string error;

  explicit RawPlugin(const std::string& path, const oar_host_t* host = raw_host()) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      error = dlerror();
      return;
    }
    auto query = reinterpret_cast<Query>(dlsym(library, "oar_plugin_query"));
    if (query == nullptr) {
      error = "no oar_plugin_query";
      return;
    }
    if (query(host, &plugin) != OAR_OK || plugin == nullptr) {
      error = "query: " + last_error();
      return;
    }
    auto table = [&](uint64_t id) { return plugin->get_table(host, id, 1, 1); };
    device = static_cast<const oar_device_table_t*>(table(OAR_TABLE_DEVICE));
    memory = static_cast<const oar_memory_table_t*>(table(OAR_TABLE_MEMORY));
    stream = static_cast<const oar_stream_table_t*>(table(OAR_TABLE_STREAM));
    pack = static_cast<const oar_pack_table_t*>(table(OAR_TABLE_PACK));
    kernel = static_cast<const oar_kernel_table_t*>(table(OAR_TABLE_KERNEL));
    graph = static_cast<const oar_graph_table_t*>(table(OAR_TABLE_GRAPH));
  }
};

}  // namespace oarlock::test
#endif
