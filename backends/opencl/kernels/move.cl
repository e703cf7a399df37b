// What only moves elements, and conversions.

// out (operand 0) from x (operand 1), units of `width` bytes.
ONE_AXIS kernel void copy(source x, ulong x_at, target out, ulong out_at, geometry g, int width) {
  const long i = get_global_id(0);
  if (i < g.n) move(out + out_at, place(&g, 0, i), x + x_at, place(&g, 1, i), width);
}

ONE_AXIS kernel void choose(source condition, ulong condition_at, source a, ulong a_at, source b, ulong b_at,
                            target out, ulong out_at, geometry g, int width) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const long to = place(&g, 3, i);
  if ((condition + condition_at)[place(&g, 0, i)] != 0) move(out + out_at, to, a + a_at, place(&g, 1, i), width);
  else move(out + out_at, to, b + b_at, place(&g, 2, i), width);
}

static inline long saturated(real v, int dtype) {
  if (v != v) return 0;
  switch (dtype) {
    case BOOL: return v != 0;
    case I8: return (long)clamp(v, (real)-128, (real)127);
    case U8: return (long)clamp(v, (real)0, (real)255);
    case I16: return (long)clamp(v, (real)-32768, (real)32767);
    case U16: return (long)clamp(v, (real)0, (real)65535);
    case I32: return v >= (real)2147483647 ? 2147483647L : v <= (real)-2147483648.0f ? -2147483648L : (long)v;
    case U32: return v >= (real)4294967295.0f ? 4294967295L : v > 0 ? (long)v : 0;
    case I64:
      if (v >= (real)9223372036854775808.0f) return 0x7fffffffffffffffL;
      return v <= (real)-9223372036854775808.0f ? (long)0x8000000000000000UL : (long)v;
    default:
      if (v >= (real)18446744073709551616.0f) return (long)0xffffffffffffffffUL;
      return v > 0 ? (long)(ulong)v : 0;
  }
}

ONE_AXIS kernel void cast(source x, ulong x_at, target out, ulong out_at, geometry g, int from, int to) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const long k = place(&g, 1, i), at = place(&g, 0, i);
  if (is_float(from)) {
    const real v = load_real(x + x_at, from, k);
    if (is_float(to)) store_real(out + out_at, to, at, v);
    else if (to == BOOL) store_int(out + out_at, BOOL, at, v != 0);
    else store_int(out + out_at, to, at, saturated(v, to));
    return;
  }
  const long v = load_int(x + x_at, from, k);
  if (!is_float(to)) {
    store_int(out + out_at, to, at, v);
    return;
  }
#ifdef HAS_F64
  if (to == F64) {
    ((global double*)(out + out_at))[at] = from == U64 ? (double)(ulong)v : (double)v;
    return;
  }
#endif
  store_real(out + out_at, to, at, (real)(from == U64 ? (float)(ulong)v : (float)v));
}

// 0, 1, 2 ..
ONE_AXIS kernel void count(target out, ulong out_at, long n, int dtype) {
  const long i = get_global_id(0);
  if (i >= n) return;
  if (is_float(dtype)) store_real(out + out_at, dtype, i, (real)i);
  else store_int(out + out_at, dtype, i, i);
}

// Philox4x32-10, element i of random_uniform.
ONE_AXIS kernel void uniform(target out, ulong out_at, long n, int dtype, ulong key, ulong from) {
  const long i = get_global_id(0);
  if (i >= n) return;
  const int per = dtype == F64 ? 2 : 4, k = (int)(i % per);
  const ulong number = (ulong)(i / per);
  uint c0 = (uint)number, c1 = (uint)(number >> 32), c2 = (uint)from, c3 = (uint)(from >> 32);
  uint k0 = (uint)key, k1 = (uint)(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const ulong p0 = (ulong)0xD2511F53u * c0, p1 = (ulong)0xCD9E8D57u * c2;
    const uint n0 = (uint)(p1 >> 32) ^ c1 ^ k0, n2 = (uint)(p0 >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = (uint)p1, c2 = n2, c3 = (uint)p0;
  }
#ifdef HAS_F64
  if (dtype == F64) {
    const uint low = k == 0 ? c0 : c2, high = k == 0 ? c1 : c3;
    ((global double*)(out + out_at))[i] = (double)(((ulong)high << 32 | low) >> 11) * 0x1p-53;
    return;
  }
#endif
  const uint word = k == 0 ? c0 : k == 1 ? c1 : k == 2 ? c2 : c3;
  store_real(out + out_at, dtype, i, (real)((float)(word >> 8) * 0x1p-24f));
}
