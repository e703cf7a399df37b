#include "core/tensor/impl.h"

#include <new>
#include <string>

#include "core/autograd/tape.h"
#include "core/device/device_memory.h"
#include "core/device/host_memory.h"
#include "core/dispatch/recorder.h"

namespace oarlock {

void retain(Storage* s) noexcept { s->refs.fetch_add(1, std::memory_order_relaxed); }
void release(Storage* s) noexcept {
  if (s->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (s->release) s->release(s->context);
  else if (s->device->is_host()) host_free(s->block);
  else device_free(*s->device, s->block, s->stream);
  s->~Storage();
  object_free(s, sizeof(Storage));
}

namespace detail {
void retain(TensorImpl* p) noexcept { p->refs.fetch_add(1, std::memory_order_relaxed); }
void release(TensorImpl* p) noexcept {
  if (p->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (p->autograd) release_autograd(p->autograd);
  if (p->storage) oarlock::release(p->storage);
  p->~TensorImpl();
  object_free(p, sizeof(TensorImpl));
}
}  // namespace detail

bool row_major(const Shape& shape, const int64_t* strides) {
  int64_t expected = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    if (shape.d[i].n == 0) return true;
    if (shape.d[i].n != 1 && strides[i] != expected) return false;
    expected = int64_t(uint64_t(expected) * uint64_t(shape.d[i].n));
  }
  return true;
}
void row_major_strides(const Shape& shape, int64_t* out) {
  int64_t step = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    out[i] = step;
    step = int64_t(uint64_t(step) * uint64_t(std::max<int64_t>(shape.d[i].n, 1)));  // too large only where nothing is
  }
}
int64_t extent(const Shape& shape, const int64_t* strides) {
  int64_t last = 0;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.d[i].n == 0) return 0;
    last += (shape.d[i].n - 1) * strides[i];
  }
  return last + 1;
}

Status check_sizes(const Shape& shape, DType dtype, std::string_view what) {
  for (Dim d : shape)
    if (!d.known())
      return invalid(std::string(what) + ": shape " + to_string(shape) + " has a negative size; sizes are 0 or more.");
  int64_t n = count(shape);
  if (n > (int64_t(1) << 58) || (info(dtype).bits >= 8 && n > (int64_t(1) << 58) / (info(dtype).bits / 8)))
    return invalid(std::string(what) + ": shape " + to_string(shape) + " of " + std::string(to_string(dtype)) +
                   " has more bytes than any memory; sizes have to be smaller.");
  return {};
}

TensorImpl* make_tensor(DeviceState& device, DType dtype, const Shape& shape, const int64_t* strides, Storage* storage,
                        uint64_t byte_offset) {
  auto* t = new (object_allocate(sizeof(TensorImpl))) TensorImpl;
  t->dtype = dtype;
  t->device = &device;
  t->storage = storage;
  t->shape = shape;
  if (strides) {
    bool dense = true;
    int64_t expected = 1;
    for (int i = shape.rank - 1; i >= 0; --i) {
      t->strides[i] = strides[i];
      dense &= shape.d[i].n == 1 || strides[i] == expected;
      expected *= shape.d[i].n;
    }
    t->contiguous = dense || expected == 0;
  } else {
    row_major_strides(shape, t->strides);
    t->contiguous = true;
  }
  const DTypeInfo& type = info(dtype);
  oar_view_t& v = t->view;
  v.device.kind = device.dlpack_kind;
  v.device.index = device.index;
  v.n_dims = shape.rank;
  v.element.code = type.dlpack_code;
  v.element.bits = uint8_t(type.bits);
  v.element.lanes = 1;
  v.shape = reinterpret_cast<const int64_t*>(t->shape.d);
  v.strides = t->strides;
  v.dtype = uint32_t(dtype);
  v.space = 0;
  v.layout = OAR_LAYOUT_STRIDED;
  v.data = nullptr;
  v.byte_offset = 0;
  if (storage) {
    if (device.addressable) {
      v.data = storage->block.data ? static_cast<char*>(storage->block.data) + byte_offset : nullptr;
    } else {
      v.data = storage->block.data;
      v.byte_offset = storage->block.byte_offset + byte_offset;
    }
  }
  return t;
}

Result<TensorImpl*> allocate_tensor(DeviceState& device, DType dtype, const Shape& shape, Stream* stream,
                                    const int64_t* strides) {
  int64_t n = strides ? extent(shape, strides) : count(shape);
  Result<Block> block = device_allocate(device, size_bytes(dtype, uint64_t(n)), stream);
  if (!block) [[unlikely]]
    return std::move(block.status());
  auto* s = new (object_allocate(sizeof(Storage))) Storage;
  s->device = &device;
  s->block = *block;
  s->stream = stream;
  return make_tensor(device, dtype, shape, strides, s, 0);
}

TensorImpl* alias_tensor(const TensorImpl& from, const Shape& shape, const int64_t* strides, int64_t offset) {
  auto* t = new (object_allocate(sizeof(TensorImpl))) TensorImpl;
  t->dtype = from.dtype;
  t->device = from.device;
  t->storage = from.storage;
  if (t->storage) retain(t->storage);
  t->stands_for = from.stands_for;
  t->view = from.view;
  t->view.n_dims = shape.rank;
  t->view.shape = reinterpret_cast<const int64_t*>(t->shape.d);
  t->view.strides = t->strides;
  uint64_t bytes = uint64_t(offset) * info(from.dtype).bits / 8;
  if (from.device->addressable) {
    if (t->view.data) t->view.data = static_cast<char*>(t->view.data) + bytes;
  } else {
    t->view.byte_offset += bytes;
  }
  t->shape.rank = shape.rank;
  bool dense = true;
  int64_t expected = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    int64_t n = shape.d[i].n;
    t->shape.d[i] = n;
    t->strides[i] = strides[i];
    dense &= n == 1 || strides[i] == expected;
    expected *= n;
  }
  t->contiguous = dense || expected == 0;
  return t;
}

uint32_t version_of(const TensorImpl& t) {
  if (t.storage) return t.storage->version.load(std::memory_order_relaxed);
  dispatch::Recorder* recorder = t.stands_for ? dispatch::recorder() : nullptr;
  return recorder && recorder->owns(t) ? recorder->version(t) : 0;
}

std::string no_elements_text(const TensorImpl& t) {
  if (!t.stands_for) return "the tensor has a shape but no elements.";
  dispatch::Recorder* recorder = dispatch::recorder();
  return recorder && recorder->owns(t)
             ? "the tensor stands for a value of the program that is being captured; it has elements only when that "
               "runs. Where Python or C++ has to decide by a value, use cond, while_loop or where."
             : "the tensor stood for a value of a program while that was captured, and was kept too long. Return it "
               "from the captured function instead.";
}

TensorImpl* hollow_tensor(const TensorImpl& t) { return make_tensor(*t.device, t.dtype, t.shape, nullptr, nullptr, 0); }

}  // namespace oarlock
