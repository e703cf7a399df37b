#include <cstring>

#include <oarlock/base/stream.h>

#include "core/base/settings.h"
#include "core/device/device.h"
#include "core/device/host_memory.h"
#include "core/profile/trace.h"

namespace oarlock {
namespace {

Status usable(const DeviceState& device, std::string_view what) {
  if (forked())
    return {Code::unsupported,
            std::string(what) + " on " + device.name +
                ": this process was forked after the device was opened. Start workers as threads or by "
                "spawning a new process."};
  if (device.lost.load(std::memory_order_relaxed))
    return {Code::device_lost, std::string(what) + " on " + device.name +
                                   ": the device is lost. Its tensors can't be read any more; start a new process."};
  return {};
}

Status failure(const DeviceState& device, oar_status_t status, std::string_view what) {
  if (status == OAR_DEVICE_LOST) const_cast<DeviceState&>(device).lost = true;
  return plugin_failure(*device.plugin, status, std::string(what) + " on " + device.name);
}

uint64_t timeout_ns() {
  int64_t ms = setting::sync_timeout_ms.load(std::memory_order_relaxed);
  return ms > 0 ? uint64_t(ms) * 1'000'000 : UINT64_MAX;
}

// Frees staging memory whose copy is over. The stream's lock is held. An error that a query tells stays on the stream and
// is met again by whoever waits.
void collect(Stream& s) {
  const auto& t = *s.device->plugin->stream;
  while (!s.pending.empty() && t.event_query(s.pending.front().event) != OAR_NOT_READY) {
    t.event_destroy(s.pending.front().event);
    host_free(s.pending.front().block);
    s.pending.pop_front();
  }
  clear_plugin_error();
}

oar_region_t region(void* dst, uint64_t dst_offset, bool dst_host, void* src, uint64_t src_offset, bool src_host,
                    uint64_t bytes) {
  oar_region_t r{};
  r.struct_size = sizeof r;
  r.dst = dst;
  r.src = src;
  r.dst_offset = dst_offset;
  r.src_offset = src_offset;
  r.dst_on_host = dst_host;
  r.src_on_host = src_host;
  r.size_bytes = bytes;
  return r;
}

// Waits for what the stream holds now. The lock is not held while waiting.
Status wait(Stream& s, std::string_view what) {
  DeviceState& d = *s.device;
  const auto& t = *d.plugin->stream;
  trace::Span span("synchronize", d.name.c_str());
  oar_event_t* event = nullptr;
  oar_status_t status = t.event_create(d.handle, &event);
  if (status != OAR_OK) return failure(d, status, what);
  {
    std::lock_guard hold(s.lock);
    status = t.event_record(s.handle, event);
    if (status == OAR_OK && t.flush) status = t.flush(s.handle);
  }
  if (status == OAR_OK) status = t.event_sync(event, timeout_ns());
  Status result;
  if (status == OAR_TIMEOUT) {
    // The event may still be in use by the device, so it stays.
    return {Code::timeout, std::string(what) + " on " + d.name + ": not done after " +
                               std::to_string(setting::sync_timeout_ms.load()) +
                               " ms (setting sync_timeout_ms). The device may hang."};
  }
  if (status != OAR_OK) result = failure(d, status, what);
  t.event_destroy(event);
  if (result.ok()) {
    std::lock_guard hold(s.lock);
    collect(s);
  }
  return result;
}

// Streams that StreamScope put in place of a device's default, by device. Nearly always empty.
std::unordered_map<int, Stream*>& chosen_streams() {
  static thread_local std::unordered_map<int, Stream*> map;
  return map;
}
__attribute__((tls_model("initial-exec"))) thread_local int scopes = 0;

}  // namespace

Stream* current_stream(DeviceState& device) {
  if (scopes == 0) return device.default_stream;
  auto it = chosen_streams().find(device.index);
  return it == chosen_streams().end() ? device.default_stream : it->second;
}

StreamHandle::StreamHandle(Device device) : device_(device), stream_(device_at(device.index()).default_stream) {}
StreamHandle StreamHandle::make(Device device) {
  StreamHandle h(device);
  if (!device.is_host()) h.stream_ = make_stream(device_at(device.index())).take();
  return h;
}
void StreamHandle::wait_for(const StreamHandle& earlier) const {
  if (stream_ && earlier.stream_) throw_if(order(*earlier.stream_, *stream_));
}
void StreamHandle::synchronize() const {
  if (stream_) throw_if(oarlock::synchronize(*stream_));
}
StreamScope::StreamScope(const StreamHandle& stream) : device_(stream.device().index()) {
  Stream*& chosen = chosen_streams()[device_];
  before_ = chosen;
  chosen = stream.impl();
  ++scopes;
}
StreamScope::~StreamScope() {
  --scopes;
  if (before_) chosen_streams()[device_] = before_;
  else chosen_streams().erase(device_);
}

Result<Stream*> make_stream(DeviceState& device) {
  oar_stream_t* handle = nullptr;
  oar_status_t status = device.plugin->stream->create(device.handle, 0, 0, &handle);
  if (status != OAR_OK) return failure(device, status, "stream");
  auto* s = new Stream;
  s->device = &device;
  s->handle = handle;
  return s;
}

Status synchronize(Stream& s) {
  OAR_TRY(usable(*s.device, "synchronize"));
  return wait(s, "synchronize");
}

Status order(Stream& earlier, Stream& later) {
  if (&earlier == &later) return {};
  OAR_TRY(usable(*earlier.device, "event"));
  if (earlier.device != later.device) return wait(earlier, "synchronize");
  const auto& t = *earlier.device->plugin->stream;
  oar_event_t* event = nullptr;
  oar_status_t status = t.event_create(earlier.device->handle, &event);
  if (status != OAR_OK) return failure(*earlier.device, status, "event");
  {
    std::lock_guard hold(earlier.lock);
    status = t.event_record(earlier.handle, event);
  }
  std::lock_guard hold(later.lock);
  if (status == OAR_OK) status = t.event_wait(later.handle, event);
  if (status != OAR_OK) return failure(*earlier.device, status, "event");
  later.pending.push_back({event, {}});  // destroyed once it has passed
  return {};
}

Status copy_from_host(Stream& s, const Block& to, uint64_t to_offset, const void* from, uint64_t bytes) {
  OAR_TRY(usable(*s.device, "copy"));
  if (bytes == 0) return {};
  Result<Block> staged = host_allocate(bytes);
  if (!staged) return std::move(staged.status());
  std::memcpy(staged->data, from, bytes);
  DeviceState& d = *s.device;
  const auto& t = *d.plugin->stream;
  oar_event_t* event = nullptr;
  oar_status_t status = t.event_create(d.handle, &event);
  if (status != OAR_OK) {
    host_free(*staged);
    return failure(d, status, "copy");
  }
  oar_region_t r = region(to.data, to.byte_offset + to_offset, false, staged->data, 0, true, bytes);
  if (d.addressable) r.dst = static_cast<char*>(to.data) + to_offset, r.dst_offset = 0;
  const oar_region_t* regions[] = {&r};
  std::lock_guard hold(s.lock);
  collect(s);
  status = d.plugin->memory->copy(s.handle, 1, regions);
  if (status == OAR_OK) {
    if (oar_status_t recorded = t.event_record(s.handle, event); recorded != OAR_OK) {
      // Nobody can tell when the copy is over: the staged memory stays for good.
      return failure(d, recorded, "copy");
    }
    s.pending.push_back({event, *staged});
    return {};
  }
  Status result = failure(d, status, "copy");
  t.event_destroy(event);
  host_free(*staged);
  return result;
}

Status copy_to_host(Stream& s, void* to, const Block& from, uint64_t from_offset, uint64_t bytes) {
  OAR_TRY(usable(*s.device, "copy"));
  if (bytes == 0) return {};
  DeviceState& d = *s.device;
  oar_region_t r = region(to, 0, true, from.data, from.byte_offset + from_offset, false, bytes);
  if (d.addressable) r.src = static_cast<char*>(from.data) + from_offset, r.src_offset = 0;
  const oar_region_t* regions[] = {&r};
  {
    std::lock_guard hold(s.lock);
    oar_status_t status = d.plugin->memory->copy(s.handle, 1, regions);
    if (status != OAR_OK) return failure(d, status, "copy");
  }
  return wait(s, "copy");
}

oar_stream_t* stream_for(Stream& s, Pack* pack) {
  if (pack->plugin == s.device->plugin) return s.handle;
  auto [it, fresh] = s.pack_streams.try_emplace(pack, nullptr);
  if (fresh && OAR_HAS(pack->plugin->pack, stream_open) && pack->plugin->pack->stream_open) {
    const auto& t = *s.device->plugin->stream;
    pack->plugin->pack->stream_open(pack->handle, OAR_HAS(&t, native) && t.native ? t.native(s.handle) : nullptr,
                                    &it->second);
  }
  return it->second;
}

}  // namespace oarlock
