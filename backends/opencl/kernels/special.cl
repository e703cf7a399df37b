// Special functions of floats, by the formulas of the ops' definitions.

static inline real psi(real x) {
  real turned = 0;
  if (x == 0) return copysign((real)INFINITY, -x);
  if (x < 0) {
    if (x == floor(x)) return NAN;
    const real part = x - floor(x); /* near 1 it is 1 - part that has the digits */
    turned = (real)M_PI / (part > (real)0.5 ? -tan((real)M_PI * (1 - part)) : tan((real)M_PI * part));
    x = 1 - x;
  }
  real shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  const real z = 1 / (x * x);
  real series = (real)(1.0 / 12);
  series = series * z - (real)(691.0 / 32760);
  series = series * z + (real)(1.0 / 132);
  series = series * z - (real)(1.0 / 240);
  series = series * z + (real)(1.0 / 252);
  series = series * z - (real)(1.0 / 120);
  series = series * z + (real)(1.0 / 12);
  return log(x) - (real)0.5 / x - series * z + shift - turned;
}

// The sum over k >= 0 of (x + k)^-s, for x > 0.
static inline real zeta_above(real s, real x) {
  const real b[9] = {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1892437580.3183791606, 74724249600.0,
                     -2950130727918.1642244795, 116467828143500.67248729114};
  if (x == INFINITY) return 0;
  real sum = 0;
  for (; x <= 9; x += 1) sum += pow(x, -s);
  const real power = pow(x, -s);
  real factor = s, term = power / x, k = 0;
  sum += x * power / (s - 1) + (real)0.5 * power;
  for (int i = 0; i < 9; ++i) {
    sum += factor * term / b[i];
    factor *= (s + k + 1) * (s + k + 2);
    term /= x * x;
    k += 2;
  }
  return sum;
}
static inline real zeta(real s, real x) {
  if (x <= 0 && x == floor(x)) return INFINITY;
  if (x > 0) return zeta_above(s, x);
  const real last = x - ceil(x), sign = fmod(s, (real)2) == 0 ? 1 : -1;
  return zeta_above(s, last + 1) + sign * (zeta_above(s, -last) - zeta_above(s, 1 - x));
}

static inline real erf_inverse(real x) {
  const real side = fabs(x), p = 1 - side;
  if (!(p > 0)) return p == 0 ? copysign((real)INFINITY, x) : (real)NAN;
  real w = -log(p * (1 + side)), y;
  if (w < 5) {
    w -= (real)2.5;
    y = (real)2.81022636e-08;
    y = (real)3.43273939e-07 + y * w;
    y = (real)-3.5233877e-06 + y * w;
    y = (real)-4.39150654e-06 + y * w;
    y = (real)0.00021858087 + y * w;
    y = (real)-0.00125372503 + y * w;
    y = (real)-0.00417768164 + y * w;
    y = (real)0.246640727 + y * w;
    y = (real)1.50140941 + y * w;
  } else {
    w = sqrt(w) - 3;
    y = (real)-0.000200214257;
    y = (real)0.000100950558 + y * w;
    y = (real)0.00134934322 + y * w;
    y = (real)-0.00367342844 + y * w;
    y = (real)0.00573950773 + y * w;
    y = (real)-0.0076224613 + y * w;
    y = (real)0.00943887047 + y * w;
    y = (real)1.00167406 + y * w;
    y = (real)2.83297682 + y * w;
  }
  y *= side;
  for (int i = 0; i < 2; ++i) {
    const real slope = (real)1.12837916709551257390 * exp(-y * y);
    const real error = side < (real)0.5 ? (erf(y) - side) / slope : (p - erfc(y)) / slope;
    y -= error / (1 + y * error);
  }
  return copysign(y, x);
}

ONE_AXIS kernel void special(source a, ulong a_at, target out, ulong out_at, geometry g, int op, int dtypes, float order,
                             float scale_high, float scale_low) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const real x = load_real(a + a_at, dtypes & 255, place(&g, 0, i));
  real v;
  switch (op) {
    case 0: v = lgamma(x); break;
    case 1: v = psi(x); break;
    case 2: v = x != x ? x : ((real)scale_high + (real)scale_low) * zeta((real)order + 1, x); break;
    default: v = erf_inverse(x); break;
  }
  store_real(out + out_at, dtypes >> 16 & 255, place(&g, 2, i), v);
}
