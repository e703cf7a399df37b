// What a call through the plugin ABI costs: add of 16 f32 elements in the simd pack, beside the same loop in a function
// called directly. One JSON object a line; each figure is the median of 301 short repetitions, so that most of them run
// undisturbed.
#include <dlfcn.h>
#include <oarlock/plugin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int64_t kCount = 16;

template <class Body>
double median_ns(Body body) {
  constexpr int kRepetitions = 301, kCalls = 5000;
  std::vector<double> times;
  for (int r = 0; r < kRepetitions; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
                    kCalls);
  }
  std::nth_element(times.begin(), times.begin() + kRepetitions / 2, times.end());
  return times[kRepetitions / 2];
}

template <class Body>
void report(const char* name, Body body) {
  const double ns = median_ns(body);
  std::printf("{\"case\": \"%s\", \"value\": %.2f, \"unit\": \"ns\", \"name\": \"%s\", \"ns\": %.2f}\n", name, ns, name,
              ns);
}

__attribute__((noinline)) void add_direct(const float* a, const float* b, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

oar_host_t make_host() {
  oar_host_t host = {};
  host.struct_size = sizeof(host);
  host.abi_min = host.abi_max = OAR_ABI_VERSION;
  host.error_set = [](const oar_host_t*, oar_status_t status, int64_t, oar_str_t) { return status; };
  host.parallel_for = [](const oar_host_t*, int64_t n, int64_t, void (*body)(void*, int64_t, int64_t), void* context) {
    body(context, 0, n);
  };
  host.thread_count = [](const oar_host_t*) -> uint32_t { return 1; };
  return host;
}

// In place: a view returned by value is copied in wide loads from narrow stores, which costs 15 ns of its own.
void set_view(oar_view_t* view, float* data, const int64_t* shape, const int64_t* strides) {
  view->data = data;
  view->device.kind = 1;
  view->device.index = 0;
  view->n_dims = 1;
  view->element.code = 2;
  view->element.bits = 32;
  view->element.lanes = 1;
  view->shape = shape;
  view->strides = strides;
  view->byte_offset = 0;
  view->dtype = OAR_DTYPE_F32;
  view->space = 0;
  view->layout = OAR_LAYOUT_STRIDED;
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : OARLOCK_BACKEND_DIR "/liboarlock_simd.so";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  static const oar_host_t host = make_host();
  const oar_plugin_t* plugin = nullptr;
  auto query = reinterpret_cast<decltype(&oar_plugin_query)>(dlsym(library, "oar_plugin_query"));
  if (query == nullptr || query(&host, &plugin) != OAR_OK) return 1;
  auto* packs = static_cast<const oar_pack_table_t*>(plugin->get_table(&host, OAR_TABLE_PACK, 1, 1));
  auto* kernels = static_cast<const oar_kernel_table_t*>(plugin->get_table(&host, OAR_TABLE_KERNEL, 1, 1));
  oar_device_info_t info = {};
  info.struct_size = sizeof(info);
  info.kind = OAR_STR("cpu");
  oar_device_ref_t device = {};
  device.struct_size = sizeof(device);
  device.info = &info;
  oar_pack_t* pack = nullptr;
  if (packs->open(&host, &device, nullptr, &pack) != OAR_OK) return 1;
  uint32_t n = 0;
  const oar_kernel_decl_t* const* decls = nullptr;
  if (kernels->declarations(pack, &n, &decls) != OAR_OK) return 1;
  const oar_kernel_decl_t* add = nullptr;
  for (uint32_t i = 0; i < n; ++i)
    if (decls[i]->op.size == 3 && std::memcmp(decls[i]->op.data, "add", 3) == 0) add = decls[i];
  if (add == nullptr) return 1;

  alignas(64) float a[kCount] = {1}, b[kCount] = {2}, out[kCount] = {};
  const int64_t shape[] = {kCount}, strides[] = {1};
  oar_view_t view_a, view_b, view_out;
  set_view(&view_a, a, shape, strides);
  set_view(&view_b, b, shape, strides);
  set_view(&view_out, out, shape, strides);
  const oar_view_t* inputs[] = {&view_a, &view_b};
  const oar_view_t* outputs[] = {&view_out};
  oar_call_t call = {};
  call.struct_size = sizeof(call);
  call.op_version = 1;
  call.op = add->op;
  call.n_inputs = 2;
  call.n_outputs = 1;
  auto make_frame = [&] {
    oar_frame_t frame = {};
    frame.struct_size = sizeof(frame);
    frame.n_inputs = 2;
    frame.n_outputs = 1;
    frame.inputs = inputs;
    frame.outputs = outputs;
    frame.call = &call;
    return frame;
  };
  const oar_frame_t frame = make_frame();
  // The compiler must assume that a call changes what escapes here.
  auto escape = [](const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); };

  report("add of 16: direct call", [&] {
    add_direct(a, b, out, kCount);
    escape(out);
  });
  report("add of 16: run, frame reused", [&] { add->run(pack, add, &frame); });
  report("add of 16: run, frame built", [&] {
    const oar_frame_t fresh = make_frame();
    escape(&fresh);
    add->run(pack, add, &fresh);
  });
  report("add of 16: run, frame and three views built", [&] {
    set_view(&view_a, a, shape, strides);
    set_view(&view_b, b, shape, strides);
    set_view(&view_out, out, shape, strides);
    const oar_frame_t fresh = make_frame();
    escape(&fresh);
    add->run(pack, add, &fresh);
  });
  if (out[0] != 3) return 1;
  packs->close(pack);
  return 0;
}
