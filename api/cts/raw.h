// A plugin held by the C ABI alone, with a host of the kit's own: what levels 0 and 1 work with.
#pragma once
#include <oarlock/plugin.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/cts/test.h"

namespace oarlock::cts {

inline oar_str_t str(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view view(oar_str_t s) { return s.data ? std::string_view(s.data, s.size) : std::string_view(); }

// A field of a struct that may be older than this header; what it lacks is zero.
#define OAR_FIELD(ptr, field) (OAR_HAS(ptr, field) ? (ptr)->field : std::decay_t<decltype((ptr)->field)>{})

// The host that the kit shows to plugins. Functions do the least that the header promises; parallel_for is serial.
const oar_host_t& kit_host();
// What error_set noted on this thread since the last call; empty if nothing.
std::string last_error();
// ": <text>" of the last error, or nothing: for the end of a sentence.
std::string because();

// An out_ struct with the promised room, zeroed, and a guard behind it.
template <class T>
class Out {
 public:
  static constexpr size_t kGuard = 64;
  Out() {
    for (size_t i = 0; i < sizeof(bytes_); ++i) bytes_[i] = i < OAR_OUT_ROOM ? 0 : 0xA5;
    get()->struct_size = uint32_t(sizeof(T));
  }
  T* get() { return reinterpret_cast<T*>(bytes_); }
  T* operator->() { return get(); }
  bool guard_intact() const {
    for (size_t i = OAR_OUT_ROOM; i < sizeof(bytes_); ++i)
      if (bytes_[i] != 0xA5) return false;
    return true;
  }

 private:
  static_assert(sizeof(T) <= OAR_OUT_ROOM);
  alignas(16) unsigned char bytes_[OAR_OUT_ROOM + kGuard];
};

using QueryFunction = oar_status_t(OAR_CALL*)(const oar_host_t*, const oar_plugin_t**);
// dlopen, at once and locally, as the loader does it. Null with the reason.
QueryFunction open_library(const std::string& path, std::string& out_reason);

// Loaded and queried, tables fetched (null: not offered). Fails the test if that is impossible.
struct Plugin {
  const oar_plugin_t* info = nullptr;
  const oar_device_table_t* device = nullptr;
  const oar_memory_table_t* memory = nullptr;
  const oar_stream_table_t* stream = nullptr;
  const oar_pack_table_t* pack = nullptr;
  const oar_kernel_table_t* kernel = nullptr;
  const oar_graph_table_t* graph = nullptr;
  const oar_comm_table_t* comm = nullptr;
  const oar_profiler_table_t* profiler = nullptr;
  Plugin(Check& check, const std::string& path);
};

// Device 0 of a plugin, open, with a stream. Skips the test if the plugin brings no device of its own.
class Rig {
 public:
  Rig(Check& check, const std::string& path);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  Check& check;
  Plugin plugin;
  const oar_device_info_t* info = nullptr;
  oar_device_t* device = nullptr;
  oar_stream_t* stream = nullptr;
  const oar_memory_table_t& memory() const { return *plugin.memory; }
  const oar_stream_table_t& streams() const { return *plugin.stream; }

  oar_stream_t* make_stream();
  oar_event_t* make_event();
  // In space 0, usable at once.
  void* alloc(uint64_t size_bytes, uint64_t alignment = 0);
  void free(void* data);
  // Copies and waits.
  void write(void* device_data, const void* from, uint64_t size_bytes, uint64_t offset = 0);
  void read(const void* device_data, void* to, uint64_t size_bytes, uint64_t offset = 0);
  // Waits until all of the stream has run; OAR_OK, or the stream's error.
  oar_status_t wait(oar_stream_t* s);

 private:
  std::vector<oar_stream_t*> streams_;
  std::vector<oar_event_t*> events_;
  std::vector<void*> memory_;
};

oar_region_t contiguous_region(void* dst, uint64_t dst_offset, bool dst_on_host, void* src, uint64_t src_offset,
                               bool src_on_host, uint64_t size_bytes);
inline oar_status_t copy_one(const oar_memory_table_t& memory, oar_stream_t* stream, const oar_region_t& region) {
  const oar_region_t* one = &region;
  return memory.copy(stream, 1, &one);
}

}  // namespace oarlock::cts
