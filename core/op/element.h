// Reading and writing single elements of a view, any dtype, any strides: what reference kernels are written with.
#pragma once
#include <cstdint>
#include <type_traits>

#include <oarlock/base/dtype.h>
#include <oarlock/base/shape.h>
#include <oarlock/types.h>

namespace oarlock::op {

// at: in elements from view.data; its byte_offset is added. Acc: double, int64_t or uint64_t. Widened exactly, but for a float
// read as an integer: that truncates toward zero, saturates outside the range, and gives 0 for NaN.
template <class Acc>
Acc load(const oar_view_t& v, int64_t at);
// To a float: rounded once, to nearest, ties to even; overflow gives infinity or, where there is none, the largest.
// From an integer to an integer: wrapped. From a double to an integer: truncated toward zero, saturated, NaN gives 0.
// To bool: x != 0, so NaN is true.
template <class Acc>
void store(const oar_view_t& v, int64_t at, Acc x);

// The formats of 4 to 16 bits as bit patterns, low bits first; t is one of f16, bf16, f8_*, f4_e2m1. NaN where a format has
// none: the largest.
uint32_t encode_float(DType t, double x);
double decode_float(DType t, uint32_t bits);

extern template double load<double>(const oar_view_t&, int64_t);
extern template int64_t load<int64_t>(const oar_view_t&, int64_t);
extern template uint64_t load<uint64_t>(const oar_view_t&, int64_t);
extern template void store<double>(const oar_view_t&, int64_t, double);
extern template void store<int64_t>(const oar_view_t&, int64_t, int64_t);
extern template void store<uint64_t>(const oar_view_t&, int64_t, uint64_t);

inline DType dtype(const oar_view_t& v) { return DType(v.dtype); }
inline int rank(const oar_view_t& v) { return v.n_dims; }
int64_t count(const oar_view_t& v);

// Calls f(Acc()) with the widest accumulator for a dtype: double, int64_t, or uint64_t.
template <class F>
decltype(auto) with_accumulator(DType t, F&& f) {
  if (set_of(t) & (kSigned | kBool | set_of(DType::i4) | set_of(DType::i2))) return f(int64_t());
  if (set_of(t) & (kUnsigned | set_of(DType::u4) | set_of(DType::u2))) return f(uint64_t());
  return f(double());
}

// Walks an index over a shape, last axis fastest. `for (Walk w(shape); w.more(); w.next())`; nothing if a size is 0.
class Walk {
 public:
  Walk(const int64_t* shape, int rank) : shape_(shape), rank_(rank) {
    for (int i = 0; i < rank; ++i) {
      index[i] = 0;
      more_ &= shape[i] > 0;
    }
  }
  explicit Walk(const oar_view_t& v) : Walk(v.shape, v.n_dims) {}
  bool more() const { return more_; }
  void next() {
    int i = rank_ - 1;
    for (; i >= 0; --i) {
      if (++index[i] < shape_[i]) return;
      index[i] = 0;
    }
    more_ = false;
  }
  int64_t index[kMaxRank];

 private:
  const int64_t* shape_;
  int rank_;
  bool more_ = true;
};
// Element of v at index[rank], right-aligned; an axis of 1 repeats.
inline int64_t offset(const oar_view_t& v, const int64_t* index, int rank) {
  int64_t at = 0;
  for (int i = v.n_dims - 1, k = rank - 1; i >= 0; --i, --k)
    if (v.shape[i] != 1) at += index[k] * v.strides[i];
  return at;
}

}  // namespace oarlock::op
