// The OpenCL plugin as its tests load it: with a small host of their own and nothing of Oarlock.
#ifndef OARLOCK_TESTS_BACKENDS_OPENCL_SESSION_H_
#define OARLOCK_TESTS_BACKENDS_OPENCL_SESSION_H_
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <kit.hpp>

namespace oarlock {

inline std::string last_error, logged;

struct Loaded {
  oar_host_t host = {};
  const oar_device_table_t* device = nullptr;
  const oar_memory_table_t* memory = nullptr;
  const oar_stream_table_t* stream = nullptr;
  const oar_pack_table_t* pack = nullptr;
  const oar_kernel_table_t* kernel = nullptr;
  uint32_t n = 0;
  Loaded() {
    host.struct_size = sizeof(host);
    host.abi_min = host.abi_max = OAR_ABI_VERSION;
    host.log = [](const oar_host_t*, int32_t, oar_str_t text) { logged.append(text.data, text.size).append("\n"); };
    host.error_set = [](const oar_host_t*, oar_status_t status, int64_t, oar_str_t text) {
      last_error.assign(text.data, text.size);
      return status;
    };
    void* library = dlopen(OARLOCK_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    auto query = reinterpret_cast<decltype(&oar_plugin_query)>(dlsym(library, "oar_plugin_query"));
    const oar_plugin_t* plugin = nullptr;
    if (query(&host, &plugin) != OAR_OK) throw std::runtime_error("oar_plugin_query failed");
    auto get = [&](auto& table, uint64_t id) {
      table = static_cast<std::remove_reference_t<decltype(table)>>(plugin->get_table(&host, id, 1, 1));
    };
    get(device, OAR_TABLE_DEVICE);
    get(memory, OAR_TABLE_MEMORY);
    get(stream, OAR_TABLE_STREAM);
    get(pack, OAR_TABLE_PACK);
    get(kernel, OAR_TABLE_KERNEL);
  }
  oar_status_t enumerate() {
    const oar_device_info_t* const* infos = nullptr;
    return device->enumerate(&host, &n, &infos);
  }
};
inline Loaded& loaded() {
  static Loaded* l = new Loaded;
  return *l;
}

using Options = std::vector<std::pair<std::string, std::string>>;

inline oar_status_t open_device(const Options& given, oar_device_t** out_device) {
  std::vector<oar_str_t> names, values;
  for (const auto& [name, value] : given) {
    names.push_back(kit::str(name));
    values.push_back(kit::str(value));
  }
  oar_options_t options = {sizeof(options), static_cast<uint32_t>(given.size()), names.data(), values.data(), nullptr};
  return loaded().device->open(&loaded().host, 0, &options, out_device);
}

struct Session {
  oar_device_t* device = nullptr;
  oar_pack_t* pack = nullptr;
  oar_stream_t* stream = nullptr;
  explicit Session(const std::string& cache, Options options = {}) {
    options.emplace_back("cache", cache);
    if (open_device(options, &device) != OAR_OK) throw std::runtime_error(last_error);
    const oar_device_info_t* const* infos = nullptr;
    uint32_t n = 0;
    loaded().device->enumerate(&loaded().host, &n, &infos);
    oar_device_ref_t ref = {};
    ref.struct_size = sizeof(ref);
    ref.info = infos[0];
    ref.device = device;
    if (loaded().pack->open(&loaded().host, &ref, nullptr, &pack) != OAR_OK) throw std::runtime_error(last_error);
    if (loaded().stream->create(device, 0, 0, &stream) != OAR_OK) throw std::runtime_error(last_error);
  }
  ~Session() {
    loaded().stream->destroy(stream);
    loaded().pack->close(pack);
    loaded().device->close(device);
  }
  void* alloc(uint64_t bytes) {
    void* data = nullptr;
    EXPECT_EQ(loaded().memory->alloc(device, 0, bytes, 0, nullptr, &data), OAR_OK) << last_error;
    return data;
  }
  void copy(void* dst, bool dst_host, void* src, bool src_host, uint64_t bytes) {
    oar_region_t r = {};
    r.struct_size = sizeof(r);
    r.dst = dst;
    r.src = src;
    r.dst_on_host = dst_host;
    r.src_on_host = src_host;
    r.size_bytes = bytes;
    const oar_region_t* list[] = {&r};
    EXPECT_EQ(loaded().memory->copy(stream, 1, list), OAR_OK) << last_error;
  }
  oar_status_t wait() {
    oar_event_t* event = nullptr;
    EXPECT_EQ(loaded().stream->event_create(device, &event), OAR_OK);
    EXPECT_EQ(loaded().stream->event_record(stream, event), OAR_OK) << last_error;
    const oar_status_t status = loaded().stream->event_sync(event, UINT64_MAX);
    loaded().stream->event_destroy(event);
    return status;
  }
  // Prepares the kernel of op for these operands and launches it, with a workspace of its own.
  oar_status_t launch(const char* op, const std::vector<oar_view_t>& inputs, const std::vector<oar_view_t>& outputs,
                      const std::vector<oar_attr_t>& attrs) {
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    loaded().kernel->declarations(pack, &n, &decls);
    const oar_kernel_decl_t* decl = nullptr;
    for (uint32_t i = 0; i < n; ++i)
      if (oar_kit_str_is(decls[i]->op, op)) decl = decls[i];
    if (decl == nullptr || decl->prepare == nullptr) return OAR_REFUSED;
    const size_t n_operands = inputs.size() + outputs.size();
    std::vector<oar_value_t> values(n_operands);
    std::vector<const oar_value_t*> value_list(n_operands);
    std::vector<const oar_view_t*> view_list(n_operands);
    struct Room {
      oar_choice_t choice;
      char more[OAR_OUT_ROOM];
      int64_t strides[8];
    };
    std::vector<Room> rooms(n_operands);
    std::vector<oar_choice_t*> choices(n_operands);
    for (size_t i = 0; i < n_operands; ++i) {
      const oar_view_t& v = i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
      values[i] = {};
      values[i].struct_size = sizeof(values[i]);
      values[i].dtype = v.dtype;
      values[i].n_dims = static_cast<uint32_t>(v.n_dims);
      values[i].shape = v.shape;
      values[i].strides = v.strides;
      value_list[i] = &values[i];
      view_list[i] = &v;
      rooms[i].choice.struct_size = sizeof(oar_choice_t);
      rooms[i].choice.strides = rooms[i].strides;
      choices[i] = &rooms[i].choice;
    }
    oar_call_t call = {};
    call.struct_size = sizeof(call);
    call.op_version = 1;
    call.op = decl->op;
    call.n_inputs = static_cast<uint32_t>(inputs.size());
    call.n_outputs = static_cast<uint32_t>(outputs.size());
    call.n_attrs = static_cast<uint32_t>(attrs.size());
    call.attrs = attrs.data();
    call.inputs = value_list.data();
    call.outputs = value_list.data() + inputs.size();
    struct {
      oar_verdict_t verdict;
      char more[OAR_OUT_ROOM];
    } verdict = {};
    verdict.verdict.struct_size = sizeof(oar_verdict_t);
    if (decl->check != nullptr)
      if (const oar_status_t status = decl->check(pack, decl, &call, &verdict.verdict); status != OAR_OK) return status;
    struct {
      oar_prepared_t prepared;
      char more[OAR_OUT_ROOM];
    } room = {};
    room.prepared.struct_size = sizeof(oar_prepared_t);
    room.prepared.inputs = choices.data();
    room.prepared.outputs = choices.data() + inputs.size();
    room.prepared.verdict = &verdict.verdict;
    if (const oar_status_t status = decl->prepare(pack, decl, &call, &room.prepared); status != OAR_OK) return status;
    const uint64_t bytes = room.prepared.workspace_bytes;
    void* workspace = bytes != 0 ? alloc(bytes) : nullptr;
    oar_frame_t frame = {};
    frame.struct_size = sizeof(frame);
    frame.n_inputs = call.n_inputs;
    frame.n_outputs = call.n_outputs;
    frame.inputs = view_list.data();
    frame.outputs = view_list.data() + inputs.size();
    frame.workspace = {workspace, 0, bytes};
    frame.stream = stream;
    oar_status_t status = decl->launch(room.prepared.state, &frame);
    if (status == OAR_OK) status = wait();
    decl->release(room.prepared.state);
    loaded().memory->free(device, 0, workspace, nullptr);
    return status;
  }
  // Runs a kernel of op with `run`; views of one axis each.
  oar_status_t run(const char* op, std::vector<oar_view_t> inputs, oar_view_t out) {
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    loaded().kernel->declarations(pack, &n, &decls);
    for (uint32_t i = 0; i < n; ++i) {
      if (!oar_kit_str_is(decls[i]->op, op)) continue;
      std::vector<const oar_view_t*> pointers;
      for (const oar_view_t& v : inputs) pointers.push_back(&v);
      const oar_view_t* outs[] = {&out};
      oar_call_t call = {};
      call.struct_size = sizeof(call);
      call.op_version = 1;
      oar_frame_t frame = {};
      frame.struct_size = sizeof(frame);
      frame.n_inputs = static_cast<uint32_t>(inputs.size());
      frame.n_outputs = 1;
      frame.inputs = pointers.data();
      frame.outputs = outs;
      frame.stream = stream;
      frame.call = &call;
      return decls[i]->run(pack, decls[i], &frame);
    }
    return OAR_REFUSED;
  }
};

inline oar_view_t view(void* data, uint32_t dtype, const int64_t* n) {
  static const int64_t one = 1;
  oar_view_t v = {};
  v.data = data;
  v.n_dims = 1;
  v.shape = n;
  v.strides = &one;
  v.dtype = dtype;
  return v;
}

}  // namespace oarlock
#endif
