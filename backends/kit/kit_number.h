/* kit_number.h - element types: sizes, classes, and values as double or 64-bit integers. Part of kit.h.
 *
 * The conversion rules are those of every Oarlock device: integers wrap; a float becomes an integer by dropping its
 * fraction, saturating where it does not fit, NaN giving 0; anything but 0 is true; f16 and bf16 are rounded to
 * nearest even from f32.
 */
#ifndef OARLOCK_KIT_NUMBER_H
#define OARLOCK_KIT_NUMBER_H
#include <stdbool.h>
#include <string.h>

#include "oarlock/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OAR_KIT_SIGNED \
  (OAR_BIT(OAR_DTYPE_I8) | OAR_BIT(OAR_DTYPE_I16) | OAR_BIT(OAR_DTYPE_I32) | OAR_BIT(OAR_DTYPE_I64))
#define OAR_KIT_UNSIGNED \
  (OAR_BIT(OAR_DTYPE_U8) | OAR_BIT(OAR_DTYPE_U16) | OAR_BIT(OAR_DTYPE_U32) | OAR_BIT(OAR_DTYPE_U64))
#define OAR_KIT_FLOATS \
  (OAR_BIT(OAR_DTYPE_F16) | OAR_BIT(OAR_DTYPE_BF16) | OAR_BIT(OAR_DTYPE_F32) | OAR_BIT(OAR_DTYPE_F64))
#define OAR_KIT_INTEGERS (OAR_KIT_SIGNED | OAR_KIT_UNSIGNED)
#define OAR_KIT_NUMBERS (OAR_KIT_INTEGERS | OAR_KIT_FLOATS)
#define OAR_KIT_BOOL OAR_BIT(OAR_DTYPE_BOOL)

static inline bool oar_kit_in(uint64_t mask, uint32_t dtype) { return dtype < 64 && (mask >> dtype & 1) != 0; }

/* Bits of one element; 0 for a number that names no type. */
static inline uint32_t oar_kit_dtype_bits(uint32_t dtype) {
  switch (dtype) {
    case OAR_DTYPE_I2:
    case OAR_DTYPE_U2: return 2;
    case OAR_DTYPE_I4:
    case OAR_DTYPE_U4:
    case OAR_DTYPE_F4_E2M1: return 4;
    case OAR_DTYPE_F6_E2M3:
    case OAR_DTYPE_F6_E3M2: return 6;
    case OAR_DTYPE_BOOL:
    case OAR_DTYPE_I8:
    case OAR_DTYPE_U8:
    case OAR_DTYPE_F8_E4M3:
    case OAR_DTYPE_F8_E5M2:
    case OAR_DTYPE_F8_E4M3_UZ:
    case OAR_DTYPE_F8_E5M2_UZ:
    case OAR_DTYPE_F8_E8M0: return 8;
    case OAR_DTYPE_I16:
    case OAR_DTYPE_U16:
    case OAR_DTYPE_F16:
    case OAR_DTYPE_BF16: return 16;
    case OAR_DTYPE_I32:
    case OAR_DTYPE_U32:
    case OAR_DTYPE_F32: return 32;
    case OAR_DTYPE_I64:
    case OAR_DTYPE_U64:
    case OAR_DTYPE_F64:
    case OAR_DTYPE_C64: return 64;
    case OAR_DTYPE_C128: return 128;
    default: return 0;
  }
}

/* Bytes of one element; 0 for packed types below 8 bits and for a number that names no type. */
static inline uint32_t oar_kit_dtype_bytes(uint32_t dtype) {
  uint32_t bits = oar_kit_dtype_bits(dtype);
  return bits >= 8 ? bits / 8 : 0;
}

static inline uint32_t oar_kit_float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static inline float oar_kit_bits_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline float oar_kit_bf16_to_f32(uint16_t half) { return oar_kit_bits_float((uint32_t)half << 16); }

static inline uint16_t oar_kit_f32_to_bf16(float value) {
  uint32_t bits = oar_kit_float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u); /* NaN stays NaN, made quiet */
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float oar_kit_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
  if (exponent == 31) return oar_kit_bits_float(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return oar_kit_bits_float(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 5.9604644775390625e-8f; /* 2^-24: subnormals and zero */
  return sign != 0 ? -magnitude : magnitude;
}

static inline uint16_t oar_kit_f32_to_f16(float value) {
  uint32_t bits = oar_kit_float_bits(value);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
  if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
  if (bits < 0x38800000u) { /* below 2^-14: adding 0.5 puts the last kept bit at 2^-24 and rounds to nearest even */
    uint32_t rounded = oar_kit_float_bits(oar_kit_bits_float(bits) + 0.5f);
    return (uint16_t)(sign | (rounded - 0x3f000000u));
  }
  return (uint16_t)(sign | ((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13));
}

static inline int64_t oar_kit_double_to_i64(double value, int64_t low, int64_t high) {
  if (value != value) return 0;
  if (value <= (double)low) return low;
  if (value >= (double)high) return high;
  return (int64_t)value;
}

static inline uint64_t oar_kit_double_to_u64(double value, uint64_t high) {
  if (!(value > 0)) return 0;
  if (value >= (double)high) return high;
  return (uint64_t)value;
}

/* Element i as a double. Bool, integers and floats. */
static inline double oar_kit_load(const void* data, uint32_t dtype, int64_t i) {
  const char* at = (const char*)data + i * (int64_t)oar_kit_dtype_bytes(dtype);
  switch (dtype) {
    case OAR_DTYPE_BOOL: return *(const unsigned char*)at != 0;
    case OAR_DTYPE_I8: return *(const signed char*)at;
    case OAR_DTYPE_U8: return *(const unsigned char*)at;
    case OAR_DTYPE_I16: {
      int16_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_U16: {
      uint16_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_I32: {
      int32_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_U32: {
      uint32_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_I64: {
      int64_t v;
      memcpy(&v, at, sizeof(v));
      return (double)v;
    }
    case OAR_DTYPE_U64: {
      uint64_t v;
      memcpy(&v, at, sizeof(v));
      return (double)v;
    }
    case OAR_DTYPE_F16: {
      uint16_t v;
      memcpy(&v, at, sizeof(v));
      return oar_kit_f16_to_f32(v);
    }
    case OAR_DTYPE_BF16: {
      uint16_t v;
      memcpy(&v, at, sizeof(v));
      return oar_kit_bf16_to_f32(v);
    }
    case OAR_DTYPE_F32: {
      float v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_F64: {
      double v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    default: return 0;
  }
}

/* Element i of bool or an integer type as 64 bits, sign extended where the type has a sign. */
static inline uint64_t oar_kit_load_int(const void* data, uint32_t dtype, int64_t i) {
  const char* at = (const char*)data + i * (int64_t)oar_kit_dtype_bytes(dtype);
  switch (dtype) {
    case OAR_DTYPE_BOOL: return *(const unsigned char*)at != 0;
    case OAR_DTYPE_I8: return (uint64_t)(int64_t) * (const signed char*)at;
    case OAR_DTYPE_U8: return *(const unsigned char*)at;
    case OAR_DTYPE_I16: {
      int16_t v;
      memcpy(&v, at, sizeof(v));
      return (uint64_t)(int64_t)v;
    }
    case OAR_DTYPE_U16: {
      uint16_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_I32: {
      int32_t v;
      memcpy(&v, at, sizeof(v));
      return (uint64_t)(int64_t)v;
    }
    case OAR_DTYPE_U32: {
      uint32_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    case OAR_DTYPE_I64:
    case OAR_DTYPE_U64: {
      uint64_t v;
      memcpy(&v, at, sizeof(v));
      return v;
    }
    default: return 0;
  }
}

/* Stores the low bits of an integer: wraps. For bool anything but 0 is 1. */
static inline void oar_kit_store_int(void* data, uint32_t dtype, int64_t i, uint64_t value) {
  char* at = (char*)data + i * (int64_t)oar_kit_dtype_bytes(dtype);
  switch (dtype) {
    case OAR_DTYPE_BOOL: *(unsigned char*)at = value != 0; break;
    case OAR_DTYPE_I8:
    case OAR_DTYPE_U8: *(unsigned char*)at = (unsigned char)value; break;
    case OAR_DTYPE_I16:
    case OAR_DTYPE_U16: {
      uint16_t v = (uint16_t)value;
      memcpy(at, &v, sizeof(v));
      break;
    }
    case OAR_DTYPE_I32:
    case OAR_DTYPE_U32: {
      uint32_t v = (uint32_t)value;
      memcpy(at, &v, sizeof(v));
      break;
    }
    case OAR_DTYPE_I64:
    case OAR_DTYPE_U64: memcpy(at, &value, sizeof(value)); break;
    default: break;
  }
}

/* Stores a float of f16, bf16, f32 or f64; any other type by the conversion rules above. */
static inline void oar_kit_store(void* data, uint32_t dtype, int64_t i, double value) {
  char* at = (char*)data + i * (int64_t)oar_kit_dtype_bytes(dtype);
  switch (dtype) {
    case OAR_DTYPE_F16: {
      uint16_t v = oar_kit_f32_to_f16((float)value);
      memcpy(at, &v, sizeof(v));
      break;
    }
    case OAR_DTYPE_BF16: {
      uint16_t v = oar_kit_f32_to_bf16((float)value);
      memcpy(at, &v, sizeof(v));
      break;
    }
    case OAR_DTYPE_F32: {
      float v = (float)value;
      memcpy(at, &v, sizeof(v));
      break;
    }
    case OAR_DTYPE_F64: memcpy(at, &value, sizeof(value)); break;
    case OAR_DTYPE_BOOL: *(unsigned char*)at = value != 0; break;
    case OAR_DTYPE_I8:
    case OAR_DTYPE_I16:
    case OAR_DTYPE_I32:
    case OAR_DTYPE_I64: {
      int64_t high = (int64_t)(~(uint64_t)0 >> (65 - oar_kit_dtype_bits(dtype)));
      oar_kit_store_int(data, dtype, i, (uint64_t)oar_kit_double_to_i64(value, -high - 1, high));
      break;
    }
    case OAR_DTYPE_U8:
    case OAR_DTYPE_U16:
    case OAR_DTYPE_U32:
    case OAR_DTYPE_U64:
      oar_kit_store_int(data, dtype, i, oar_kit_double_to_u64(value, ~(uint64_t)0 >> (64 - oar_kit_dtype_bits(dtype))));
      break;
    default: break;
  }
}

/* One element from one type to another. Integers meet f32, and f16 and bf16 through it, without a detour by double,
 * which would round twice. */
static inline void oar_kit_convert(void* out, uint32_t out_dtype, int64_t out_i, const void* in, uint32_t in_dtype,
                                   int64_t in_i) {
  if (oar_kit_in(OAR_KIT_FLOATS, in_dtype)) {
    oar_kit_store(out, out_dtype, out_i, oar_kit_load(in, in_dtype, in_i));
    return;
  }
  uint64_t value = oar_kit_load_int(in, in_dtype, in_i);
  if (!oar_kit_in(OAR_KIT_FLOATS, out_dtype)) {
    oar_kit_store_int(out, out_dtype, out_i, value);
  } else if (out_dtype == OAR_DTYPE_F64) {
    oar_kit_store(out, out_dtype, out_i, oar_kit_load(in, in_dtype, in_i));
  } else {
    float rounded = oar_kit_in(OAR_KIT_SIGNED, in_dtype) ? (float)(int64_t)value : (float)value;
    oar_kit_store(out, out_dtype, out_i, rounded);
  }
}

#ifdef __cplusplus
}
#endif
#endif
