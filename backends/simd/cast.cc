// cast between all dtypes below C64 over dense blocks. The rules are kit_number.h's: integers wrap, a float becomes an
// integer by dropping its fraction, saturating, NaN giving 0; anything but 0 is true; f16 and bf16 are rounded to
// nearest even from f32. Pairs that training meets are vectorised, the rest go element by element.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cast.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pack.h"
#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oarlock::simd {
namespace HWY_NAMESPACE {
namespace {

template <class From, class To>
void convert(const void* pa, const void*, const void*, void* po, int64_t n) {
  const From* a = static_cast<const From*>(pa);
  To* out = static_cast<To*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(a[i]);
}

template <class From>
void to_bool(const void* pa, const void*, const void*, void* po, int64_t n) {
  const From* a = static_cast<const From*>(pa);
  uint8_t* out = static_cast<uint8_t*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] != From(0);
}

void bf16_to_f32(const void* pa, const void*, const void*, void* po, int64_t n) {
  const uint16_t* a = static_cast<const uint16_t*>(pa);
  uint32_t* out = static_cast<uint32_t*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint32_t>(a[i]) << 16;
}
void f32_to_bf16(const void* pa, const void*, const void*, void* po, int64_t n) {
  const uint32_t* a = static_cast<const uint32_t*>(pa);
  uint16_t* out = static_cast<uint16_t*>(po);
  OARLOCK_SIMD_LOOP
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t x = a[i];
    const uint32_t rounded = (x + 0x7fff + (x >> 16 & 1)) >> 16;
    const uint32_t quiet = x >> 16 | 0x40;  // rounding could turn a NaN into an infinity
    out[i] = static_cast<uint16_t>((x & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
}

void f16_to_f32(const void* pa, const void*, const void*, void* po, int64_t n) {
  const uint16_t* a = static_cast<const uint16_t*>(pa);
  float* out = static_cast<float*>(po);
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const int64_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(a + i))), d, out + i);
#endif
  for (; i < n; ++i) out[i] = oar_kit_f16_to_f32(a[i]);
}
void f32_to_f16(const void* pa, const void*, const void*, void* po, int64_t n) {
  const float* a = static_cast<const float*>(pa);
  uint16_t* out = static_cast<uint16_t*>(po);
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const int64_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, a + i)), half, reinterpret_cast<hwy::float16_t*>(out + i));
#endif
  for (; i < n; ++i) out[i] = oar_kit_f32_to_f16(a[i]);
}

template <class From>
void fill_from(Kernels* k, int from) {
  k->cast[from][OAR_DTYPE_F32] = convert<From, float>;
  k->cast[from][OAR_DTYPE_F64] = convert<From, double>;
  k->cast[from][OAR_DTYPE_BOOL] = to_bool<From>;
}

}  // namespace

void cast_table(Kernels* k) {
  fill_from<uint8_t>(k, OAR_DTYPE_U8);
  fill_from<int8_t>(k, OAR_DTYPE_I8);
  fill_from<int32_t>(k, OAR_DTYPE_I32);
  fill_from<int64_t>(k, OAR_DTYPE_I64);
  k->cast[OAR_DTYPE_F32][OAR_DTYPE_F64] = convert<float, double>;
  k->cast[OAR_DTYPE_F64][OAR_DTYPE_F32] = convert<double, float>;
  k->cast[OAR_DTYPE_F32][OAR_DTYPE_BOOL] = to_bool<float>;
  k->cast[OAR_DTYPE_F64][OAR_DTYPE_BOOL] = to_bool<double>;
  k->cast[OAR_DTYPE_I32][OAR_DTYPE_I64] = convert<int32_t, int64_t>;
  k->cast[OAR_DTYPE_I64][OAR_DTYPE_I32] = convert<int64_t, int32_t>;
  k->cast[OAR_DTYPE_BF16][OAR_DTYPE_F32] = bf16_to_f32;
  k->cast[OAR_DTYPE_F32][OAR_DTYPE_BF16] = f32_to_bf16;
  k->cast[OAR_DTYPE_F16][OAR_DTYPE_F32] = f16_to_f32;
  k->cast[OAR_DTYPE_F32][OAR_DTYPE_F16] = f32_to_f16;
}

}  // namespace HWY_NAMESPACE
}  // namespace oarlock::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oarlock::simd {
namespace {

template <int From, int To>
void convert_slowly(const void* a, const void*, const void*, void* out, int64_t n) {
  if (From == To) std::memmove(out, a, n * size_of(From));
  else
    for (int64_t i = 0; i < n; ++i) oar_kit_convert(out, To, i, a, From, i);
}

template <int From, int To>
void fill_slow(Kernels* out) {
  if constexpr (To <= OAR_DTYPE_F64) {
    out->cast[From][To] = convert_slowly<From, To>;
    fill_slow<From, To + 1>(out);
  } else if constexpr (From < OAR_DTYPE_F64) {
    fill_slow<From + 1, OAR_DTYPE_BOOL>(out);
  }
}

}  // namespace

HWY_EXPORT(cast_table);
void cast_fill(Kernels* out) {
  fill_slow<OAR_DTYPE_BOOL, OAR_DTYPE_BOOL>(out);
  HWY_DYNAMIC_DISPATCH(cast_table)(out);
  for (int to : {OAR_DTYPE_F32, OAR_DTYPE_F64}) out->cast[OAR_DTYPE_BOOL][to] = out->cast[OAR_DTYPE_U8][to];
}
}  // namespace oarlock::simd
#endif
