#include <algorithm>

#include <oarlock/base/device.h>

#include "core/base/generation.h"
#include "core/base/settings.h"
#include "core/device/device.h"
#include "core/device/host_memory.h"
#include "core/device/loader.h"

namespace oarlock {
namespace {

// Devices are reached by index without a lock: the array is fixed and the count only rises.
constexpr int kMaxDevices = 256;
struct Registry {
  DeviceState* devices[kMaxDevices]{};
  std::atomic<int> count{0};
  std::mutex lock;
  std::atomic<uint64_t> packs_changed{1};
  std::vector<const KernelIndex*> past;  // another thread may still read one
  Registry() {
    auto* host = new DeviceState;
    host->name = host->kind = "cpu";
    host->description = "host CPU";
    devices[0] = host;
    count = 1;
    watch_fork();
  }
};
Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}
std::atomic<bool> plugins_loaded{false};

}  // namespace

DeviceState& host_device() {
  static DeviceState& host = *registry().devices[0];
  return host;
}
DeviceState& device_at(int index) { return *registry().devices[index]; }
int device_count() { return registry().count.load(std::memory_order_acquire); }

DeviceState* device_named(std::string_view name) {
  int n = device_count();
  for (int i = 0; i < n; ++i) {
    DeviceState& d = device_at(i);
    if (d.name == name || (d.kind == name && (i == 0 || d.name == d.kind + ":0"))) return &d;
    if (i == 0 && name == "cpu:0") return &d;
  }
  return nullptr;
}

std::string device_list() {
  std::string all;
  for (int i = 0; i < device_count(); ++i) all += (i ? ", " : "") + device_at(i).name;
  return all;
}

DeviceState& add_device(std::unique_ptr<DeviceState> device) {
  Registry& r = registry();
  std::lock_guard hold(r.lock);
  int n = r.count.load();
  if (n == kMaxDevices) return *r.devices[0];
  int same = 0;
  for (int i = 0; i < n; ++i) same += r.devices[i]->kind == device->kind;
  device->index = n;
  device->name = device->kind + ":" + std::to_string(same);
  r.devices[n] = device.release();
  r.count.store(n + 1, std::memory_order_release);
  return *r.devices[n];
}

Pack* add_pack(std::unique_ptr<Pack> pack) {
  std::lock_guard hold(registry().lock);
  Pack* p = pack.release();
  p->device->packs.push_back(p);
  return p;
}
void plugins_changed() {
  registry().packs_changed.fetch_add(1, std::memory_order_acq_rel);
  something_changed();
}

const KernelIndex& kernel_index(DeviceState& device) {
  uint64_t now = registry().packs_changed.load(std::memory_order_acquire);
  const KernelIndex* have = device.kernels.load(std::memory_order_acquire);
  if (have && have->generation == now && have->by_op.size() == size_t(op::op_count())) return *have;
  std::lock_guard hold(registry().lock);
  auto* index = new KernelIndex;
  if (const KernelIndex* before = device.kernels.load(std::memory_order_acquire)) registry().past.push_back(before);
  index->generation = now;
  index->by_op.resize(size_t(op::op_count()));  // a plugin may add ops meanwhile: they are the next index's
  for (Pack* pack : device.packs) {
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    if (!pack->plugin->kernel || pack->plugin->kernel->declarations(pack->handle, &n, &decls) != OAR_OK) continue;
    for (uint32_t i = 0; i < n; ++i) {
      op::OpId id = op::find_op({decls[i]->op.data, decls[i]->op.size});
      if (id == op::kNoOp || id >= index->by_op.size()) continue;  // a newer core's op: not ours
      int version = op::op_at(id).def->version;
      if (int(decls[i]->op_min) > version || int(decls[i]->op_max) < 1) continue;
      index->by_op[id].push_back({pack, decls[i], decls[i]->priority});
    }
  }
  for (auto& list : index->by_op)
    std::stable_sort(list.begin(), list.end(),
                     [](const Kernel& a, const Kernel& b) { return a.priority > b.priority; });
  device.kernels.store(index, std::memory_order_release);
  return *index;
}

void ensure_plugins_loaded() {
  if (plugins_loaded.load(std::memory_order_acquire)) return;
  static std::recursive_mutex* once = new std::recursive_mutex;
  std::lock_guard hold(*once);
  static bool begun = false;  // a plugin's open may call back here
  if (begun) return;
  begun = true;
  load_search_path();
  plugins_loaded.store(true, std::memory_order_release);
}

int& current_device_index() {
  __attribute__((tls_model("initial-exec"))) static thread_local int index = 0;
  return index;
}

// ---- the public names

Device current_device() { return Device(current_device_index()); }
void set_device(Device device) { current_device_index() = device.index(); }
DeviceScope::DeviceScope(Device device) : before_(current_device_index()) { current_device_index() = device.index(); }
DeviceScope::~DeviceScope() { current_device_index() = before_; }

Result<Device> Device::find(std::string_view name) {
  if (DeviceState* d = device_named(name); d && d->is_host()) return Device(0);
  ensure_plugins_loaded();
  DeviceState* d = device_named(name);
  if (!d)
    return invalid("device: there is no \"" + std::string(name.substr(0, 80)) + "\". There are: " + device_list() +
                   ". `oarlock doctor` says why a plugin was not loaded.");
  return Device(d->index);
}
Device::Device(std::string_view name) : Device(find(name).take()) {}
std::string Device::name() const { return device_at(index_).name; }
std::string Device::description() const { return device_at(index_).description; }
void Device::synchronize() const {
  if (Stream* s = device_at(index_).default_stream) throw_if(oarlock::synchronize(*s));
}
std::vector<Device> devices() {
  ensure_plugins_loaded();
  std::vector<Device> all;
  for (int i = 0; i < device_count(); ++i) all.push_back(Device(i));
  return all;
}
MemoryStats memory_stats(Device device) {
  if (device.is_host()) return host_stats();
  auto& memory = device_at(device.index()).memory;
  return memory ? memory->stats() : MemoryStats{};
}
void reset_peak_memory(Device device) {
  if (device.is_host()) return host_memory().reset_peak();
  if (auto& memory = device_at(device.index()).memory) memory->reset_peak();
}
void release_cached_memory(Device device) {
  if (device.is_host()) return host_memory().trim();
  if (auto& memory = device_at(device.index()).memory) memory->trim();
}

}  // namespace oarlock
