// The inner loops of poolings, of f32 and f64: over channels, where they lie dense, or along the last axis of a plane.
#ifndef OARLOCK_SIMD_POOL_H_
#define OARLOCK_SIMD_POOL_H_

#include <cstdint>

namespace oarlock::simd {

struct PoolKernels {
  // n channels of one window. at: where in x each tap's channels begin. first: out and index hold nothing yet, else the
  // result of earlier taps. index may be NULL. There is at least one tap.
  void (*max_taps)(const void* x, const int64_t* at, const int64_t* place, int64_t taps, int64_t n, void* out,
                   int64_t* index, bool first) = nullptr;
  // divisor 0: the sum stays whole, for more taps to come.
  void (*sum_taps)(const void* x, const int64_t* at, int64_t taps, int64_t n, double divisor, void* out,
                   bool first) = nullptr;
  // dy / divisor into every tap of dx.
  void (*spread_taps)(const void* dy, double divisor, void* dx, const int64_t* at, int64_t taps, int64_t n) = nullptr;

  // One tap of n windows side by side: x[i * stride] at place + i * step. best and index hold the earlier taps' result;
  // nowhere in index, whose integers are as wide as an element, where there was none.
  void (*max_line)(const void* x, int64_t stride, int64_t place, int64_t step, int64_t n, void* best, void* index,
                   int64_t nowhere) = nullptr;
  void (*sum_line)(const void* x, int64_t stride, int64_t n, double* sum) = nullptr;
  void (*spread_line)(const void* share, int64_t n, void* dx, int64_t stride) = nullptr;
};

}  // namespace oarlock::simd
#endif
