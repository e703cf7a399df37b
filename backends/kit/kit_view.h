/* kit_view.h - arithmetic on shapes and strides, all in elements. Part of kit.h. */
#ifndef OARLOCK_KIT_VIEW_H
#define OARLOCK_KIT_VIEW_H
#include <stdbool.h>

#include "kit_number.h"
#include "oarlock/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of elements; 1 for rank 0. */
static inline int64_t oar_kit_count(uint32_t n_dims, const int64_t* shape) {
  int64_t n = 1;
  for (uint32_t i = 0; i < n_dims; ++i) n *= shape[i];
  return n;
}

/* Row-major strides of a shape. */
static inline void oar_kit_strides(uint32_t n_dims, const int64_t* shape, int64_t* out_strides) {
  int64_t step = 1;
  for (uint32_t i = n_dims; i-- > 0;) {
    out_strides[i] = step;
    if (shape[i] > 1) step *= shape[i];
  }
}

/* Row-major without gaps? Strides of axes of length 1 don't matter, nor any stride where there are no elements. */
static inline bool oar_kit_contiguous(uint32_t n_dims, const int64_t* shape, const int64_t* strides) {
  int64_t step = 1;
  for (uint32_t i = 0; i < n_dims; ++i)
    if (shape[i] == 0) return true;
  if (n_dims > 0 && strides == NULL) return false;
  for (uint32_t i = n_dims; i-- > 0;) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

static inline bool oar_kit_view_contiguous(const oar_view_t* view) {
  return view->layout == OAR_LAYOUT_STRIDED && oar_kit_contiguous((uint32_t)view->n_dims, view->shape, view->strides);
}

static inline int64_t oar_kit_view_count(const oar_view_t* view) {
  return oar_kit_count((uint32_t)view->n_dims, view->shape);
}

/* The address of the first element, in an addressable space. */
static inline void* oar_kit_view_data(const oar_view_t* view) {
  return view->data == NULL ? NULL : (char*)view->data + view->byte_offset;
}

/* Strides that read an operand as if it had out_shape: right-aligned, an axis of 1 repeats (stride 0). False if the
 * shapes don't broadcast. strides NULL: the operand is row-major. */
static inline bool oar_kit_broadcast_strides(uint32_t out_dims, const int64_t* out_shape, uint32_t n_dims,
                                             const int64_t* shape, const int64_t* strides, int64_t* out_strides) {
  int64_t step = 1;
  if (n_dims > out_dims) return false;
  for (uint32_t i = out_dims; i-- > 0;) {
    uint32_t lead = out_dims - n_dims;
    if (i < lead) {
      out_strides[i] = 0;
      continue;
    }
    int64_t size = shape[i - lead];
    if (size != out_shape[i] && size != 1) return false;
    out_strides[i] = size == 1 ? 0 : strides != NULL ? strides[i - lead] : step;
    step *= size;
  }
  return true;
}

/* Bytes from the first element's first to the last element's last; 0 if there are none. For strided views of types of
 * whole bytes, strides not negative. */
static inline uint64_t oar_kit_extent_bytes(uint32_t n_dims, const int64_t* shape, const int64_t* strides,
                                            uint32_t dtype) {
  int64_t last = 0;
  for (uint32_t i = 0; i < n_dims; ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return ((uint64_t)last + 1) * oar_kit_dtype_bytes(dtype);
}

/* Moves an index to the next position in row-major order and the offset with it. False after the last one. */
static inline bool oar_kit_next(uint32_t n_dims, const int64_t* shape, const int64_t* strides, int64_t* index,
                                int64_t* offset) {
  for (uint32_t i = n_dims; i-- > 0;) {
    *offset += strides[i];
    if (++index[i] < shape[i]) return true;
    *offset -= strides[i] * shape[i];
    index[i] = 0;
  }
  return false;
}

#ifdef __cplusplus
}
#endif
#endif
