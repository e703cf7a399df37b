/* kit_memory.h - copies and fills of memory that the processor reaches through pointers: the memory table's copy and fill
 * where the device has no engine for them, and what to compare one with. Part of kit.h. */
#ifndef OARLOCK_KIT_MEMORY_H
#define OARLOCK_KIT_MEMORY_H
#include <stdbool.h>
#include <string.h>

#include "oarlock/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One region from dimension dim on, to and from bytes behind its offsets: a run of bytes, repeated over the outer
 * dimensions. Pointers are made only where there is something to copy: NULL is fine for nothing. */
static inline void oar_kit_copy_region(const oar_region_t* region, uint32_t dim, int64_t to, int64_t from) {
  if (region->size_bytes == 0) return;
  if (dim == region->n_dims) {
    memmove((char*)region->dst + region->dst_offset + to, (const char*)region->src + region->src_offset + from,
            (size_t)region->size_bytes);
    return;
  }
  for (int64_t i = 0; i < region->counts[dim]; ++i)
    oar_kit_copy_region(region, dim + 1, to + i * region->dst_strides[dim], from + i * region->src_strides[dim]);
}

/* All regions, one after the other. */
static inline void oar_kit_copy(uint32_t n, const oar_region_t* const* regions) {
  for (uint32_t i = 0; i < n; ++i) oar_kit_copy_region(regions[i], 0, 0, 0);
}

/* False, and nothing written, unless the pattern has 1, 2, 4 or 8 bytes and divides the span. */
static inline bool oar_kit_fill(const oar_span_t* span, uint64_t pattern, uint32_t pattern_bytes) {
  unsigned char bytes[8];
  if (pattern_bytes == 0 || pattern_bytes > 8 || (pattern_bytes & (pattern_bytes - 1)) != 0 ||
      span->size_bytes % pattern_bytes != 0)
    return false;
  for (uint32_t i = 0; i < pattern_bytes; ++i) bytes[i] = (unsigned char)(pattern >> 8 * i);
  for (uint64_t i = 0; i < span->size_bytes; i += pattern_bytes)
    memcpy((char*)span->data + span->byte_offset + i, bytes, pattern_bytes);
  return true;
}

#ifdef __cplusplus
}
#endif
#endif
