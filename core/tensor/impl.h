// What a Tensor refers to. Headers and storages come from per-thread stores: most tensors are tiny and short-lived.
#pragma once
#include <atomic>
#include <cstdint>
#include <new>

#include <oarlock/base/tensor.h>

#include "core/device/device.h"
#include "core/device/host_memory.h"

namespace oarlock {

struct Autograd;  // core/autograd/tape.h

// Memory that one tensor and its views share.
struct Storage {
  std::atomic<uint32_t> refs{1};
  std::atomic<uint32_t> version{0};  // rises with every write by an op; the tape compares it
  DeviceState* device;
  Block block;
  Stream* stream = nullptr;          // that touched it last; null on the host
  void (*release)(void*) = nullptr;  // of borrowed memory
  void* context = nullptr;
};

struct TensorImpl {
  std::atomic<uint32_t> refs{1};
  DType dtype;
  bool requires_grad = false;  // a leaf that wants one, or computed from one (then autograd is set)
  bool contiguous;             // row-major without gaps
  Storage* storage = nullptr;  // null: shape and dtype only
  DeviceState* device;
  Autograd* autograd = nullptr;
  const void* stands_for = nullptr;  // a value of a program that is being captured; then storage is null
  oar_view_t view;                   // what frames point to
  Shape shape;
  int64_t strides[kMaxRank];
};

inline bool has_elements(const TensorImpl& t) { return t.storage || t.stands_for; }
// Rises with every write to the elements of a tensor, or to the value it stands for.
uint32_t version_of(const TensorImpl& t);
// "shape [2, 3] has no elements: ...", for readers of elements.
std::string no_elements_text(const TensorImpl& t);

void retain(Storage* s) noexcept;
void release(Storage* s) noexcept;

// shape and dtype are set; strides row-major unless given. storage is taken over; null: no elements. byte_offset: from the
// storage's start.
TensorImpl* make_tensor(DeviceState& device, DType dtype, const Shape& shape, const int64_t* strides, Storage* storage,
                        uint64_t byte_offset);
// Uninitialised. The sizes are known and their product fits.
Result<TensorImpl*> allocate_tensor(DeviceState& device, DType dtype, const Shape& shape, Stream* stream,
                                    const int64_t* strides = nullptr);
// Uninitialised host memory in the geometry of a prototype, which is row-major. The usual output.
inline Result<TensorImpl*> allocate_like(const TensorImpl& like, uint64_t bytes) {
  Result<Block> block = host_allocate(bytes);
  if (!block) [[unlikely]]
    return std::move(block.status());
  auto* s = new (object_allocate(sizeof(Storage))) Storage;
  s->device = like.device;
  s->block = *block;
  auto* t = new (object_allocate(sizeof(TensorImpl))) TensorImpl;
  t->dtype = like.dtype;
  t->contiguous = true;
  t->storage = s;
  t->device = like.device;
  t->view = like.view;
  t->view.data = block->data;
  t->view.shape = reinterpret_cast<const int64_t*>(t->shape.d);
  t->view.strides = t->strides;
  t->shape.rank = like.shape.rank;
  for (int i = 0; i < like.shape.rank; ++i) {
    t->shape.d[i] = like.shape.d[i];
    t->strides[i] = like.strides[i];
  }
  return t;
}
// An alias of the elements of t with a geometry of its own. offset: in elements.
TensorImpl* alias_tensor(const TensorImpl& t, const Shape& shape, const int64_t* strides, int64_t offset);
// Shape, dtype and device of t, no elements.
TensorImpl* hollow_tensor(const TensorImpl& t);

bool row_major(const Shape& shape, const int64_t* strides);
void row_major_strides(const Shape& shape, int64_t* out_strides);
// Elements from the first to past the last that strides reach.
int64_t extent(const Shape& shape, const int64_t* strides);
Status check_sizes(const Shape& shape, DType dtype, std::string_view what);
// Copies elements between tensors of one shape and dtype, any strides where both are on one device, row-major where they
// are on two. copy.cc
Status copy_elements(const TensorImpl& from, TensorImpl& to);

}  // namespace oarlock
