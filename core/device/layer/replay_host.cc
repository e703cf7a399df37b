#include "core/device/layer/replay_host.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace oarlock::layer {

ReplaySession* g_session = nullptr;

std::string text_of(oar_str_t s) {
  return s.data ? std::string(s.data, std::min<size_t>(s.size, 4096)) : std::string();
}

namespace {

oar_status_t host_error_set(const oar_host_t*, oar_status_t status, int64_t native, oar_str_t text) {
  if (g_session) g_session->error = text_of(text) + (native ? " [" + std::to_string(native) + "]" : "");
  return status;
}
void* host_alloc(const oar_host_t*, size_t size, size_t alignment) {
  alignment = std::max<size_t>(alignment, 16);
  return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}
oar_status_t host_output_alloc(const oar_host_t* host, const oar_frame_t* frame, uint32_t output, uint32_t n_dims,
                               const int64_t* shape, const oar_view_t** out_view) {
  auto fail = [&](const char* text) { return host->error_set(host, OAR_UNSUPPORTED, 0, {text, std::strlen(text)}); };
  if (!g_session || !g_session->building || output >= frame->n_outputs || !frame->outputs[output] || n_dims > 32)
    return fail("replay: no such output");
  BuiltView* built = g_session->building->view_of(frame->outputs[output]);
  if (!built || !built->host) return fail("replay: an output of unknown size in device memory");
  oar_view_t& v = *built->view;
  auto sizes = static_cast<int64_t*>(g_session->building->room(8 * (n_dims + 1)));
  auto strides = static_cast<int64_t*>(g_session->building->room(8 * (n_dims + 1)));
  if (!sizes || !strides) return fail("replay: too many structs");
  int64_t n = 1;
  for (uint32_t i = n_dims; i-- > 0;) {
    sizes[i] = shape[i];
    strides[i] = n;
    if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n)) return fail("replay: a size that makes no sense");
  }
  v.n_dims = int32_t(n_dims);
  v.shape = sizes;
  v.strides = strides;
  if (!extent_of(v, &built->extent)) return fail("replay: a size that makes no sense");
  g_session->made.push_back(g_session->budget->take(built->extent.span_bytes));
  if (!g_session->made.back()) return fail("replay: takes more host memory than replay may hold");
  v.data = built->host = g_session->made.back().get();
  *out_view = &v;
  return OAR_OK;
}
oar_status_t host_kv_put(const oar_host_t*, oar_kv_t*, oar_str_t key, oar_str_t value) {
  if (g_session) g_session->keys[text_of(key)] = text_of(value);
  return OAR_OK;
}
oar_status_t host_kv_get(const oar_host_t* host, oar_kv_t*, oar_str_t key, uint64_t, void* buffer, size_t capacity,
                         size_t* out_size) {
  const std::string text = "replay: the recording has no key " + text_of(key);
  if (!g_session || !g_session->keys.count(text_of(key)))
    return host->error_set(host, OAR_TIMEOUT, 0, {text.data(), text.size()});
  const std::string& value = g_session->keys[text_of(key)];
  *out_size = value.size();
  std::memcpy(buffer, value.data(), std::min(capacity, value.size()));
  return OAR_OK;
}

}  // namespace

const oar_host_t* replay_host() {
  static const oar_host_t host = [] {
    oar_host_t h{};
    h.struct_size = sizeof h;
    h.abi_min = h.abi_max = OAR_ABI_VERSION;
    h.log_level = OAR_LOG_ERROR;
    h.version = OAR_STR("replay");
    h.log = [](const oar_host_t*, int32_t, oar_str_t) {};
    h.error_set = host_error_set;
    h.alloc = host_alloc;
    h.free = [](const oar_host_t*, void* p) { std::free(p); };
    h.parallel_for = [](const oar_host_t*, int64_t n, int64_t, void (*body)(void*, int64_t, int64_t), void* context) {
      if (n > 0) body(context, 0, n);
    };
    h.thread_count = [](const oar_host_t*) -> uint32_t { return 1; };
    h.output_alloc = host_output_alloc;
    h.kv_put = host_kv_put;
    h.kv_get = host_kv_get;
    h.cancelled = [](const oar_host_t*) { return 0; };
    h.op_register = [](const oar_host_t*, const oar_op_schema_t*) -> oar_status_t { return OAR_OK; };
    return h;
  }();
  return &host;
}

void replay_ignore_body(void*) {}
void replay_ignore_record(void*, const oar_record_t*) {}
const oar_claim_sink_t kReplaySink = {sizeof(oar_claim_sink_t), 0,
                                      [](const oar_claim_sink_t*, uint32_t, const uint32_t*, uint64_t) {},
                                      [](const oar_claim_sink_t*, uint32_t, uint32_t, oar_str_t) {}};
const oar_writer_t kReplayWriter = {sizeof(oar_writer_t), 0,
                                    [](const oar_writer_t*, const void*, size_t) -> oar_status_t { return OAR_OK; }};

}  // namespace oarlock::layer
