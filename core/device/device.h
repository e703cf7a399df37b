// Devices, streams, plugins, packs and kernels as the core holds them. None of them is ever destroyed before the process
// ends, so plain pointers to them don't dangle.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <oarlock/base/plugin.h>
#include <oarlock/plugin.h>

#include "core/device/memory.h"
#include "core/op/table.h"

namespace oarlock {

struct DeviceState;
struct Plugin;

// What a plugin is given: a host of its own, so that logs and layers can tell plugins apart.
struct PluginHost {
  oar_host_t host;  // first, so that the two pointers are one
  Plugin* plugin;
};

struct Plugin {
  PluginInfo info;
  PluginHost host;
  const oar_host_t* given_host = nullptr;  // host, or a layer around it: what the plugin was given
  const oar_plugin_t* query = nullptr;
  const oar_device_table_t* device = nullptr;
  const oar_memory_table_t* memory = nullptr;
  const oar_stream_table_t* stream = nullptr;
  const oar_pack_table_t* pack = nullptr;
  const oar_kernel_table_t* kernel = nullptr;
  const oar_graph_table_t* graph = nullptr;
  const oar_comm_table_t* comm = nullptr;
  const oar_profiler_table_t* profiler = nullptr;
};

// A plugin's kernels for one device.
struct Pack {
  Plugin* plugin;
  DeviceState* device;
  oar_pack_t* handle;
};

// One declaration that applies to a device, with what the dispatcher asks first copied out.
struct Kernel {
  Pack* pack;
  const oar_kernel_decl_t* decl;
  int priority;
};
struct KernelIndex {
  std::vector<std::vector<Kernel>> by_op;  // by OpId; highest priority first
  uint64_t generation = 0;
};

// A stream of a plugin's device. Everything that goes to one takes its lock: plugins may count on one thread at a time.
struct Stream {
  DeviceState* device;
  oar_stream_t* handle;
  std::mutex lock;
  std::unordered_map<Pack*, oar_stream_t*> pack_streams;  // stream_open of packs that another plugin's device uses
  struct Pending {                                        // host memory that a copy still reads
    oar_event_t* event;
    Block block;
  };
  std::deque<Pending> pending;
};

struct DeviceState {
  int index = 0;
  std::string name, kind, description;  // "sim:0", "sim"
  Plugin* plugin = nullptr;             // null: the host
  oar_device_t* handle = nullptr;
  const oar_device_info_t* info = nullptr;
  bool addressable = true;  // data is a pointer, arithmetic is fine
  bool host_access = true;
  uint64_t alignment = 64;
  DTypeSet storage_dtypes = ~DTypeSet(0);
  int32_t dlpack_kind = 1;
  std::unique_ptr<BlockCache> memory;  // null: the host (host_memory.h), or the plugin pools itself
  Stream* default_stream = nullptr;    // null: the host runs on the caller's thread
  std::vector<Pack*> packs;
  std::atomic<const KernelIndex*> kernels{nullptr};
  std::atomic<bool> lost{false};
  bool is_host() const { return plugin == nullptr; }
};

// ---- registry.cc
DeviceState& host_device();
DeviceState& device_at(int index);  // index of an existing device
int device_count();
DeviceState* device_named(std::string_view name);      // null: none. "sim" is "sim:0"
const KernelIndex& kernel_index(DeviceState& device);  // up to date with the packs
void ensure_plugins_loaded();                          // once; the first call loads
DeviceState& add_device(std::unique_ptr<DeviceState> device);
Pack* add_pack(std::unique_ptr<Pack> pack);  // takes effect at plugins_changed
void plugins_changed();
std::string device_list();    // "cpu, sim:0", for messages
int& current_device_index();  // of the calling thread

// ---- host_api.cc: the functions of oar_host_t
void fill_host(PluginHost& host, Plugin* plugin);
// The failure that a plugin's function just returned on this thread, as a Status: "<what>: <plugin>: <its text>".
Status plugin_failure(const Plugin& plugin, oar_status_t status, std::string_view what);
void clear_plugin_error();
// Runs body over [0, n) in pieces of at least grain on the process's one pool.
void parallel_for(int64_t n, int64_t grain, void(OAR_CALL* body)(void*, int64_t, int64_t), void* context);
// The budget of the calling thread: that of the innermost ThreadBudget, else the setting, else what OpenMP says.
uint32_t thread_count();
// While one lives, ops that this thread calls use at most so many threads; 0 changes nothing. Nests.
class ThreadBudget {
 public:
  explicit ThreadBudget(int threads);
  ~ThreadBudget();
  ThreadBudget(const ThreadBudget&) = delete;
  ThreadBudget& operator=(const ThreadBudget&) = delete;

 private:
  int before_;
};
// After fork() devices and the thread pool are dead in the child.
bool forked();
void watch_fork();  // once, by the registry

// ---- stream.cc
Stream* current_stream(DeviceState& device);  // of this thread; null for the host
Result<Stream*> make_stream(DeviceState& device);
Status synchronize(Stream& stream);  // waits; the stream's error if it has one
// Work enqueued on `later` from now on runs after what `earlier` holds now.
Status order(Stream& earlier, Stream& later);
// Copies through a stream. Host memory is staged, so the caller's may change at once.
Status copy_from_host(Stream& stream, const Block& to, uint64_t to_offset, const void* from, uint64_t bytes);
// Waits for the copy.
Status copy_to_host(Stream& stream, void* to, const Block& from, uint64_t from_offset, uint64_t bytes);
oar_stream_t* stream_for(Stream& stream, Pack* pack);  // what a kernel of that pack is launched on

}  // namespace oarlock
