// Elementwise functions of floats.
#ifndef OP
#define OP op
#define A (dtypes & 255)
#define B (dtypes >> 8 & 255)
#define OUT (dtypes >> 16 & 255)
#endif

// gelu by tanh reads x no farther out than where tanh is 1: a cube might overflow.
static inline real curve(real x, real* slope) {
  const real scale = (real)0.79788456080286535588, cube = (real)(0.044715 * 0.79788456080286535588);
  const real t = tanh(x * (scale + x * x * cube));
  *slope = (1 + t + x * (scale + x * x * (3 * cube)) * (1 - t * t)) * (real)0.5;
  return t;
}
static inline real near(real x) { return x < -10 ? -10 : x > 10 ? 10 : x; }
static inline real gelu_slope(real x) {
  const real density = exp(x * x * (real)-0.5) * (real)0.39894228040143267794;
  return (1 + erf(x * (real)0.70710678118654752440)) * (real)0.5 + x * density;
}

static inline real computed(int op, real a, real b) {
  real slope;
  switch (op) {
    case 0: return pow(a, b);
    case 1: return atan2(a, b);
    case 2: return a * gelu_slope(b);
    case 3: curve(near(b), &slope); return a * slope;
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
    case 31: return (real)0.5 * a * (1 + curve(near(a), &slope));
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
