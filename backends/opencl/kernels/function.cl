// Elementwise functions of floats.
#ifndef OP
#define OP op
#define A (dtypes & 255)
#define B (dtypes >> 8 & 255)
#define OUT (dtypes >> 16 & 255)
#endif

inline real computed(int op, real a, real b) {
  switch (op) {
    case 0: return pow(a, b);
    case 1: return atan2(a, b);
    case 20: return exp(a);
    case 21: return log(a);
    case 22: return tanh(a);
    case 23: return erf(a);
    case 24: return sin(a);
    case 25: return cos(a);
    case 26: return expm1(a);
    case 27: return log1p(a);
    case 28: return 1 / (1 + exp(-a));
    case 29: return a / (1 + exp(-a));
    default: return (real)0.5 * a * (1 + erf(a * (real)0.70710678118654752440));
  }
}

ONE_AXIS kernel void function(source a, ulong a_at, source b, ulong b_at, target out, ulong out_at, geometry g, int op,
                              int dtypes) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
#ifdef DENSE
  store_real(out + out_at, OUT, i, computed(OP, load_real(a + a_at, A, i), OP < 20 ? load_real(b + b_at, B, i) : 0));
#else
  store_real(out + out_at, OUT, place(&g, 2, i),
             computed(OP, load_real(a + a_at, A, place(&g, 0, i)),
                      OP < 20 ? load_real(b + b_at, B, place(&g, 1, i)) : 0));
#endif
}
