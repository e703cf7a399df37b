#include "api/cts/number.h"

#include <string.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace oarlock::cts {

namespace {

// 16-bit formats: `exponent` and `fraction` bits, IEEE otherwise.
double decode(uint16_t bits, int exponent, int fraction) {
  int bias = (1 << (exponent - 1)) - 1, e = bits >> fraction & ((1 << exponent) - 1);
  double f = bits & ((1 << fraction) - 1), sign = bits >> 15 ? -1 : 1;
  if (e == (1 << exponent) - 1) return f != 0 ? std::nan("") : sign * INFINITY;
  if (e == 0) return sign * std::ldexp(f, 1 - bias - fraction);
  return sign * std::ldexp(1 + std::ldexp(f, -fraction), e - bias);
}

uint16_t encode(double x, int exponent, int fraction) {
  int bias = (1 << (exponent - 1)) - 1;
  uint16_t sign = std::signbit(x) ? 0x8000 : 0, infinity = uint16_t(((1 << exponent) - 1) << fraction);
  x = std::fabs(x);
  if (std::isnan(x)) return uint16_t(infinity | 1 << (fraction - 1));
  if (x == 0) return sign;
  int e = std::max(std::ilogb(x), 1 - bias);
  if (e > bias) return sign | infinity;
  double units = std::nearbyint(std::ldexp(x, fraction - e));  // below 2^fraction: subnormal
  uint32_t whole = uint32_t(units);
  uint32_t bits = whole < (1u << fraction) ? whole : (uint32_t(e + bias) << fraction) + (whole - (1u << fraction));
  return sign | uint16_t(std::min<uint32_t>(bits, infinity));
}

template <class T>
T at(const void* bytes, int64_t i) {
  T x;
  memcpy(&x, static_cast<const char*>(bytes) + i * int64_t(sizeof(T)), sizeof(T));
  return x;
}
template <class T>
void put(void* bytes, int64_t i, T x) {
  memcpy(static_cast<char*>(bytes) + i * int64_t(sizeof(T)), &x, sizeof(T));
}

}  // namespace

double get_number(const void* b, DType t, int64_t i) {
  switch (t) {
    case DType::boolean:
    case DType::u8: return at<uint8_t>(b, i);
    case DType::i8: return at<int8_t>(b, i);
    case DType::i16: return at<int16_t>(b, i);
    case DType::i32: return at<int32_t>(b, i);
    case DType::i64: return double(at<int64_t>(b, i));
    case DType::u16: return at<uint16_t>(b, i);
    case DType::u32: return at<uint32_t>(b, i);
    case DType::u64: return double(at<uint64_t>(b, i));
    case DType::f16: return decode(at<uint16_t>(b, i), 5, 10);
    case DType::bf16: return decode(at<uint16_t>(b, i), 8, 7);
    case DType::f32: return at<float>(b, i);
    case DType::f64: return at<double>(b, i);
    default: return std::nan("");
  }
}

void put_number(void* b, DType t, int64_t i, double x) {
  int64_t n = is_float(t) || std::isnan(x) ? 0 : int64_t(x);
  switch (t) {
    case DType::boolean: return put<uint8_t>(b, i, x != 0);
    case DType::u8: return put(b, i, uint8_t(n));
    case DType::i8: return put(b, i, int8_t(n));
    case DType::i16: return put(b, i, int16_t(n));
    case DType::i32: return put(b, i, int32_t(n));
    case DType::i64: return put(b, i, n);
    case DType::u16: return put(b, i, uint16_t(n));
    case DType::u32: return put(b, i, uint32_t(n));
    case DType::u64: return put(b, i, uint64_t(n));
    case DType::f16: return put(b, i, encode(x, 5, 10));
    case DType::bf16: return put(b, i, encode(x, 8, 7));
    case DType::f32: return put(b, i, float(x));
    case DType::f64: return put(b, i, x);
    default: return;
  }
}

bool is_float(DType t) { return (set_of(t) & kFloat) != 0; }
bool is_integer(DType t) { return (set_of(t) & kInt) != 0; }

double epsilon(DType t) {
  switch (t) {
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f32: return 0x1p-23;
    case DType::f64: return 0x1p-52;
    default: return 0;
  }
}
double smallest(DType t) {
  switch (t) {
    case DType::f16: return 0x1p-14;
    case DType::bf16:
    case DType::f32: return 0x1p-126;
    case DType::f64: return 0x1p-1022;
    default: return 0;
  }
}
double largest(DType t) {
  switch (t) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    case DType::f32: return std::numeric_limits<float>::max();
    case DType::f64: return std::numeric_limits<double>::max();
    default: {
      int bits = info(t).bits;
      if (set_of(t) & kSigned) return std::ldexp(1, bits - 1) - 1;
      return t == DType::boolean ? 1 : std::ldexp(1, bits) - 1;
    }
  }
}

std::string number_text(const void* b, DType t, int64_t i) {
  if (t == DType::i64) return std::to_string(at<int64_t>(b, i));
  if (t == DType::u64) return std::to_string(at<uint64_t>(b, i));
  return fmt::format("{:.9g}", get_number(b, t, i));
}

}  // namespace oarlock::cts
