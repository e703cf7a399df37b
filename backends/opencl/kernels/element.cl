// Elementwise ops of floats that need no function. OP, A, B and OUT are options where a kernel of its own pays.
#ifndef OP
#define OP op
#define A (dtypes & 255)
#define B (dtypes >> 8 & 255)
#define OUT (dtypes >> 16 & 255)
#endif

static inline real quotient_down(real a, real b) {
  if (b == 0) return a / b;
  const real rest = fmod(a, b);
  real q = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) q -= 1;
  if (q == 0) return copysign((real)0, a / b);
  const real down = floor(q);
  return q - down > (real)0.5 ? down + 1 : down;
}
static inline real rest_of(real a, real b) {
  const real rest = fmod(a, b);
  if (rest == 0) return copysign((real)0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

static inline real computed(int op, real a, real b) {
  switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return a > b || a != a ? a : b;
    case 5: return a < b || a != a ? a : b;
    case 6: return quotient_down(a, b);
    case 7: return rest_of(a, b);
    case 8: return a == b;
    case 9: return a < b;
    case 10: return a != b;
    case 11: return a > b;
    case 12: return a >= b;
    case 13: return a <= b;
    case 14: return b > 0 ? a : 0; /* relu_gradient of dy and y */
    case 20: return fabs(a);
    case 21: return floor(a);
    case 22: return rint(a);
    case 23: return a > 0 ? 1 : a < 0 ? -1 : a;
    case 24: return sqrt(a);
    case 25: return -a;
    case 26: return a > 0 || a != a ? a : 0;
    case 27: return a * a;
    case 28: return 1 / a;
    default: return 1 / sqrt(a);
  }
}

ONE_AXIS kernel void element(source a, ulong a_at, source b, ulong b_at, target out, ulong out_at, geometry g, int op,
                             int dtypes) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
#ifdef DENSE
  const real v = computed(OP, load_real(a + a_at, A, i), OP < 20 ? load_real(b + b_at, B, i) : 0);
  const long to = i;
#else
  const real v = computed(OP, load_real(a + a_at, A, place(&g, 0, i)),
                          OP < 20 ? load_real(b + b_at, B, place(&g, 1, i)) : 0);
  const long to = place(&g, 2, i);
#endif
  if (OUT == BOOL) store_int(out + out_at, BOOL, to, v != 0);
  else store_real(out + out_at, OUT, to, v);
}
