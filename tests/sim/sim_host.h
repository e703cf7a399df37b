// sim_host.h - device arrays and calls on the sim device through the raw C ABI, for its tests.
#ifndef OARLOCK_TESTS_SIM_HOST_H
#define OARLOCK_TESTS_SIM_HOST_H
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "abi/raw_host.h"

namespace oarlock::test {

using Dims = std::vector<int64_t>;

inline const RawPlugin& sim_plugin() {
  static const RawPlugin plugin(OARLOCK_SIM_PLUGIN);
  return plugin;
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr uint32_t value = OAR_DTYPE_BOOL;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr uint32_t value = OAR_DTYPE_I8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr uint32_t value = OAR_DTYPE_I16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr uint32_t value = OAR_DTYPE_I32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr uint32_t value = OAR_DTYPE_I64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr uint32_t value = OAR_DTYPE_U8;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr uint32_t value = OAR_DTYPE_U32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr uint32_t value = OAR_DTYPE_U64;
};
template <>
struct DTypeOf<float> {
  static constexpr uint32_t value = OAR_DTYPE_F32;
};
template <>
struct DTypeOf<double> {
  static constexpr uint32_t value = OAR_DTYPE_F64;
};

// The attributes of one call, in schema order.
class Attrs {
 public:
  Attrs& ints(Dims values) {
    lists_.push_back(std::move(values));
    return add(OAR_ATTR_INTS, true, 0, 0, lists_.size());
  }
  Attrs& none(uint32_t type) { return add(type, false, 0, 0, 0); }
  Attrs& boolean(bool value) { return add(OAR_ATTR_BOOL, true, value, 0, 0); }
  Attrs& integer(int64_t value) { return add(OAR_ATTR_INT, true, value, 0, 0); }
  Attrs& real(double value) { return add(OAR_ATTR_FLOAT, true, 0, value, 0); }
  Attrs& dtype(uint32_t value) { return add(OAR_ATTR_DTYPE, true, value, 0, 0); }
  const std::vector<oar_attr_t>& wire() {
    for (size_t i = 0; i < attrs_.size(); ++i) {
      if (list_of_[i] == 0) continue;
      attrs_[i].count = lists_[list_of_[i] - 1].size();
      attrs_[i].value.ints = lists_[list_of_[i] - 1].data();
    }
    return attrs_;
  }

 private:
  Attrs& add(uint32_t type, bool is_set, int64_t i, double f, size_t list) {
    oar_attr_t attr{};
    attr.type = type;
    attr.is_set = is_set;
    if (type == OAR_ATTR_FLOAT) attr.value.f = f;
    else attr.value.i = i;
    attrs_.push_back(attr);
    list_of_.push_back(list);
    return *this;
  }
  std::vector<oar_attr_t> attrs_;
  std::vector<size_t> list_of_;
  std::vector<Dims> lists_;
};

// A tensor's memory, shape and strides; owns nothing.
struct Array {
  void* data = nullptr;
  uint32_t dtype = OAR_DTYPE_F32;
  Dims shape, strides;

  Array(void* memory, uint32_t type, Dims dims) : data(memory), dtype(type), shape(std::move(dims)) {
    strides.resize(shape.size());
    oar_kit_strides(static_cast<uint32_t>(shape.size()), shape.data(), strides.data());
  }
  size_t size_bytes() const {
    return static_cast<size_t>(oar_kit_count(static_cast<uint32_t>(shape.size()), shape.data())) *
           oar_kit_dtype_bytes(dtype);
  }
  oar_view_t view() const {
    oar_view_t view{};
    view.data = data;
    view.n_dims = static_cast<int32_t>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
    view.dtype = dtype;
    return view;
  }
  oar_value_t value() const {
    oar_value_t value{};
    value.struct_size = sizeof(value);
    value.dtype = dtype;
    value.n_dims = static_cast<uint32_t>(shape.size());
    value.shape = shape.data();
    value.strides = strides.data();
    return value;
  }
};

// A sim device, its pack and one stream. Destroying it closes all.
class Sim {
 public:
  explicit Sim(std::initializer_list<std::pair<const char*, std::string>> settings = {}) {
    std::vector<oar_str_t> names, values;
    for (const auto& [name, value] : settings) {
      names.push_back(oar_kit_str(name));
      values.push_back({value.data(), value.size()});
    }
    oar_options_t options{};
    options.struct_size = sizeof(options);
    options.n = static_cast<uint32_t>(names.size());
    options.names = names.data();
    options.values = values.data();
    const oar_device_info_t* const* infos = nullptr;
    uint32_t n = 0;
    EXPECT_EQ(p.device->enumerate(raw_host(), &n, &infos), OAR_OK);
    status = p.device->open(raw_host(), 0, &options, &device);
    if (status != OAR_OK) return;
    oar_device_ref_t ref{};
    ref.struct_size = sizeof(ref);
    ref.info = infos[0];
    ref.device = device;
    EXPECT_EQ(p.pack->open(raw_host(), &ref, nullptr, &pack), OAR_OK);
    EXPECT_EQ(p.stream->create(device, 0, 0, &stream), OAR_OK);
    EXPECT_EQ(p.stream->event_create(device, &event), OAR_OK);
  }
  ~Sim() {
    if (device == nullptr) return;
    p.stream->event_destroy(event);
    if (stream != nullptr) p.stream->destroy(stream);
    p.pack->close(pack);
    p.device->close(device);
  }
  Sim(const Sim&) = delete;
  Sim& operator=(const Sim&) = delete;

  Array array(uint32_t dtype, Dims shape) {
    Array made(nullptr, dtype, std::move(shape));
    EXPECT_EQ(p.memory->alloc(device, 0, made.size_bytes(), 0, stream, &made.data), OAR_OK) << last_error();
    return made;
  }
  oar_status_t move(void* to, bool to_host, const void* from, bool from_host, size_t size_bytes) {
    oar_region_t region{};
    region.struct_size = sizeof(region);
    region.dst = to;
    region.src = const_cast<void*>(from);
    region.dst_on_host = to_host;
    region.src_on_host = from_host;
    region.size_bytes = size_bytes;
    const oar_region_t* regions[] = {&region};
    return p.memory->copy(stream, 1, regions);
  }
  oar_status_t sync(uint64_t timeout_ns = UINT64_MAX) {
    oar_status_t recorded = p.stream->event_record(stream, event);
    return recorded != OAR_OK ? recorded : p.stream->event_sync(event, timeout_ns);
  }
  template <class T>
  Array upload(Dims shape, const std::vector<T>& values) {
    Array made = array(DTypeOf<T>::value, std::move(shape));
    std::vector<char> bytes(made.size_bytes());
    for (size_t i = 0; i < values.size(); ++i) {
      T value = values[i];
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    EXPECT_EQ(values.size() * sizeof(T), bytes.size());
    EXPECT_EQ(move(made.data, false, bytes.data(), true, bytes.size()), OAR_OK) << last_error();
    EXPECT_EQ(sync(), OAR_OK) << last_error();
    return made;
  }
  template <class T>
  std::vector<T> download(const Array& from) {
    EXPECT_EQ(from.dtype, DTypeOf<T>::value);
    std::vector<char> bytes(from.size_bytes());
    if (!bytes.empty()) { EXPECT_EQ(move(bytes.data(), true, from.data, false, bytes.size()), OAR_OK) << last_error(); }
    EXPECT_EQ(sync(), OAR_OK) << last_error();
    std::vector<T> values(bytes.size() / sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = value;
    }
    return values;
  }

  const oar_kernel_decl_t* decl(const char* op) {
    uint32_t n = 0;
    const oar_kernel_decl_t* const* decls = nullptr;
    EXPECT_EQ(p.kernel->declarations(pack, &n, &decls), OAR_OK);
    for (uint32_t i = 0; i < n; ++i)
      if (oar_kit_str_is(decls[i]->op, op)) return decls[i];
    ADD_FAILURE() << "no kernel for " << op;
    return nullptr;
  }

  // Checks, prepares if need be, and launches one call with one output. The verdict of a refusal is in `verdict`.
  oar_status_t call(const char* op, const std::vector<Array>& inputs, const Array& output, Attrs attrs = {}) {
    const oar_kernel_decl_t* kernel = decl(op);
    std::vector<oar_value_t> values;
    std::vector<oar_view_t> views;
    std::vector<const oar_value_t*> value_list;
    std::vector<const oar_view_t*> view_list;
    std::vector<oar_choice_t> choices(inputs.size() + 1, oar_choice_t{sizeof(oar_choice_t)});
    std::vector<oar_choice_t*> choice_list;
    for (size_t i = 0; i <= inputs.size(); ++i) {
      values.push_back((i < inputs.size() ? inputs[i] : output).value());
      views.push_back((i < inputs.size() ? inputs[i] : output).view());
    }
    for (size_t i = 0; i <= inputs.size(); ++i) {
      value_list.push_back(&values[i]);
      view_list.push_back(&views[i]);
      choice_list.push_back(&choices[i]);
    }
    oar_call_t c{};
    c.struct_size = sizeof(c);
    c.op_version = 1;
    c.op = kernel->op;
    c.n_inputs = static_cast<uint32_t>(inputs.size());
    c.n_outputs = 1;
    c.n_attrs = static_cast<uint32_t>(attrs.wire().size());
    c.attrs = attrs.wire().data();
    c.inputs = value_list.data();
    c.outputs = value_list.data() + inputs.size();
    verdict = oar_verdict_t{};
    verdict.struct_size = sizeof(verdict);
    verdict.text = text;
    verdict.text_capacity = sizeof(text);
    if (oar_status_t checked = kernel->check(pack, kernel, &c, &verdict); checked != OAR_OK) return checked;
    oar_frame_t frame{};
    frame.struct_size = sizeof(frame);
    frame.n_inputs = c.n_inputs;
    frame.n_outputs = 1;
    frame.inputs = view_list.data();
    frame.outputs = view_list.data() + inputs.size();
    frame.stream = stream;
    if (kernel->run != nullptr) {
      frame.call = &c;
      return kernel->run(pack, kernel, &frame);
    }
    oar_prepared_t prepared{};
    prepared.struct_size = sizeof(prepared);
    prepared.inputs = choice_list.data();
    prepared.outputs = choice_list.data() + inputs.size();
    prepared.verdict = &verdict;
    oar_status_t status = kernel->prepare(pack, kernel, &c, &prepared);
    if (status != OAR_OK) return status;
    workspace_bytes = prepared.workspace_bytes;
    status = kernel->launch(prepared.state, &frame);
    kernel->release(prepared.state);
    return status;
  }

  // The values of a call's output, which has this shape.
  template <class T>
  std::vector<T> compute(const char* op, const std::vector<Array>& inputs, Dims shape, Attrs attrs = {}) {
    Array out = array(DTypeOf<T>::value, std::move(shape));
    EXPECT_EQ(call(op, inputs, out, std::move(attrs)), OAR_OK) << op << ": " << last_error() << text;
    return download<T>(out);
  }

  const RawPlugin& p = sim_plugin();
  oar_status_t status = OAR_INTERNAL;
  oar_device_t* device = nullptr;
  oar_pack_t* pack = nullptr;
  oar_stream_t* stream = nullptr;
  oar_event_t* event = nullptr;
  oar_verdict_t verdict{};
  char text[256] = "";
  uint64_t workspace_bytes = 0;
};

}  // namespace oarlock::test
#endif
