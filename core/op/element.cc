// Conversions between the element types. Small floats go through one integer routine that rounds once; IEEE 754 gives f16
// and f32, bf16 is the upper half of f32, the OCP 8-bit specification gives e4m3 and e5m2, the OCP microscaling
// specification e8m0 and f4, and the "uz" ones are as in LLVM's APFloat (Float8E4M3FNUZ, Float8E5M2FNUZ).
#include "core/op/element.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace oarlock::op {
namespace {

struct Format {
  int exponent, mantissa, bias;  // bits, bits, bias
  uint32_t largest;              // bit pattern of the largest finite value
  int64_t infinity, nan;         // bit patterns, -1: there is none
  bool is_signed, negative_zero;
  constexpr int sign_at() const { return exponent + mantissa; }
};
inline constexpr Format kF16{5, 10, 15, 0x7bff, 0x7c00, 0x7e00, true, true};
inline constexpr Format kBf16{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true, true};
inline constexpr Format kE4M3{4, 3, 7, 0x7e, -1, 0x7f, true, true};
inline constexpr Format kE5M2{5, 2, 15, 0x7b, 0x7c, 0x7e, true, true};
inline constexpr Format kE4M3Uz{4, 3, 8, 0x7f, -1, 0x80, true, false};
inline constexpr Format kE5M2Uz{5, 2, 16, 0x7f, -1, 0x80, true, false};
inline constexpr Format kE2M1{2, 1, 1, 0x7, -1, -1, true, true};

constexpr uint32_t encode(const Format& f, double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x), magnitude = bits & ~(1ull << 63);
  uint32_t sign = uint32_t(bits >> 63) << f.sign_at();
  if (magnitude > 0x7ff0000000000000ull) {
    if (f.nan < 0) return f.largest | sign;
    return uint32_t(f.nan) | (f.negative_zero ? sign : 0);
  }
  if (magnitude == 0x7ff0000000000000ull) return (f.infinity >= 0 ? uint32_t(f.infinity) : f.largest) | sign;
  int e = int(magnitude >> 52) - 1023, least = 1 - f.bias, shift = 52 - f.mantissa;
  uint64_t value = (magnitude & ((1ull << 52) - 1));
  if (e >= least) {
    value |= uint64_t(e + f.bias) << 52;
  } else {  // subnormal there; double's own subnormals are far below half of anything
    value |= 1ull << 52;
    shift += least - e;
    if (e < -1022 || shift > 54) value = 0, shift = 1;
  }
  uint64_t code = (value + (1ull << (shift - 1)) - 1 + (value >> shift & 1)) >> shift;
  if (code > f.largest) code = f.infinity >= 0 ? uint64_t(f.infinity) : f.largest;
  return code || f.negative_zero ? uint32_t(code) | sign : 0;
}

constexpr double power_of_two(int e) { return std::bit_cast<double>(uint64_t(e + 1023) << 52); }  // of a normal double

constexpr double decode(const Format& f, uint32_t bits) {
  uint32_t code = bits & ((1u << f.sign_at()) - 1);
  bool negative = bits >> f.sign_at() & 1;
  if (!f.negative_zero && bits == 1u << f.sign_at()) return std::numeric_limits<double>::quiet_NaN();
  if (code > f.largest) {
    double x = f.infinity >= 0 && code == uint32_t(f.infinity) ? std::numeric_limits<double>::infinity()
                                                               : std::numeric_limits<double>::quiet_NaN();
    return negative ? -x : x;
  }
  int e = int(code >> f.mantissa);
  double m = double(code & ((1u << f.mantissa) - 1));
  double one = double(1u << f.mantissa);
  double x = e ? (one + m) * power_of_two(e - f.bias - f.mantissa) : m * power_of_two(1 - f.bias - f.mantissa);
  return negative ? -x : x;
}

// A scale: 2^(code - 127), no sign, no zero; what is negative has no code but NaN.
constexpr uint32_t encode_e8m0(double x) {
  if (!(x >= 0)) return 0xff;
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t code = int64_t(bits >> 52) - 1023 + 127;
  uint64_t rest = bits & ((1ull << 52) - 1), half = 1ull << 51;
  code += rest > half || (rest == half && (code & 1));
  return uint32_t(code < 0 ? 0 : code > 254 ? 254 : code);
}
constexpr double decode_e8m0(uint32_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN() : power_of_two(int(code) - 127);
}

template <class F>
constexpr std::array<float, 256> table_of(F decode) {
  std::array<float, 256> t{};
  for (uint32_t i = 0; i < 256; ++i) t[i] = float(decode(i));
  return t;
}
constexpr auto kE4M3Table = table_of([](uint32_t i) { return decode(kE4M3, i); });
constexpr auto kE5M2Table = table_of([](uint32_t i) { return decode(kE5M2, i); });
constexpr auto kE4M3UzTable = table_of([](uint32_t i) { return decode(kE4M3Uz, i); });
constexpr auto kE5M2UzTable = table_of([](uint32_t i) { return decode(kE5M2Uz, i); });

double f16_value(uint32_t h) {
  uint32_t e = h >> 10 & 31, m = h & 1023;
  if (e == 0 || e == 31) [[unlikely]]
    return decode(kF16, h);
  return std::bit_cast<float>((h & 0x8000) << 16 | (e + 112) << 23 | m << 13);
}
double bf16_value(uint32_t h) { return std::bit_cast<float>(h << 16); }

// Saturating, toward zero, NaN 0.
template <class Int>
Int truncated(double x) {
  if (x != x) return 0;
  constexpr double low = double(std::numeric_limits<Int>::min());
  constexpr double over = 2.0 * double(std::numeric_limits<Int>::max() / 2 + 1);  // one above the largest, exact
  if (x <= low) return std::numeric_limits<Int>::min();
  return x >= over ? std::numeric_limits<Int>::max() : Int(x);
}
int64_t clamped(double x, int64_t low, int64_t high) {
  int64_t n = truncated<int64_t>(x);
  return n < low ? low : n > high ? high : n;
}

// To a double on the way to a narrower float: what 53 bits can't hold is kept as a sticky lowest bit, so that the second
// rounding is the only one that counts.
template <class Int>
double sticky(Int x) {
  uint64_t size = x < 0 ? -uint64_t(x) : uint64_t(x);
  if (size >> 53) size = (size & ~0x7ffull) | ((size & 0x7ff) ? 0x800 : 0);
  return x < 0 ? -double(size) : double(size);
}
double sticky(double x) { return x; }

const uint8_t* bytes(const oar_view_t& v) { return static_cast<const uint8_t*>(v.data) + v.byte_offset; }
uint8_t* bytes_of(const oar_view_t& v) { return static_cast<uint8_t*>(v.data) + v.byte_offset; }

template <class T>
T get(const oar_view_t& v, int64_t at) {
  T x;
  std::memcpy(&x, bytes(v) + at * int64_t(sizeof(T)), sizeof(T));
  return x;
}
template <class T>
void put(const oar_view_t& v, int64_t at, T x) {
  std::memcpy(bytes_of(v) + at * int64_t(sizeof(T)), &x, sizeof(T));
}
template <int kBits>
uint32_t get_packed(const oar_view_t& v, int64_t at) {
  return uint32_t(bytes(v)[at * kBits / 8] >> (at * kBits % 8)) & ((1u << kBits) - 1);
}
template <int kBits>
void put_packed(const oar_view_t& v, int64_t at, uint32_t x) {
  uint8_t& b = bytes_of(v)[at * kBits / 8];
  int shift = int(at * kBits % 8);
  constexpr uint32_t mask = (1u << kBits) - 1;
  b = uint8_t((b & ~(mask << shift)) | (x & mask) << shift);
}
template <int kBits>
int64_t extended(uint32_t x) {
  return int64_t(x ^ (1u << (kBits - 1))) - (1 << (kBits - 1));
}

template <class Acc>
Acc from_double(double x) {
  if constexpr (std::is_same_v<Acc, double>) return x;
  else return truncated<Acc>(x);
}
template <class Int, class Acc>
Int to_int(Acc x) {
  if constexpr (std::is_same_v<Acc, double>) return truncated<Int>(x);
  else return Int(x);
}
template <class Acc>
uint32_t to_bits(Acc x, int64_t low, int64_t high) {
  if constexpr (std::is_same_v<Acc, double>) return uint32_t(clamped(x, low, high));
  else return uint32_t(x);
}

}  // namespace

uint32_t encode_float(DType t, double x) {
  switch (t) {
    case DType::f16: return encode(kF16, x);
    case DType::bf16: return encode(kBf16, x);
    case DType::f8_e4m3: return encode(kE4M3, x);
    case DType::f8_e5m2: return encode(kE5M2, x);
    case DType::f8_e4m3_uz: return encode(kE4M3Uz, x);
    case DType::f8_e5m2_uz: return encode(kE5M2Uz, x);
    case DType::f8_e8m0: return encode_e8m0(x);
    case DType::f4_e2m1: return encode(kE2M1, x);
    default: return 0;
  }
}

double decode_float(DType t, uint32_t bits) {
  switch (t) {
    case DType::f16: return f16_value(bits & 0xffff);
    case DType::bf16: return bf16_value(bits & 0xffff);
    case DType::f8_e4m3: return kE4M3Table[bits & 0xff];
    case DType::f8_e5m2: return kE5M2Table[bits & 0xff];
    case DType::f8_e4m3_uz: return kE4M3UzTable[bits & 0xff];
    case DType::f8_e5m2_uz: return kE5M2UzTable[bits & 0xff];
    case DType::f8_e8m0: return decode_e8m0(bits & 0xff);
    case DType::f4_e2m1: return decode(kE2M1, bits & 0xf);
    default: return 0;
  }
}

template <class Acc>
Acc load(const oar_view_t& v, int64_t at) {
  switch (DType(v.dtype)) {
    case DType::boolean: return Acc(get<uint8_t>(v, at) != 0);
    case DType::i8: return Acc(get<int8_t>(v, at));
    case DType::i16: return Acc(get<int16_t>(v, at));
    case DType::i32: return Acc(get<int32_t>(v, at));
    case DType::i64: return Acc(get<int64_t>(v, at));
    case DType::u8: return Acc(get<uint8_t>(v, at));
    case DType::u16: return Acc(get<uint16_t>(v, at));
    case DType::u32: return Acc(get<uint32_t>(v, at));
    case DType::u64: return Acc(get<uint64_t>(v, at));
    case DType::f32: return from_double<Acc>(get<float>(v, at));
    case DType::f64: return from_double<Acc>(get<double>(v, at));
    case DType::f16: return from_double<Acc>(f16_value(get<uint16_t>(v, at)));
    case DType::bf16: return from_double<Acc>(bf16_value(get<uint16_t>(v, at)));
    case DType::f8_e4m3:
    case DType::f8_e5m2:
    case DType::f8_e4m3_uz:
    case DType::f8_e5m2_uz:
    case DType::f8_e8m0: return from_double<Acc>(decode_float(DType(v.dtype), get<uint8_t>(v, at)));
    case DType::f4_e2m1: return from_double<Acc>(decode(kE2M1, get_packed<4>(v, at)));
    case DType::i4: return Acc(extended<4>(get_packed<4>(v, at)));
    case DType::u4: return Acc(get_packed<4>(v, at));
    case DType::i2: return Acc(extended<2>(get_packed<2>(v, at)));
    case DType::u2: return Acc(get_packed<2>(v, at));
    default: return Acc(0);
  }
}

template <class Acc>
void store(const oar_view_t& v, int64_t at, Acc x) {
  switch (DType(v.dtype)) {
    case DType::boolean: return put(v, at, uint8_t(x != 0));
    case DType::i8: return put(v, at, to_int<int8_t>(x));
    case DType::i16: return put(v, at, to_int<int16_t>(x));
    case DType::i32: return put(v, at, to_int<int32_t>(x));
    case DType::i64: return put(v, at, to_int<int64_t>(x));
    case DType::u8: return put(v, at, to_int<uint8_t>(x));
    case DType::u16: return put(v, at, to_int<uint16_t>(x));
    case DType::u32: return put(v, at, to_int<uint32_t>(x));
    case DType::u64: return put(v, at, to_int<uint64_t>(x));
    case DType::f32: return put(v, at, float(x));
    case DType::f64: return put(v, at, double(x));
    case DType::f16: return put(v, at, uint16_t(encode(kF16, sticky(x))));
    case DType::bf16: return put(v, at, uint16_t(encode(kBf16, sticky(x))));
    case DType::f8_e4m3:
    case DType::f8_e5m2:
    case DType::f8_e4m3_uz:
    case DType::f8_e5m2_uz:
    case DType::f8_e8m0: return put(v, at, uint8_t(encode_float(DType(v.dtype), sticky(x))));
    case DType::f4_e2m1: return put_packed<4>(v, at, encode(kE2M1, sticky(x)));
    case DType::i4: return put_packed<4>(v, at, to_bits(x, -8, 7));
    case DType::u4: return put_packed<4>(v, at, to_bits(x, 0, 15));
    case DType::i2: return put_packed<2>(v, at, to_bits(x, -2, 1));
    case DType::u2: return put_packed<2>(v, at, to_bits(x, 0, 3));
    default: return;
  }
}

template double load<double>(const oar_view_t&, int64_t);
template int64_t load<int64_t>(const oar_view_t&, int64_t);
template uint64_t load<uint64_t>(const oar_view_t&, int64_t);
template void store<double>(const oar_view_t&, int64_t, double);
template void store<int64_t>(const oar_view_t&, int64_t, int64_t);
template void store<uint64_t>(const oar_view_t&, int64_t, uint64_t);

int64_t count(const oar_view_t& v) {
  int64_t n = 1;
  for (int i = 0; i < v.n_dims; ++i) n *= v.shape[i];
  return n;
}

}  // namespace oarlock::op
