// Sorting lanes into an order that other kernels follow.
#ifndef OARLOCK_OPENCL_SORT_H_
#define OARLOCK_OPENCL_SORT_H_
#include "launch.h"

namespace oarlock::opencl {

constexpr int64_t kSortRun = 64;                  // as RUN in kernels/sort.cl
constexpr int64_t kMostSorted = (1LL << 31) - 1;  // elements of a lane

// `keys_of` of kernels/sort.cl.
struct Keys {
  int64_t lanes, n, step;
  int32_t dtype, descending;
};

// Bytes of room for ordering so many lanes.
uint64_t order_bytes(int64_t lanes, int64_t n);
// Orders lanes of keys, stably; g's operand 1 walks the lanes. The order is 32-bit places, lane after lane; returned is
// how many bytes behind room_at it begins.
uint64_t sort_order(oar_stream_t* stream, const oar_span_t& keys, const Geometry& g, const Keys& s,
                    const oar_span_t& room, uint64_t room_at);

}  // namespace oarlock::opencl
#endif
