// oarlock/app.h over the C++ library. Every function is a guard around a few lines.
#include <oarlock/app.h>

#include <cstring>

#include <oarlock/base/autograd.h>
#include <oarlock/base/device.h>
#include <oarlock/base/op.h>
#include <oarlock/base/plugin.h>
#include <oarlock/base/profile.h>
#include <oarlock/base/settings.h>

#include "api/src/c/argument.h"
#include "core/autograd/tape.h"

using namespace oarlock;
using namespace oarlock::c;

oar_status_t OAR_CALL oar_setting_set(oar_str_t name, oar_str_t value) {
  return guard([&]() -> oar_status_t {
    Status s = set_setting(view(name), view(value));
    return s.ok() ? oar_status_t(OAR_OK) : fail(s);
  });
}

oar_status_t OAR_CALL oar_device_count(int32_t* out_count) {
  return guard([&] {
    need(out_count, "oar_device_count", "out_count");
    ensure_plugins_loaded();
    *out_count = device_count();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_device_find(oar_str_t name, int32_t* out_device) {
  return guard([&] {
    need(out_device, "oar_device_find", "out_device");
    *out_device = Device(view(name)).index();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_device_name(int32_t index, char* buffer, size_t capacity, size_t* out_size) {
  return guard([&] {
    write_text(device(index, "oar_device_name").name(), "oar_device_name", buffer, capacity, out_size);
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_device_synchronize(int32_t index) {
  return guard([&] {
    device(index, "oar_device_synchronize").synchronize();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_device_use(int32_t index) {
  return guard([&] {
    set_device(device(index, "oar_device_use"));
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_device_current(int32_t* out_device) {
  return guard([&] {
    need(out_device, "oar_device_current", "out_device");
    *out_device = current_device().index();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_plugin_load(oar_str_t path) {
  return guard([&]() -> oar_status_t {
    Result<PluginInfo> p = load_plugin(view(path));
    return p ? oar_status_t(OAR_OK) : fail(p.status());
  });
}
oar_status_t OAR_CALL oar_device_memory(int32_t index, oar_memory_stats_t* out_stats) {
  return guard([&] {
    need(out_stats, "oar_device_memory", "out_stats");
    MemoryStats m = memory_stats(device(index, "oar_device_memory"));
    oar_memory_stats_t all = {out_stats->struct_size, 0, m.in_use, m.peak, m.reserved};
    std::memcpy(out_stats, &all, std::min<size_t>(out_stats->struct_size, sizeof all));
    return OAR_OK;
  });
}

oar_status_t OAR_CALL oar_tensor_create(uint32_t dtype, int32_t rank, const int64_t* shape, const void* bytes,
                                        int32_t index, oar_tensor_t** out) {
  return guard([&] {
    const char* f = "oar_tensor_create";
    need(out, f, "out_tensor");
    Shape s = shape_of(rank, shape, f);
    Device d = device(index, f);
    *out = give(bytes ? Tensor::from_host(bytes, s, dtype_of(dtype, f), d) : Tensor::empty(s, dtype_of(dtype, f), d));
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_borrow(void* data, uint32_t dtype, int32_t rank, const int64_t* shape,
                                        const int64_t* strides, void(OAR_CALL* release)(void*), void* context,
                                        oar_tensor_t** out) {
  return guard([&] {
    const char* f = "oar_tensor_borrow";
    need(out, f, "out_tensor");
    *out = give(Tensor::borrow(data, shape_of(rank, shape, f), dtype_of(dtype, f), strides, release, context));
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_retain(oar_tensor_t* t, oar_tensor_t** out) {
  return guard([&] {
    need(out, "oar_tensor_retain", "out_tensor");
    *out = give(tensor(t, "oar_tensor_retain"));
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_release(oar_tensor_t* t) {
  if (!t || drop(t)) return OAR_OK;
  return fail(Code::invalid_argument,
              "oar_tensor_release: the handle is not alive; it was released already, or never given out.");
}
oar_status_t OAR_CALL oar_tensor_dtype(oar_tensor_t* t, uint32_t* out) {
  return guard([&] {
    need(out, "oar_tensor_dtype", "out_dtype");
    *out = uint32_t(tensor(t, "oar_tensor_dtype").dtype());
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_device(oar_tensor_t* t, int32_t* out) {
  return guard([&] {
    need(out, "oar_tensor_device", "out_device");
    *out = tensor(t, "oar_tensor_device").device().index();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_count(oar_tensor_t* t, int64_t* out) {
  return guard([&] {
    need(out, "oar_tensor_count", "out_elements");
    *out = tensor(t, "oar_tensor_count").element_count();
    return OAR_OK;
  });
}
namespace {
oar_status_t sizes(oar_tensor_t* handle, int32_t capacity, int64_t* to, int32_t* out_rank, const char* f,
                   bool strides) {
  return guard([&] {
    need(out_rank, f, "out_rank");
    Tensor t = tensor(handle, f);
    if (capacity > 0) need(to, f, strides ? "strides" : "shape");
    for (int i = 0; i < std::min(capacity, t.rank()); ++i) to[i] = strides ? t.strides()[i] : t.size(i);
    *out_rank = t.rank();
    return OAR_OK;
  });
}
}  // namespace
oar_status_t OAR_CALL oar_tensor_shape(oar_tensor_t* t, int32_t capacity, int64_t* shape, int32_t* out_rank) {
  return sizes(t, capacity, shape, out_rank, "oar_tensor_shape", false);
}
oar_status_t OAR_CALL oar_tensor_strides(oar_tensor_t* t, int32_t capacity, int64_t* strides, int32_t* out_rank) {
  return sizes(t, capacity, strides, out_rank, "oar_tensor_strides", true);
}
oar_status_t OAR_CALL oar_tensor_data(oar_tensor_t* t, void** out) {
  return guard([&] {
    need(out, "oar_tensor_data", "out_data");
    *out = tensor(t, "oar_tensor_data").data();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_read(oar_tensor_t* t, void* out, size_t room) {
  return guard([&]() -> oar_status_t {
    Tensor x = tensor(t, "oar_tensor_read");
    uint64_t n = size_bytes(x.dtype(), uint64_t(x.element_count()));
    if (room < n)
      return fail(Code::invalid_argument, "oar_tensor_read: room for " + std::to_string(room) +
                                              " bytes, the tensor has " + std::to_string(n) + ".");
    x.copy_to_host(out);
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_item(oar_tensor_t* t, double* out) {
  return guard([&] {
    need(out, "oar_tensor_item", "out_value");
    *out = tensor(t, "oar_tensor_item").item();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_to(oar_tensor_t* t, int32_t index, oar_tensor_t** out) {
  return guard([&] {
    need(out, "oar_tensor_to", "out_tensor");
    *out = give(tensor(t, "oar_tensor_to").to(device(index, "oar_tensor_to")));
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_detach(oar_tensor_t* t, oar_tensor_t** out) {
  return guard([&] {
    need(out, "oar_tensor_detach", "out_tensor");
    *out = give(tensor(t, "oar_tensor_detach").detach());
    return OAR_OK;
  });
}

oar_status_t OAR_CALL oar_op_call(oar_str_t op, oar_tensor_t* const* inputs, size_t n_inputs, const oar_attr_t* attrs,
                                  uint32_t n_attrs, oar_tensor_t** out, size_t capacity, size_t* out_n) {
  return guard([&]() -> oar_status_t {
    const char* f = "oar_op_call";
    need(out_n, f, "out_n");
    if (n_attrs) need(attrs, f, "attrs");
    if (capacity) need(out, f, "out_tensors");
    std::vector<Tensor> in = tensors(inputs, n_inputs, f, "inputs");
    const OpInfo& op_about = op_info(view(op));
    size_t least = 0;
    bool variadic = false;
    for (const OpOperand& o : op_about.outputs) {
      least += !o.hidden;
      variadic |= o.variadic;
    }
    if (variadic) least = infer_op(view(op), in, {attrs, n_attrs}).shapes.size();
    *out_n = least;
    if (capacity < least)
      return fail(Code::invalid_argument, op_about.name + ": gives " + std::to_string(least) +
                                              " outputs, room is for " + std::to_string(capacity) + ".");
    std::vector<Tensor> result = call_op(view(op), in, {attrs, n_attrs});
    for (size_t i = 0; i < least && i < result.size(); ++i) out[i] = result[i].defined() ? give(result[i]) : nullptr;
    return OAR_OK;
  });
}

oar_status_t OAR_CALL oar_tensor_set_requires_grad(oar_tensor_t* t, int on) {
  return guard([&] {
    tensor(t, "oar_tensor_set_requires_grad").set_requires_grad(on != 0);
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_requires_grad(oar_tensor_t* t, int* out) {
  return guard([&] {
    need(out, "oar_tensor_requires_grad", "out_on");
    *out = tensor(t, "oar_tensor_requires_grad").requires_grad();
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_grad(oar_tensor_t* t, oar_tensor_t** out) {
  return guard([&] {
    need(out, "oar_tensor_grad", "out_gradient");
    Tensor g = tensor(t, "oar_tensor_grad").grad();
    *out = g.defined() ? give(g) : nullptr;
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_tensor_set_grad(oar_tensor_t* t, oar_tensor_t* gradient) {
  return guard([&] {
    tensor(t, "oar_tensor_set_grad").set_grad(gradient ? tensor(gradient, "oar_tensor_set_grad") : Tensor());
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_grad_enable(int on, int* out_before) {
  if (out_before) *out_before = grad_mode();
  grad_mode() = on != 0;
  return OAR_OK;
}
oar_status_t OAR_CALL oar_backward(oar_tensor_t* const* outputs, oar_tensor_t* const* seeds, size_t n, uint32_t flags) {
  return guard([&] {
    std::vector<Tensor> out = tensors(outputs, n, "oar_backward", "outputs"), seed;
    if (seeds) seed = tensors(seeds, n, "oar_backward", "seeds");
    backward(out, seed, (flags & OAR_BACKWARD_KEEP_GRAPH) != 0, (flags & OAR_BACKWARD_CREATE_GRAPH) != 0);
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_gradients(oar_tensor_t* const* outputs, oar_tensor_t* const* seeds, size_t n,
                                    oar_tensor_t* const* inputs, size_t n_inputs, uint32_t flags,
                                    oar_tensor_t** out_gradients) {
  return guard([&] {
    const char* f = "oar_gradients";
    std::vector<Tensor> out = tensors(outputs, n, f, "outputs"), in = tensors(inputs, n_inputs, f, "inputs"), seed;
    if (seeds) seed = tensors(seeds, n, f, "seeds");
    if (n_inputs) need(out_gradients, f, "out_gradients");
    std::vector<Tensor> g =
        gradients(out, in, seed, (flags & OAR_BACKWARD_KEEP_GRAPH) != 0, (flags & OAR_BACKWARD_CREATE_GRAPH) != 0);
    for (size_t i = 0; i < g.size(); ++i) out_gradients[i] = g[i].defined() ? give(g[i]) : nullptr;
    return OAR_OK;
  });
}

oar_status_t OAR_CALL oar_placement(void(OAR_CALL* row)(void*, const oar_placement_row_t*), void* context) {
  return guard([&] {
    need(reinterpret_cast<const void*>(row), "oar_placement", "row");
    auto text = [](const std::string& s) { return oar_str_t{s.data(), s.size()}; };
    for (const PlacementRow& r : placement()) {
      oar_placement_row_t out = {sizeof out,     0,       text(r.op), text(r.device), text(r.route), text(r.plugin),
                                 text(r.reason), r.calls, r.host_ns,  r.bytes};
      row(context, &out);
    }
    return OAR_OK;
  });
}
oar_status_t OAR_CALL oar_placement_reset(void) {
  return guard([] {
    reset_placement();
    return OAR_OK;
  });
}
