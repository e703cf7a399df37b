// Memory of a plugin's device: the plugin gives chunks, the core pools them per stream.
#include "core/device/device_memory.h"

#include "core/device/host_memory.h"

namespace oarlock {
namespace {

class DeviceCache final : public BlockCache {
 public:
  explicit DeviceCache(DeviceState& device) : device_(device) {}

 protected:
  Status system_allocate(uint64_t size_bytes, Block* out) override {
    void* data = nullptr;
    oar_status_t s = device_.plugin->memory->alloc(device_.handle, 0, size_bytes, device_.alignment, nullptr, &data);
    if (s != OAR_OK) return plugin_failure(*device_.plugin, s, "memory on " + device_.name);
    *out = {data, 0, size_bytes};
    return {};
  }
  void system_free(const Block& block) override {
    // Somebody's work may still use it: the driver frees it once the stream has come by.
    Stream* s = device_.default_stream;
    device_.plugin->memory->free(device_.handle, 0, block.data, s ? s->handle : nullptr);
  }
  Block cut(const Block& chunk, uint64_t at, uint64_t size_bytes) const override {
    if (device_.addressable) return {static_cast<char*>(chunk.data) + at, 0, size_bytes};
    return {chunk.data, chunk.byte_offset + at, size_bytes};
  }

 private:
  DeviceState& device_;
};

Status usable(DeviceState& d) {
  if (forked())
    return {Code::unsupported, "memory on " + d.name +
                                   ": this process was forked after the device was opened. Start workers as "
                                   "threads or by spawning a new process."};
  if (d.lost.load(std::memory_order_relaxed))
    return {Code::device_lost, "memory on " + d.name + ": the device is lost. Start a new process."};
  return {};
}

}  // namespace

std::unique_ptr<BlockCache> make_device_cache(DeviceState& device) { return std::make_unique<DeviceCache>(device); }

Result<Block> device_allocate(DeviceState& d, uint64_t size_bytes, Stream* stream) {
  if (d.is_host()) return host_allocate(size_bytes);
  if (Status s = usable(d); !s.ok()) return s;
  if (d.memory) return d.memory->allocate(size_bytes, stream);
  if (size_bytes == 0) return Block{};
  void* data = nullptr;
  oar_status_t s =
      d.plugin->memory->alloc(d.handle, 0, size_bytes, d.alignment, stream ? stream->handle : nullptr, &data);
  if (s != OAR_OK) return plugin_failure(*d.plugin, s, "memory on " + d.name);
  return Block{data, 0, size_bytes};
}

void device_free(DeviceState& d, const Block& block, Stream* stream) noexcept {
  if (d.is_host()) return host_free(block);
  if (block.size_bytes == 0 || forked()) return;
  if (d.memory) return d.memory->free(block, stream);
  if (stream) {
    std::lock_guard hold(stream->lock);
    d.plugin->memory->free(d.handle, 0, block.data, stream->handle);
  } else {
    d.plugin->memory->free(d.handle, 0, block.data, nullptr);
  }
}

}  // namespace oarlock
