// Elementwise ops of integers and bool, in 64 bits.

static inline long power_of(long a, long b, int natural) {
  if (!natural && b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
  ulong out = 1, square = (ulong)a;
  for (ulong n = (ulong)b; n != 0; n >>= 1, square *= square)
    if ((n & 1) != 0) out *= square;
  return (long)out;
}

// bits: of the dtype. b is not 0 in 6 and 7.
static inline long computed(int op, long a, long b, int natural, int bits) {
  switch (op) {
    case 0: return (long)((ulong)a + (ulong)b);
    case 1: return (long)((ulong)a - (ulong)b);
    case 2: return (long)((ulong)a * (ulong)b);
    case 4: return int_before(a, b, natural) ? b : a;
    case 5: return int_before(b, a, natural) ? b : a;
    case 6:
      if (natural) return (long)((ulong)a / (ulong)b);
      return b == -1 ? (long)(0 - (ulong)a) : a / b - (a % b != 0 && (a < 0) != (b < 0));
    case 7:
      if (natural) return (long)((ulong)a % (ulong)b);
      return b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    case 8: return a == b;
    case 9: return int_before(a, b, natural);
    case 10: return a != b;
    case 11: return int_before(b, a, natural);
    case 12: return !int_before(a, b, natural);
    case 13: return !int_before(b, a, natural);
    case 15: return power_of(a, b, natural);
    case 16: return a & b;
    case 17: return a | b;
    case 18: return a ^ b;
    case 19: return (ulong)b < (ulong)bits ? (long)((ulong)a << b) : 0;
    case 30: return (ulong)b < (ulong)bits ? (natural ? (long)((ulong)a >> b) : a >> b) : natural || a >= 0 ? 0 : -1;
    case 20: return natural || a >= 0 ? a : (long)(0 - (ulong)a);
    case 23: return natural ? a != 0 : (a > 0) - (a < 0);
    case 25: return (long)(0 - (ulong)a);
    case 26: return natural || a > 0 ? a : 0;
    case 27: return (long)((ulong)a * (ulong)a);
    default: return a;
  }
}

ONE_AXIS kernel void integer(source a, ulong a_at, source b, ulong b_at, target out, ulong out_at, geometry g, int op,
                             int dtypes, global long* fault) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const int in = dtypes & 255, natural = is_unsigned(in);
  const long x = load_int(a + a_at, in, place(&g, 0, i));
  long y = op < 20 || op >= 30 ? load_int(b + b_at, in, place(&g, 1, i)) : 0;
  if (y == 0 && (op == 6 || op == 7)) {
    tell(fault, op == 6 ? 1 : 2, 0, 0, i);
    y = 1;
  }
  store_int(out + out_at, dtypes >> 16 & 255, place(&g, 2, i), computed(op, x, y, natural, 8 * bytes_of(in)));
}
