// A plugin inside the test program that keeps every rule, and knobs to break one at a time. Each fake has a host of its
// own and is wrapped by the layers under test.
#pragma once
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <oarlock/plugin.h>

#include "core/device/layer/layer.h"

namespace oarlock::fake {

struct Host : oar_host_t {
  std::vector<std::string> errors, logs;
  std::mutex mutex;

  Host() : oar_host_t{} {
    struct_size = sizeof(oar_host_t);
    abi_min = abi_max = OAR_ABI_VERSION;
    version = OAR_STR("test");
    log = [](const oar_host_t* h, int32_t, oar_str_t text) {
      auto self = const_cast<Host*>(static_cast<const Host*>(h));
      std::lock_guard lock(self->mutex);
      self->logs.emplace_back(text.data, text.size);
    };
    error_set = [](const oar_host_t* h, oar_status_t status, int64_t, oar_str_t text) -> oar_status_t {
      auto self = const_cast<Host*>(static_cast<const Host*>(h));
      std::lock_guard lock(self->mutex);
      self->errors.emplace_back(text.data, text.size);
      return status;
    };
    parallel_for = [](const oar_host_t*, int64_t n, int64_t, void (*body)(void*, int64_t, int64_t), void* context) {
      body(context, 0, n);
    };
    thread_count = [](const oar_host_t*) -> uint32_t { return 3; };
    kv_get = [](const oar_host_t*, oar_kv_t*, oar_str_t, uint64_t, void* buffer, size_t capacity,
                size_t* out_size) -> oar_status_t {
      *out_size = 5;
      std::memcpy(buffer, "value", capacity < 5 ? capacity : 5);
      return OAR_OK;
    };
  }
};

// The state of the one plugin; tests change it between calls.
struct Plugin {
  const oar_host_t* host = nullptr;  // as the query got it
  oar_plugin_t plugin{};
  oar_device_table_t device{};
  oar_memory_table_t memory{};
  oar_stream_table_t stream{};
  oar_pack_table_t pack{};
  oar_kernel_table_t kernel{};
  oar_graph_table_t graph{};
  oar_kernel_decl_t decl{};
  const oar_kernel_decl_t* decls[1] = {&decl};
  std::vector<void*> seen_states;  // as launch got them
  const oar_kernel_decl_t* seen_decl = nullptr;
  std::function<oar_status_t()> in_launch = [] { return OAR_OK; };
  std::function<oar_status_t()> in_copy = [] { return OAR_OK; };
  std::function<void(oar_prepared_t*)> in_prepare = [](oar_prepared_t*) {};
  std::function<void(oar_device_stats_t*)> in_stats = [](oar_device_stats_t* s) { s->struct_size = sizeof *s; };
  std::function<void*()> in_native = [] { return nullptr; };
};
inline Plugin* g = nullptr;

inline oar_status_t fail(oar_status_t status, const char* text) {
  return g->host->error_set(g->host, status, 0, {text, std::strlen(text)});
}

inline const oar_host_t* as_host(const oar_host_t* h) { return h; }
template <class T>
T* object() {
  return reinterpret_cast<T*>(new int(0));
}

// Fills in a plugin that breaks no rule.
inline void fill(Plugin* p, const oar_host_t* host) {
  g = p;
  p->host = host;
  p->device.struct_size = sizeof p->device;
  p->device.version = 1;
  p->device.enumerate = [](const oar_host_t*, uint32_t* out_n,
                           const oar_device_info_t* const** out_infos) -> oar_status_t {
    *out_n = 0;
    *out_infos = nullptr;
    return OAR_OK;
  };
  p->device.open = [](const oar_host_t*, uint32_t index, const oar_options_t*, oar_device_t** out) -> oar_status_t {
    if (index > 0) return -99;
    *out = object<oar_device_t>();
    return OAR_OK;
  };
  p->device.close = [](oar_device_t* d) { delete reinterpret_cast<int*>(d); };
  p->device.native = [](oar_device_t*) -> void* { return g->in_native(); };
  p->device.stats = [](oar_device_t*, oar_device_stats_t* out) -> oar_status_t {
    g->in_stats(out);
    return OAR_OK;
  };
  p->device.health = [](oar_device_t*) -> oar_status_t { return OAR_DEVICE_LOST; };  // without error_set

  p->memory.struct_size = sizeof p->memory;
  p->memory.version = 1;
  p->memory.alloc = [](oar_device_t*, uint32_t, uint64_t size, uint64_t, oar_stream_t*, void** out) -> oar_status_t {
    *out = new char[size + 1];
    return OAR_OK;
  };
  p->memory.free = [](oar_device_t*, uint32_t, void* data, oar_stream_t*) { delete[] static_cast<char*>(data); };
  p->memory.copy = [](oar_stream_t*, uint32_t, const oar_region_t* const*) -> oar_status_t { return g->in_copy(); };
  p->memory.fill = [](oar_stream_t*, const oar_span_t*, uint64_t, uint32_t) -> oar_status_t { return OAR_OK; };

  p->stream.struct_size = sizeof p->stream;
  p->stream.version = 1;
  p->stream.create = [](oar_device_t*, uint32_t, int32_t, oar_stream_t** out) -> oar_status_t {
    *out = object<oar_stream_t>();
    return OAR_OK;
  };
  p->stream.destroy = [](oar_stream_t* s) { delete reinterpret_cast<int*>(s); };
  p->stream.event_create = [](oar_device_t*, oar_event_t** out) -> oar_status_t {
    *out = object<oar_event_t>();
    return OAR_OK;
  };
  p->stream.event_destroy = [](oar_event_t* e) { delete reinterpret_cast<int*>(e); };
  p->stream.event_record = [](oar_stream_t*, oar_event_t*) -> oar_status_t { return OAR_OK; };
  p->stream.event_wait = [](oar_stream_t*, oar_event_t*) -> oar_status_t { return OAR_OK; };
  p->stream.event_query = [](oar_event_t*) -> oar_status_t { return OAR_NOT_READY; };
  p->stream.event_sync = [](oar_event_t*, uint64_t) -> oar_status_t { return OAR_OK; };

  p->pack.struct_size = sizeof p->pack;
  p->pack.version = 1;
  p->pack.open = [](const oar_host_t*, const oar_device_ref_t*, const oar_options_t*,
                    oar_pack_t** out) -> oar_status_t {
    *out = object<oar_pack_t>();
    return OAR_OK;
  };
  p->pack.close = [](oar_pack_t* pack) { delete reinterpret_cast<int*>(pack); };

  p->decl.struct_size = sizeof p->decl;
  p->decl.op = OAR_STR("add");
  p->decl.op_min = p->decl.op_max = 1;
  p->decl.prepare = [](oar_pack_t*, const oar_kernel_decl_t* decl, const oar_call_t*,
                       oar_prepared_t* out) -> oar_status_t {
    g->seen_decl = decl;
    out->struct_size = sizeof *out;
    out->state = nullptr;  // allowed, and two states are then alike
    g->in_prepare(out);
    return OAR_OK;
  };
  p->decl.launch = [](void* state, const oar_frame_t*) -> oar_status_t {
    g->seen_states.push_back(state);
    return g->in_launch();
  };
  p->decl.release = [](void*) {};
  p->kernel.struct_size = sizeof p->kernel;
  p->kernel.version = 1;
  p->kernel.declarations = [](oar_pack_t*, uint32_t* out_n,
                              const oar_kernel_decl_t* const** out_decls) -> oar_status_t {
    *out_n = 1;
    *out_decls = g->decls;
    return OAR_OK;
  };
  p->graph.struct_size = sizeof p->graph;
  p->graph.version = 1;
  p->graph.launch = [](void*, const oar_frame_t*) -> oar_status_t { return OAR_OK; };
  p->graph.release = [](void*) {};
  p->graph.capture_begin = [](oar_stream_t*) -> oar_status_t { return OAR_OK; };
  p->graph.capture_end = [](oar_stream_t*, oar_prepared_t* out) -> oar_status_t {
    out->struct_size = sizeof *out;
    return OAR_OK;
  };

  p->plugin.struct_size = sizeof p->plugin;
  p->plugin.abi_min = p->plugin.abi_max = OAR_ABI_VERSION;
  p->plugin.name = OAR_STR("fake");
  p->plugin.version = OAR_STR("1.0");
  p->plugin.get_table = [](const oar_host_t*, uint64_t id, uint32_t, uint32_t) -> const void* {
    switch (id) {
      case OAR_TABLE_DEVICE: return &g->device;
      case OAR_TABLE_MEMORY: return &g->memory;
      case OAR_TABLE_STREAM: return &g->stream;
      case OAR_TABLE_PACK: return &g->pack;
      case OAR_TABLE_KERNEL: return &g->kernel;
      case OAR_TABLE_GRAPH: return &g->graph;
      default: return nullptr;
    }
  };
}

template <class T>
const T* table(const oar_plugin_t* plugin, const oar_host_t* host, uint64_t id) {
  return static_cast<const T*>(plugin->get_table(host, id, 1, 1));
}

// The tables as the host sees them through the layers.
struct Tables {
  const oar_device_table_t* device;
  const oar_memory_table_t* memory;
  const oar_stream_table_t* stream;
  const oar_pack_table_t* pack;
  const oar_kernel_table_t* kernel;
  const oar_graph_table_t* graph;

  Tables(const oar_plugin_t* p, const oar_host_t* h)
      : device(table<oar_device_table_t>(p, h, OAR_TABLE_DEVICE)),
        memory(table<oar_memory_table_t>(p, h, OAR_TABLE_MEMORY)),
        stream(table<oar_stream_table_t>(p, h, OAR_TABLE_STREAM)),
        pack(table<oar_pack_table_t>(p, h, OAR_TABLE_PACK)),
        kernel(table<oar_kernel_table_t>(p, h, OAR_TABLE_KERNEL)),
        graph(table<oar_graph_table_t>(p, h, OAR_TABLE_GRAPH)) {}
};

// Room as the host gives it to out_ structs.
template <class T>
struct Room {
  alignas(16) unsigned char bytes[OAR_OUT_ROOM] = {};
  T* get() { return reinterpret_cast<T*>(bytes); }
  T* operator->() { return get(); }
};

}  // namespace oarlock::fake
