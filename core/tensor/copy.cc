#include <cstring>

#include "core/device/host_memory.h"
#include "core/tensor/impl.h"

namespace oarlock {
namespace {

Block place(const TensorImpl& t) { return {t.view.data, t.device->addressable ? 0 : t.view.byte_offset, 0}; }

// What both sides have in one piece, and the loops around it; sizes and steps in bytes.
struct Boxes {
  int64_t piece;
  int n = 0;
  int64_t counts[kMaxRank], to[kMaxRank], from[kMaxRank];
};
Boxes boxes(const TensorImpl& from, const TensorImpl& to) {
  Boxes b;
  int64_t size = info(to.dtype).bits / 8;
  b.piece = size;
  int i = to.shape.rank - 1;
  for (; i >= 0; --i) {  // the innermost axes that lie together on both sides
    if (to.shape(i) == 1) continue;
    if (to.strides[i] * size != b.piece || from.strides[i] * size != b.piece) break;
    b.piece *= to.shape(i);
  }
  for (int k = 0; k <= i; ++k) {
    if (to.shape(k) == 1) continue;
    b.counts[b.n] = to.shape(k);
    b.to[b.n] = to.strides[k] * size;
    b.from[b.n] = from.strides[k] * size;
    ++b.n;
  }
  return b;
}

void copy_boxes(const Boxes& b, int axis, char* to, const char* from) {
  if (axis == b.n) {
    std::memcpy(to, from, size_t(b.piece));
    return;
  }
  for (int64_t i = 0; i < b.counts[axis]; ++i) copy_boxes(b, axis + 1, to + i * b.to[axis], from + i * b.from[axis]);
}

Status on_device(const TensorImpl& from, TensorImpl& to) {
  Stream* s = current_stream(*to.device);
  for (Storage* storage : {from.storage, to.storage}) {
    if (storage->stream && storage->stream != s) OAR_TRY(order(*storage->stream, *s));
    storage->stream = s;
  }
  Boxes b = boxes(from, to);
  oar_region_t r{};
  r.struct_size = sizeof r;
  r.n_dims = uint32_t(b.n);
  r.dst = to.view.data;
  r.dst_offset = to.view.byte_offset;
  r.src = from.view.data;
  r.src_offset = from.view.byte_offset;
  r.size_bytes = uint64_t(b.piece);
  r.counts = b.counts;
  r.dst_strides = b.to;
  r.src_strides = b.from;
  const oar_region_t* regions[] = {&r};
  std::lock_guard hold(s->lock);
  oar_status_t status = to.device->plugin->memory->copy(s->handle, 1, regions);
  if (status == OAR_DEVICE_LOST) to.device->lost = true;
  if (status != OAR_OK) return plugin_failure(*to.device->plugin, status, "copy on " + to.device->name);
  return {};
}

}  // namespace

Status copy_elements(const TensorImpl& from, TensorImpl& to) {
  int64_t n = count(from.shape);
  uint64_t bytes = size_bytes(from.dtype, uint64_t(n));
  if (bytes == 0) return {};
  bool packed = info(from.dtype).bits < 8;
  if (packed && !(from.contiguous && to.contiguous))
    return {Code::unsupported,
            "copy: " + std::string(to_string(from.dtype)) + " lies packed, so only row-major tensors can be copied."};
  if (from.device == to.device) {
    if (!from.device->is_host()) {
      if (packed)
        return {Code::unsupported, "copy on " + from.device->name + ": packed dtypes are copied on the host only."};
      return on_device(from, to);
    }
    if (from.contiguous && to.contiguous) std::memcpy(to.view.data, from.view.data, bytes);
    else copy_boxes(boxes(from, to), 0, static_cast<char*>(to.view.data), static_cast<const char*>(from.view.data));
    return {};
  }
  if (from.device->is_host()) {
    Stream* s = current_stream(*to.device);
    if (to.storage->stream && to.storage->stream != s) OAR_TRY(order(*to.storage->stream, *s));
    to.storage->stream = s;
    return copy_from_host(*s, place(to), 0, from.view.data, bytes);
  }
  Stream* s = from.storage->stream ? from.storage->stream : current_stream(*from.device);
  if (to.device->is_host()) return copy_to_host(*s, to.view.data, place(from), 0, bytes);
  Result<Block> host = host_allocate(bytes);  // between two plugins: through the host
  if (!host) return std::move(host.status());
  Status done = copy_to_host(*s, host->data, place(from), 0, bytes);
  Stream* t = current_stream(*to.device);
  if (done.ok()) done = copy_from_host(*t, place(to), 0, host->data, bytes);
  to.storage->stream = t;
  host_free(*host);
  return done;
}

}  // namespace oarlock
