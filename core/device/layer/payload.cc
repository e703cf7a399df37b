#include "core/device/layer/payload.h"

#include <cstring>
#include <vector>

#include <oarlock/base/dtype.h>

namespace oarlock::layer {
namespace {

constexpr int kMostDims = 32;

// Runs body(byte offset) over a box, the last dimension fastest.
template <class Body>
void each(int n, const int64_t* counts, const int64_t* strides, Body body) {
  int64_t at[kMostDims] = {};
  for (int i = 0; i < n; ++i)
    if (counts[i] == 0) return;
  for (;;) {
    int64_t offset = 0;
    for (int i = 0; i < n; ++i) offset += at[i] * strides[i];
    body(offset);
    int i = n - 1;
    while (i >= 0 && ++at[i] == counts[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

}  // namespace

uint32_t element_bits(uint32_t dtype) { return dtype < 63 ? info(DType(dtype)).bits : 0; }

bool extent_of(const oar_view_t& v, Extent* out) {
  *out = {};
  uint32_t bits = element_bits(v.dtype);
  if (bits == 0 || v.layout != OAR_LAYOUT_STRIDED || v.n_dims < 0 || v.n_dims > kMostDims) return false;
  if (v.n_dims > 0 && (!v.shape || !v.strides)) return false;
  uint64_t n = 1, last = 0;
  bool row_major = true;
  int64_t expected = 1;
  for (int i = 0; i < v.n_dims; ++i) {
    if (v.shape[i] < 0 || v.strides[i] < 0) return false;
    if (__builtin_mul_overflow(n, uint64_t(v.shape[i]), &n) || (n > kLargestExtent)) return false;
  }
  for (int i = v.n_dims - 1; i >= 0 && n > 0; --i) {
    if (v.shape[i] != 1 && v.strides[i] != expected) row_major = false;
    expected *= v.shape[i];
    uint64_t reach;
    if (__builtin_mul_overflow(uint64_t(v.shape[i] - 1), uint64_t(v.strides[i]), &reach) || reach > kLargestExtent)
      return false;
    last += reach;
    if (last > kLargestExtent) return false;
  }
  out->elements = n;
  out->packed_bytes = (n * bits + 7) / 8;
  out->span_bytes = n == 0 ? 0 : ((last + 1) * bits + 7) / 8;
  out->row_major = row_major;
  return bits % 8 == 0 || row_major;  // packed elements with gaps have no row-major bytes of their own
}

bool gather(const oar_view_t& v, const Extent& e, const void* base, std::string* out) {
  out->resize(e.packed_bytes);
  if (e.elements == 0) return true;
  if (e.row_major) {
    std::memcpy(out->data(), base, e.packed_bytes);
    return true;
  }
  size_t size = element_bits(v.dtype) / 8;
  char* to = out->data();
  each(v.n_dims, v.shape, v.strides, [&](int64_t offset) {
    std::memcpy(to, static_cast<const char*>(base) + offset * int64_t(size), size);
    to += size;
  });
  return true;
}

bool scatter(const oar_view_t& v, const Extent& e, void* base, const void* bytes) {
  if (e.elements == 0) return true;
  if (e.row_major) {
    std::memcpy(base, bytes, e.packed_bytes);
    return true;
  }
  size_t size = element_bits(v.dtype) / 8;
  auto from = static_cast<const char*>(bytes);
  each(v.n_dims, v.shape, v.strides, [&](int64_t offset) {
    std::memcpy(static_cast<char*>(base) + offset * int64_t(size), from, size);
    from += size;
  });
  return true;
}

bool region_extent(const oar_region_t& r, const int64_t* strides, uint64_t* out_packed, uint64_t* out_span) {
  *out_packed = *out_span = 0;
  if (r.n_dims > kMostDims || (r.n_dims > 0 && (!r.counts || !strides)) || r.size_bytes > kLargestExtent) return false;
  uint64_t n = r.size_bytes, span = r.size_bytes;
  for (uint32_t i = 0; i < r.n_dims; ++i) {
    if (r.counts[i] < 0 || strides[i] < 0) return false;
    if (__builtin_mul_overflow(n, uint64_t(r.counts[i]), &n) || n > kLargestExtent) return false;
    uint64_t reach = 0;
    if (r.counts[i] > 0 &&
        (__builtin_mul_overflow(uint64_t(r.counts[i] - 1), uint64_t(strides[i]), &reach) || reach > kLargestExtent))
      return false;
    span += reach;
    if (span > kLargestExtent) return false;
  }
  *out_packed = n;
  *out_span = n == 0 ? 0 : span;
  return true;
}

void gather_box(const oar_region_t& r, const int64_t* strides, const char* from, std::string* out) {
  out->clear();
  if (r.size_bytes == 0) return;
  each(int(r.n_dims), r.counts, strides, [&](int64_t offset) { out->append(from + offset, r.size_bytes); });
}

void scatter_box(const oar_region_t& r, const int64_t* strides, char* to, const char* bytes) {
  if (r.size_bytes == 0) return;
  each(int(r.n_dims), r.counts, strides, [&](int64_t offset) {
    std::memcpy(to + offset, bytes, r.size_bytes);
    bytes += r.size_bytes;
  });
}

}  // namespace oarlock::layer
