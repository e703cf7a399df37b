// Accumulators of sum and max for dense blocks. f32 (and through it f16 and bf16) is summed in vectors of f32 over at
// most 64 steps and then in double: a sum of a million elements is right to about 1e-7. Integers wrap at 64 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kSteps = 64;

template <class V>
HWY_INLINE V nan_max(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b)));
}
inline double nan_max_scalar(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }

struct SumReal {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
  static HWY_INLINE double join_scalar(double a, double b) { return a + b; }
};
struct MaxReal {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return nan_max(a, b);
  }
  static HWY_INLINE double join_scalar(double a, double b) { return nan_max_scalar(a, b); }
};

template <class T, class F>
HWY_INLINE double lanes_join(hn::ScalableTag<T> d, hn::Vec<hn::ScalableTag<T>> v) {
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lanes);
  double total = lanes[0];
  for (size_t i = 1; i < hn::Lanes(d); ++i) total = F::join_scalar(total, lanes[i]);
  return total;
}

template <class T, class F>
void row_real(const void* px, int64_t n, Acc* acc) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  const T* x = static_cast<const T*>(px);
  double total = acc->real;
  while (n >= 4 * lanes) {
    const int64_t steps = std::min(n / (4 * lanes), kSteps);
    auto s0 = hn::LoadU(d, x), s1 = hn::LoadU(d, x + lanes);
    auto s2 = hn::LoadU(d, x + 2 * lanes), s3 = hn::LoadU(d, x + 3 * lanes);
    x += 4 * lanes;
    for (int64_t i = 1; i < steps; ++i, x += 4 * lanes) {
      s0 = F::join(s0, hn::LoadU(d, x));
      s1 = F::join(s1, hn::LoadU(d, x + lanes));
      s2 = F::join(s2, hn::LoadU(d, x + 2 * lanes));
      s3 = F::join(s3, hn::LoadU(d, x + 3 * lanes));
    }
    n -= steps * 4 * lanes;
    total = F::join_scalar(total, lanes_join<T, F>(d, F::join(F::join(s0, s1), F::join(s2, s3))));
  }
  if (n >= lanes) {
    auto s = hn::LoadU(d, x);
    x += lanes;
    n -= lanes;
    for (; n >= lanes; n -= lanes, x += lanes) s = F::join(s, hn::LoadU(d, x));
    total = F::join_scalar(total, lanes_join<T, F>(d, s));
  }
  for (; n > 0; --n, ++x) total = F::join_scalar(total, *x);
  acc->real = total;
}

// Rows are read in the order they lie, four at a time: a column at a time would touch a page for every element.
template <class T, class F>
void columns_real(const void* px, int64_t row_stride, int64_t rows, int64_t width, Acc* acc) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d), whole = width / lanes * lanes;
  const T* x = static_cast<const T*>(px);
  HWY_ALIGN T part[kColumns + HWY_MAX_BYTES / sizeof(T)];
  for (int64_t row = 0; row < rows; row += kSteps) {
    const int64_t steps = std::min(rows - row, kSteps);
    const T* p = x + row * row_stride;
    std::copy_n(p, width, part);
    p += row_stride;
    int64_t i = 1;
    for (; i + 4 <= steps; i += 4, p += 4 * row_stride) {
      for (int64_t c = 0; c < whole; c += lanes) {
        const auto near = F::join(hn::LoadU(d, p + c), hn::LoadU(d, p + row_stride + c));
        const auto far = F::join(hn::LoadU(d, p + 2 * row_stride + c), hn::LoadU(d, p + 3 * row_stride + c));
        hn::Store(F::join(hn::Load(d, part + c), F::join(near, far)), d, part + c);
      }
      for (int64_t c = whole; c < width; ++c)
        for (int64_t r = 0; r < 4; ++r) part[c] = static_cast<T>(F::join_scalar(part[c], p[r * row_stride + c]));
    }
    for (; i < steps; ++i, p += row_stride) {
      for (int64_t c = 0; c < whole; c += lanes)
        hn::Store(F::join(hn::Load(d, part + c), hn::LoadU(d, p + c)), d, part + c);
      for (int64_t c = whole; c < width; ++c) part[c] = static_cast<T>(F::join_scalar(part[c], p[c]));
    }
    for (int64_t c = 0; c < width; ++c) acc[c].real = F::join_scalar(acc[c].real, part[c]);
  }
}

struct SumInteger {
  static HWY_INLINE int64_t join(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
// u64 compares without sign: its accumulator holds the bits with the top one flipped.
template <class T>
HWY_INLINE int64_t widen(T x) {
  if constexpr (std::is_same_v<T, uint64_t>) return static_cast<int64_t>(x ^ uint64_t{1} << 63);
  else return static_cast<int64_t>(x);
}
struct MaxInteger {
  static HWY_INLINE int64_t join(int64_t a, int64_t b) { return a > b ? a : b; }
};

template <class T, class F>
HWY_INLINE int64_t integer_of(T x) {
  if constexpr (std::is_same_v<F, MaxInteger>) return widen(x);
  else return static_cast<int64_t>(x);
}
template <class T, class F>
void row_integer(const void* px, int64_t n, Acc* acc) {
  const T* x = static_cast<const T*>(px);
  int64_t total = acc->integer;
  for (int64_t i = 0; i < n; ++i) total = F::join(total, integer_of<T, F>(x[i]));
  acc->integer = total;
}
template <class T, class F>
void columns_integer(const void* px, int64_t row_stride, int64_t rows, int64_t width, Acc* acc) {
  const T* x = static_cast<const T*>(px);
  for (int64_t r = 0; r < rows; ++r, x += row_stride) {
    OARLOCK_SIMD_LOOP
    for (int64_t c = 0; c < width; ++c) acc[c].integer = F::join(acc[c].integer, integer_of<T, F>(x[c]));
  }
}

template <class T>
void fill_real(Kernels* k, int dtype) {
  k->reduce[kSum][dtype].row = row_real<T, SumReal>;
  k->reduce[kSum][dtype].columns = columns_real<T, SumReal>;
  k->reduce[kMax][dtype].row = row_real<T, MaxReal>;
  k->reduce[kMax][dtype].columns = columns_real<T, MaxReal>;
}
template <class T>
void fill_integer(Kernels* k, int dtype) {
  k->reduce[kSum][dtype].row = row_integer<T, SumInteger>;
  k->reduce[kSum][dtype].columns = columns_integer<T, SumInteger>;
  k->reduce[kMax][dtype].row = row_integer<T, MaxInteger>;
  k->reduce[kMax][dtype].columns = columns_integer<T, MaxInteger>;
}

}  // namespace

void reduce_table(Kernels* k) {
  fill_real<float>(k, OAR_DTYPE_F32);
  fill_real<double>(k, OAR_DTYPE_F64);
  fill_integer<int8_t>(k, OAR_DTYPE_I8);
  fill_integer<uint8_t>(k, OAR_DTYPE_U8);
  fill_integer<int32_t>(k, OAR_DTYPE_I32);
  fill_integer<int64_t>(k, OAR_DTYPE_I64);
  fill_integer<uint64_t>(k, OAR_DTYPE_U64);
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
namespace {

template <bool Max>
void start_real(Acc* acc, int64_t width) {
  for (int64_t i = 0; i < width; ++i) acc[i].real = Max ? -std::numeric_limits<double>::infinity() : 0;
}
// The lowest value of a type; u64 with its top bit flipped, as in widen.
template <uint32_t Dtype>
constexpr int64_t lowest() {
  return Dtype == OAR_DTYPE_I8 ? INT8_MIN : Dtype == OAR_DTYPE_I32 ? INT32_MIN : Dtype == OAR_DTYPE_U8 ? 0 : INT64_MIN;
}
template <bool Max, uint32_t Dtype>
void start_integer(Acc* acc, int64_t width) {
  for (int64_t i = 0; i < width; ++i) acc[i].integer = Max ? lowest<Dtype>() : 0;
}
template <bool Max>
void merge_real(Acc* acc, const Acc* other, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    const double a = acc[i].real, b = other[i].real;
    acc[i].real = !Max ? a + b : a != a ? a : b != b ? b : std::max(a, b);
  }
}
template <bool Max>
void merge_integer(Acc* acc, const Acc* other, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    const int64_t a = acc[i].integer, b = other[i].integer;
    acc[i].integer = Max ? std::max(a, b) : static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}
template <uint32_t Dtype>
void finish_real(const Acc* acc, double scale, void* out, int64_t out_stride, int64_t width) {
  for (int64_t i = 0; i < width; ++i) oar_kit_store(out, Dtype, i * out_stride, acc[i].real * scale);
}
template <uint32_t Dtype>
void finish_integer(const Acc* acc, double, void* out, int64_t out_stride, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    oar_kit_store_int(out, Dtype, i * out_stride, static_cast<uint64_t>(acc[i].integer));
}
void finish_max_u64(const Acc* acc, double, void* out, int64_t out_stride, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    static_cast<uint64_t*>(out)[i * out_stride] = static_cast<uint64_t>(acc[i].integer) ^ uint64_t { 1 } << 63;
}

template <uint32_t Dtype>
void fill_rest(Kernels* k) {
  constexpr bool real = (kReal >> Dtype & 1) != 0;
  for (int op : {kSum, kMax}) {
    Reducer& r = k->reduce[op][Dtype];
    if (is_half(Dtype)) r = k->reduce[op][OAR_DTYPE_F32];
    if constexpr (real) {
      r.start = op == kMax ? start_real<true> : start_real<false>;
      r.merge = op == kMax ? merge_real<true> : merge_real<false>;
      r.finish = finish_real<Dtype>;
    } else {
      r.start = op == kMax ? start_integer<true, Dtype> : start_integer<false, Dtype>;
      r.merge = op == kMax ? merge_integer<true> : merge_integer<false>;
      r.finish = Dtype == OAR_DTYPE_U64 && op == kMax ? finish_max_u64 : finish_integer<Dtype>;
    }
  }
}

}  // namespace

HWY_EXPORT(reduce_table);
void reduce_fill(Kernels* out) {
  HWY_DYNAMIC_DISPATCH(reduce_table)(out);
  fill_rest<OAR_DTYPE_F32>(out);
  fill_rest<OAR_DTYPE_F64>(out);
  fill_rest<OAR_DTYPE_F16>(out);
  fill_rest<OAR_DTYPE_BF16>(out);
  fill_rest<OAR_DTYPE_I8>(out);
  fill_rest<OAR_DTYPE_U8>(out);
  fill_rest<OAR_DTYPE_I32>(out);
  fill_rest<OAR_DTYPE_I64>(out);
  fill_rest<OAR_DTYPE_U64>(out);
}
}  // namespace oarlock::simd
#endif
