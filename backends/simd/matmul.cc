// One block of a matrix product in registers: six rows by two vectors, b dense along n.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matmul.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

constexpr int kRows = 6;

// Rows x up to two vectors, the last of them with the first `left` lanes only.
template <class T, int Rows, int Vectors, bool Partial>
HWY_INLINE void corner(const MatmulBlock& block, const T* a, const T* b, T* out, int64_t left) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = hn::Lanes(d);
  V sum[Rows][Vectors];
  OARLOCK_SIMD_UNROLL
  for (int r = 0; r < Rows; ++r) {
    OARLOCK_SIMD_UNROLL
    for (int v = 0; v < Vectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < block.k; ++k, a += block.a_col, b += block.b_row) {
    V x[Vectors];
    OARLOCK_SIMD_UNROLL
    for (int v = 0; v < Vectors; ++v)
      x[v] = Partial && v == Vectors - 1 ? load_part(d, b + v * lanes, left) : hn::LoadU(d, b + v * lanes);
    OARLOCK_SIMD_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const V y = hn::Set(d, a[r * block.a_row]);
      OARLOCK_SIMD_UNROLL
      for (int v = 0; v < Vectors; ++v) sum[r][v] = hn::MulAdd(y, x[v], sum[r][v]);
    }
  }
  OARLOCK_SIMD_UNROLL
  for (int r = 0; r < Rows; ++r) {
    OARLOCK_SIMD_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      T* to = out + r * block.out_row + v * lanes;
      if (Partial && v == Vectors - 1) {
        if (block.accumulate) sum[r][v] = hn::Add(sum[r][v], load_part(d, to, left));
        store_part(sum[r][v], d, to, left);
      } else {
        if (block.accumulate) sum[r][v] = hn::Add(sum[r][v], hn::LoadU(d, to));
        hn::StoreU(sum[r][v], d, to);
      }
    }
  }
}

template <class T, int Vectors, bool Partial>
void strip(const MatmulBlock& block, int64_t column, int64_t left) {
  const T* a = static_cast<const T*>(block.a);
  const T* b = static_cast<const T*>(block.b) + column;
  T* out = static_cast<T*>(block.out) + column;
  int64_t m = block.m;
  for (; m >= kRows; m -= kRows, a += kRows * block.a_row, out += kRows * block.out_row)
    corner<T, kRows, Vectors, Partial>(block, a, b, out, left);
  switch (m) {
    case 5: return corner<T, 5, Vectors, Partial>(block, a, b, out, left);
    case 4: return corner<T, 4, Vectors, Partial>(block, a, b, out, left);
    case 3: return corner<T, 3, Vectors, Partial>(block, a, b, out, left);
    case 2: return corner<T, 2, Vectors, Partial>(block, a, b, out, left);
    case 1: return corner<T, 1, Vectors, Partial>(block, a, b, out, left);
  }
}

template <class T>
void matmul(const MatmulBlock& block) {
  const int64_t lanes = hn::Lanes(hn::ScalableTag<T>());
  int64_t column = 0;
  for (; column + 2 * lanes <= block.n; column += 2 * lanes) strip<T, 2, false>(block, column, 0);
  const int64_t left = block.n - column;
  if (left > lanes) strip<T, 2, true>(block, column, left - lanes);
  else if (left == lanes) strip<T, 1, false>(block, column, 0);
  else if (left > 0) strip<T, 1, true>(block, column, left);
}

}  // namespace

void matmul_table(Kernels* k) {
  k->matmul_f32 = matmul<float>;
  k->matmul_f64 = matmul<double>;
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
HWY_EXPORT(matmul_table);
void matmul_fill(Kernels* out) { HWY_DYNAMIC_DISPATCH(matmul_table)(out); }
}  // namespace oarlock::simd
#endif
