#include <omp.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/device/device.h"
#include "core/device/output.h"
#include "core/op/schema.h"

namespace oarlock {
namespace {

struct LastError {
  oar_status_t status = OAR_OK;
  int64_t native = 0;
  std::string text;
};
LastError& last_error() {
  static thread_local LastError e;
  return e;
}
const Plugin& plugin_of(const oar_host_t* host) { return *reinterpret_cast<const PluginHost*>(host)->plugin; }

void OAR_CALL host_log(const oar_host_t* host, int32_t level, oar_str_t text) {
  log(level, plugin_of(host).info.name + ": " + std::string(text.data ? text.data : "", text.data ? text.size : 0));
}
oar_status_t OAR_CALL host_error_set(const oar_host_t*, oar_status_t status, int64_t native, oar_str_t text) {
  last_error() = {status, native, std::string(text.data ? text.data : "", text.data ? text.size : 0)};
  return status;
}
void* OAR_CALL host_alloc(const oar_host_t*, size_t size_bytes, size_t alignment) {
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  void* p = nullptr;
  return posix_memalign(&p, alignment, size_bytes ? size_bytes : 1) == 0 ? p : nullptr;
}
void OAR_CALL host_free(const oar_host_t*, void* memory) { std::free(memory); }
void OAR_CALL host_parallel_for(const oar_host_t*, int64_t n, int64_t grain,
                                void(OAR_CALL* body)(void*, int64_t, int64_t), void* context) {
  parallel_for(n, grain, body, context);
}
uint32_t OAR_CALL host_thread_count(const oar_host_t*) { return thread_count(); }
oar_status_t OAR_CALL host_output_alloc(const oar_host_t*, const oar_frame_t* frame, uint32_t output, uint32_t n_dims,
                                        const int64_t* shape, const oar_view_t** out_view) {
  return allocate_dynamic_output(frame, output, n_dims, shape, out_view);
}
oar_status_t OAR_CALL host_kv_put(const oar_host_t* host, oar_kv_t*, oar_str_t, oar_str_t) {
  return host_error_set(host, OAR_UNSUPPORTED, 0, OAR_STR("kv_put: this process belongs to no group of ranks"));
}
oar_status_t OAR_CALL host_kv_get(const oar_host_t* host, oar_kv_t*, oar_str_t, uint64_t, void*, size_t,
                                  size_t* out_size) {
  if (out_size) *out_size = 0;
  return host_error_set(host, OAR_UNSUPPORTED, 0, OAR_STR("kv_get: this process belongs to no group of ranks"));
}
int OAR_CALL host_cancelled(const oar_host_t*) { return 0; }
oar_status_t OAR_CALL host_op_register(const oar_host_t* host, const oar_op_schema_t* schema) {
  Result<op::OpId> id = op::register_schema(plugin_of(host), schema);
  if (id) return OAR_OK;
  std::string_view text = id.status().text();
  return host_error_set(host, oar_status_t(id.status().code()), 0, {text.data(), text.size()});
}

bool in_child = false;
void mark_child() { in_child = true; }

}  // namespace

void fill_host(PluginHost& h, Plugin* plugin) {
  h.plugin = plugin;
  h.host = {.struct_size = sizeof(oar_host_t),
            .abi_min = OAR_ABI_VERSION,
            .abi_max = OAR_ABI_VERSION,
            .log_level = int32_t(setting::log_level.load()),
            .version = {OARLOCK_VERSION, sizeof(OARLOCK_VERSION) - 1},
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
}

Status plugin_failure(const Plugin& plugin, oar_status_t status, std::string_view what) {
  LastError& e = last_error();
  std::string text = std::string(what) + ": " + plugin.info.name + ": ";
  if (e.status == status && !e.text.empty()) {
    text += e.text;
    if (e.native != 0) text += " (its code " + std::to_string(e.native) + ")";
  } else {
    text += std::string(name(Code(status))) + ", status " + std::to_string(status) + ", without a text";
  }
  e = {};
  if (status > 0) return {Code::internal, text};
  return {Code(status), text};
}
void clear_plugin_error() { last_error().status = OAR_OK; }

bool forked() { return in_child; }
void watch_fork() { pthread_atfork(nullptr, nullptr, mark_child); }

static thread_local int t_budget = 0;
ThreadBudget::ThreadBudget(int threads) : before_(t_budget) {
  if (threads > 0) t_budget = threads;
}
ThreadBudget::~ThreadBudget() { t_budget = before_; }

uint32_t thread_count() {
  int64_t wanted = t_budget ? t_budget : setting::threads.load(std::memory_order_relaxed);
  if (in_child || omp_in_parallel()) return 1;
  return uint32_t(wanted > 0 ? wanted : omp_get_max_threads());
}

void parallel_for(int64_t n, int64_t grain, void(OAR_CALL* body)(void*, int64_t, int64_t), void* context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int64_t pieces = std::min<int64_t>(n / grain, thread_count());
  if (pieces <= 1) return body(context, 0, n);
#pragma omp parallel for schedule(static, 1) num_threads(int(pieces))
  for (int64_t i = 0; i < pieces; ++i) body(context, n * i / pieces, n * (i + 1) / pieces);
}

}  // namespace oarlock
