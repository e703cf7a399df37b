// What every kernel file begins with: dtypes, loads and stores, places. OpenCL C 1.2, explicit address spaces, no half
// arithmetic. real: the type that floats are computed in, REAL if the options say so, else the widest there is. Operands
// come as a buffer and a byte offset. Numbers of dtypes are oar_dtype_t's; where an option fixes one, the switches fold.
#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#ifndef REAL
#ifdef HAS_F64
#define REAL double
#else
#define REAL float
#endif
#endif
typedef REAL real;
typedef global const uchar* source;
typedef global uchar* target;

#define BOOL 1
#define I8 2
#define I16 3
#define I32 4
#define I64 5
#define U8 6
#define U16 7
#define U32 8
#define U64 9
#define F16 10
#define BF16 11
#define F32 12
#define F64 13
#define ITEMS 256 /* of a work group */
#define ONE_AXIS __attribute__((reqd_work_group_size(ITEMS, 1, 1)))

#define MAX_AXES 8
// n places of up to MAX_AXES axes, outermost first, and the strides of up to four operands, in elements.
typedef struct {
  long n;
  int rank, reserved;
  long shape[MAX_AXES];
  long stride[4][MAX_AXES];
} geometry;

static inline long place(const geometry* g, int operand, long i) {
  if (g->rank == 1) return i * g->stride[operand][0];
  long at = 0;
  for (int d = g->rank - 1; d >= 0; --d) {
    const long n = g->shape[d], next = i / n;
    at += (i - next * n) * g->stride[operand][d];
    i = next;
  }
  return at;
}

// A number in as many digits as real has: the sum of the three.
typedef struct {
  float high, middle, low, reserved;
} number;
static inline real real_of(number v) { return (real)v.high + (real)v.middle + (real)v.low; }

static inline float half_to_float(ushort h) {
  const uint sign = (uint)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
  if (exponent == 31) return as_float(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return as_float(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = (float)fraction * 5.9604644775390625e-8f;
  return sign != 0 ? -magnitude : magnitude;
}
static inline ushort float_to_half(float value) {
  uint bits = as_uint(value);
  const uint sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return (ushort)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
  if (bits >= 0x477ff000u) return (ushort)(sign | 0x7c00u);
  if (bits < 0x38800000u) return (ushort)(sign | (as_uint(as_float(bits) + 0.5f) - 0x3f000000u));
  return (ushort)(sign | ((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13));
}
static inline ushort float_to_brain(float value) {
  const uint bits = as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (ushort)(bits >> 16 | 0x40u);
  return (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// Element i of a float.
static inline real load_real(source p, int dtype, long i) {
  switch (dtype) {
    case F16: return half_to_float(((global const ushort*)p)[i]);
    case BF16: return as_float((uint)((global const ushort*)p)[i] << 16);
#ifdef HAS_F64
    case F64: return ((global const double*)p)[i];
#endif
    default: return ((global const float*)p)[i];
  }
}
static inline void store_real(target p, int dtype, long i, real v) {
  switch (dtype) {
    case F16: ((global ushort*)p)[i] = float_to_half((float)v); break;
    case BF16: ((global ushort*)p)[i] = float_to_brain((float)v); break;
#ifdef HAS_F64
    case F64: ((global double*)p)[i] = v; break;
#endif
    default: ((global float*)p)[i] = (float)v; break;
  }
}
// Element i of an integer or bool, extended by its sign if it has one.
static inline long load_int(source p, int dtype, long i) {
  switch (dtype) {
    case BOOL: return p[i] != 0;
    case I8: return ((global const char*)p)[i];
    case U8: return p[i];
    case I16: return ((global const short*)p)[i];
    case U16: return ((global const ushort*)p)[i];
    case I32: return ((global const int*)p)[i];
    case U32: return ((global const uint*)p)[i];
    default: return ((global const long*)p)[i];
  }
}
static inline void store_int(target p, int dtype, long i, long v) {
  switch (dtype) {
    case BOOL: p[i] = v != 0; break;
    case I8:
    case U8: p[i] = (uchar)v; break;
    case I16:
    case U16: ((global ushort*)p)[i] = (ushort)v; break;
    case I32:
    case U32: ((global uint*)p)[i] = (uint)v; break;
    default: ((global long*)p)[i] = v; break;
  }
}
static inline int is_float(int dtype) { return dtype >= F16 && dtype <= F64; }
static inline int is_unsigned(int dtype) { return dtype == BOOL || (dtype >= U8 && dtype <= U64); }
static inline int bytes_of(int dtype) {
  switch (dtype) {
    case BOOL:
    case I8:
    case U8: return 1;
    case I16:
    case U16:
    case F16:
    case BF16: return 2;
    case I32:
    case U32:
    case F32: return 4;
    default: return 8;
  }
}
// Moves `width` bytes, as one.
static inline void move(target to, long i, source from, long k, int width) {
  switch (width) {
    case 1: to[i] = from[k]; break;
    case 2: ((global ushort*)to)[i] = ((global const ushort*)from)[k]; break;
    case 4: ((global uint*)to)[i] = ((global const uint*)from)[k]; break;
    case 8: ((global ulong*)to)[i] = ((global const ulong*)from)[k]; break;
    default:
      ((global ulong*)to)[2 * i] = ((global const ulong*)from)[2 * k];
      ((global ulong*)to)[2 * i + 1] = ((global const ulong*)from)[2 * k + 1];
      break;
  }
}

// a before b in the order that sorting uses: NaN is the greatest.
static inline int real_before(real a, real b) { return a < b || (b != b && a == a); }
static inline int int_before(long a, long b, int natural) { return natural ? (ulong)a < (ulong)b : a < b; }

// Tells of an operand that is wrong; the first teller wins. The words are those of Fault in device.h.
static inline void tell(global long* fault, int op, long index, long size, long at) {
  if (atomic_cmpxchg((volatile global int*)fault, 0, op) == 0) {
    fault[1] = index;
    fault[2] = size;
    fault[3] = at;
  }
}
// The place that an index into an axis of n means; 0 after telling that it means none.
static inline long row_of(long index, int dtype, long n, global long* fault, int op, long at) {
  if (index < n && index >= -n && !(index < 0 && dtype == U64)) return index < 0 ? index + n : index;
  tell(fault, op, index, n, at);
  return 0;
}
