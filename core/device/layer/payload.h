// Contents of views and of boxes in host memory: read as bytes in row-major order, and written back the same way.
#pragma once
#include <cstdint>
#include <string>

#include <oarlock/types.h>
#include <oarlock/plugin.h>

namespace oarlock::layer {

// Above this a size is taken for nonsense, and sums and products below it can't overflow.
inline constexpr uint64_t kLargestExtent = uint64_t(1) << 46;

// Bits of one element, from the dtype; 0 for a dtype that doesn't exist.
uint32_t element_bits(uint32_t dtype);

struct Extent {
  uint64_t elements = 0;
  uint64_t packed_bytes = 0;  // of the elements, row-major
  uint64_t span_bytes = 0;    // from the first element's start to the last one's end
  bool row_major = false;
};
// False if a size is negative, a product overflows, or the view isn't strided.
bool extent_of(const oar_view_t& view, Extent* out_extent);

// The elements in row-major order. base: where the view's data begins in host memory.
bool gather(const oar_view_t& view, const Extent& extent, const void* base, std::string* out_bytes);
bool scatter(const oar_view_t& view, const Extent& extent, void* base, const void* bytes);

// One side of a region: size_bytes, repeated over counts with the given strides.
bool region_extent(const oar_region_t& region, const int64_t* strides, uint64_t* out_packed, uint64_t* out_span);
void gather_box(const oar_region_t& region, const int64_t* strides, const char* from, std::string* out_bytes);
void scatter_box(const oar_region_t& region, const int64_t* strides, char* to, const char* bytes);

}  // namespace oarlock::layer
