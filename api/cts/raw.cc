#include "api/cts/raw.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

namespace oarlock::cts {

namespace {
thread_local std::string t_error;

void host_log(const oar_host_t*, int32_t, oar_str_t) {}
oar_status_t host_error_set(const oar_host_t*, oar_status_t status, int64_t native, oar_str_t text) {
  t_error = std::string(view(text));
  if (native != 0) t_error += fmt::format(" ({})", native);
  if (t_error.empty()) t_error = "(an empty text)";
  return status;
}
void* host_alloc(const oar_host_t*, size_t size_bytes, size_t alignment) {
  alignment = std::max(alignment, sizeof(void*));
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, std::max<size_t>(size_bytes, 1)) == 0 ? memory : nullptr;
}
void host_free(const oar_host_t*, void* memory) { ::free(memory); }
void host_parallel_for(const oar_host_t*, int64_t n, int64_t, void (*body)(void*, int64_t, int64_t), void* context) {
  if (n > 0) body(context, 0, n);
}
uint32_t host_thread_count(const oar_host_t*) { return 1; }
oar_status_t host_output_alloc(const oar_host_t* host, const oar_frame_t*, uint32_t, uint32_t, const int64_t*,
                               const oar_view_t**) {
  return host_error_set(host, OAR_UNSUPPORTED, 0, str("no output is of unknown size here"));
}
oar_status_t host_kv_put(const oar_host_t* host, oar_kv_t*, oar_str_t, oar_str_t) {
  return host_error_set(host, OAR_UNSUPPORTED, 0, str("no group here"));
}
oar_status_t host_kv_get(const oar_host_t* host, oar_kv_t*, oar_str_t, uint64_t, void*, size_t, size_t*) {
  return host_error_set(host, OAR_UNSUPPORTED, 0, str("no group here"));
}
int host_cancelled(const oar_host_t*) { return 0; }
oar_status_t host_op_register(const oar_host_t*, const oar_op_schema_t*) { return OAR_OK; }
}  // namespace

const oar_host_t& kit_host() {
  static const oar_host_t host = {.struct_size = sizeof(oar_host_t),
                                  .abi_min = OAR_ABI_VERSION,
                                  .abi_max = OAR_ABI_VERSION,
                                  .log_level = OAR_LOG_WARNING,
                                  .version = OAR_STR("conformance kit"),
                                  .log = host_log,
                                  .error_set = host_error_set,
                                  .alloc = host_alloc,
                                  .free = host_free,
                                  .parallel_for = host_parallel_for,
                                  .thread_count = host_thread_count,
                                  .output_alloc = host_output_alloc,
                                  .kv_put = host_kv_put,
                                  .kv_get = host_kv_get,
                                  .cancelled = host_cancelled,
                                  .op_register = host_op_register};
  return host;
}

std::string last_error() { return std::exchange(t_error, {}); }
std::string because() {
  std::string text = last_error();
  return text.empty() ? "" : ": " + text;
}

QueryFunction open_library(const std::string& path, std::string& out_reason) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* text = ::dlerror();
    out_reason = text ? text : "dlopen failed without a text";
    return nullptr;
  }
  auto query = reinterpret_cast<QueryFunction>(::dlsym(library, "oar_plugin_query"));
  if (!query) out_reason = "it has no oar_plugin_query";
  return query;
}

Plugin::Plugin(Check& check, const std::string& path) {
  std::string reason;
  QueryFunction query = open_library(path, reason);
  check.need(query != nullptr, "can't be loaded: {}", reason);
  oar_status_t status = query(&kit_host(), &info);
  check.need(status == OAR_OK && info, "oar_plugin_query gave {}{}", status, because());
  check.need(info->get_table != nullptr, "oar_plugin_t.get_table is NULL");
  auto fetch = [&](auto& table, uint64_t id, uint32_t version) {
    table = static_cast<std::decay_t<decltype(table)>>(info->get_table(&kit_host(), id, 1, version));
  };
  fetch(device, OAR_TABLE_DEVICE, OAR_DEVICE_VERSION);
  fetch(memory, OAR_TABLE_MEMORY, OAR_MEMORY_VERSION);
  fetch(stream, OAR_TABLE_STREAM, OAR_STREAM_VERSION);
  fetch(pack, OAR_TABLE_PACK, OAR_PACK_VERSION);
  fetch(kernel, OAR_TABLE_KERNEL, OAR_KERNEL_VERSION);
  fetch(graph, OAR_TABLE_GRAPH, OAR_GRAPH_VERSION);
  fetch(comm, OAR_TABLE_COMM, OAR_COMM_VERSION);
  fetch(profiler, OAR_TABLE_PROFILER, OAR_PROFILER_VERSION);
}

Rig::Rig(Check& c, const std::string& path) : check(c), plugin(c, path) {
  if (!plugin.device) check.skip("the plugin brings no device of its own");
  check.need(plugin.memory && plugin.stream, "a device table without memory and stream tables");
  uint32_t n = 0;
  const oar_device_info_t* const* infos = nullptr;
  oar_status_t status = plugin.device->enumerate(&kit_host(), &n, &infos);
  check.need(status == OAR_OK, "enumerate gave {}{}", status, because());
  if (n == 0) check.skip("no device is present");
  info = infos[0];
  oar_options_t options{sizeof(oar_options_t)};
  status = plugin.device->open(&kit_host(), 0, &options, &device);
  check.need(status == OAR_OK && device, "device open(0) gave {}{}", status, because());
  stream = make_stream();
}

Rig::~Rig() {
  for (oar_stream_t* s : streams_) wait(s);
  for (void* m : memory_) memory().free(device, 0, m, nullptr);
  for (oar_event_t* e : events_) streams().event_destroy(e);
  for (oar_stream_t* s : streams_) streams().destroy(s);
  if (device) plugin.device->close(device);
}

oar_stream_t* Rig::make_stream() {
  oar_stream_t* s = nullptr;
  oar_status_t status = streams().create(device, 0, 0, &s);
  check.need(status == OAR_OK && s, "stream create gave {}{}", status, because());
  streams_.push_back(s);
  return s;
}

oar_event_t* Rig::make_event() {
  oar_event_t* e = nullptr;
  oar_status_t status = streams().event_create(device, &e);
  check.need(status == OAR_OK && e, "event_create gave {}{}", status, because());
  events_.push_back(e);
  return e;
}

void* Rig::alloc(uint64_t size_bytes, uint64_t alignment) {
  void* data = nullptr;
  oar_status_t status = memory().alloc(device, 0, size_bytes, alignment, nullptr, &data);
  check.need(status == OAR_OK, "alloc of {} bytes gave {}{}", size_bytes, status, because());
  check.need(data || size_bytes == 0, "alloc of {} bytes gave OAR_OK and no memory", size_bytes);
  memory_.push_back(data);
  return data;
}

void Rig::free(void* data) {
  memory_.erase(std::find(memory_.begin(), memory_.end(), data));
  memory().free(device, 0, data, nullptr);
}

oar_region_t contiguous_region(void* dst, uint64_t dst_offset, bool dst_on_host, void* src, uint64_t src_offset,
                               bool src_on_host, uint64_t size_bytes) {
  oar_region_t r{};
  r.struct_size = sizeof(r);
  r.dst = dst;
  r.src = src;
  r.dst_offset = dst_offset;
  r.src_offset = src_offset;
  r.dst_on_host = dst_on_host;
  r.src_on_host = src_on_host;
  r.size_bytes = size_bytes;
  return r;
}

void Rig::write(void* device_data, const void* from, uint64_t size_bytes, uint64_t offset) {
  oar_region_t r = contiguous_region(device_data, offset, false, const_cast<void*>(from), 0, true, size_bytes);
  oar_status_t status = copy_one(memory(), stream, r);
  check.need(status == OAR_OK, "copy of {} bytes to the device gave {}{}", size_bytes, status, because());
  status = wait(stream);
  check.need(status == OAR_OK, "waiting for a copy to the device gave {}{}", status, because());
}

void Rig::read(const void* device_data, void* to, uint64_t size_bytes, uint64_t offset) {
  oar_region_t r = contiguous_region(to, 0, true, const_cast<void*>(device_data), offset, false, size_bytes);
  oar_status_t status = copy_one(memory(), stream, r);
  check.need(status == OAR_OK, "copy of {} bytes to the host gave {}{}", size_bytes, status, because());
  status = wait(stream);
  check.need(status == OAR_OK, "waiting for a copy to the host gave {}{}", status, because());
}

oar_status_t Rig::wait(oar_stream_t* s) {
  oar_event_t* event = nullptr;
  oar_status_t status = streams().event_create(device, &event);
  if (status != OAR_OK) return status;
  status = streams().event_record(s, event);
  if (status == OAR_OK) {
    if (OAR_HAS(plugin.stream, flush) && streams().flush) streams().flush(s);
    status = streams().event_sync(event, UINT64_MAX);
  }
  streams().event_destroy(event);
  return status;
}

}  // namespace oarlock::cts
