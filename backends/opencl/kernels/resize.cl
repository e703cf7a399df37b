// resize and its gradient. mode: 0 nearest, 1 linear, 2 cubic. coordinates: 0 half_pixel, 1 align_corners, 2 asymmetric,
// 3 pytorch_half_pixel. rounding: 0 round_prefer_floor, 1 round_prefer_ceil, 2 floor, 3 ceil.

typedef struct {
  int mode, coordinates, rounding, reserved;
} manner;

static inline long floor_of(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
// Keys 1981 with a = -0.75
static inline real near_weight(real d) { return ((real)1.25 * d - (real)2.25) * d * d + 1; }
static inline real far_weight(real d) {
  const real a = (real)-0.75;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

// Elements of n that element i of `out` reads, and their weights; how many. The coordinate is kept as a fraction, so that
// roundings are exact.
static inline int taps_of(long n, long out, long i, const manner* m, long* at, real* weight) {
  long above = i * n, below = out;
  if (m->coordinates == 1) {
    above = out == 1 ? 0 : i * (n - 1);
    below = max(out - 1, 1L);
  } else if (m->coordinates == 0 || out > 1) {
    if (m->coordinates != 2) above = (2 * i + 1) * n - out, below = 2 * out;
  } else if (m->coordinates == 3) {
    above = 0;
  }
  if (m->mode == 0) {
    const long k = m->rounding == 2   ? floor_of(above, below)
                   : m->rounding == 3 ? -floor_of(-above, below)
                   : m->rounding == 1 ? floor_of(2 * above + below, 2 * below)
                                      : -floor_of(below - 2 * above, 2 * below);
    at[0] = clamp(k, 0L, n - 1);
    weight[0] = 1;
    return 1;
  }
  if (m->mode == 1) above = clamp(above, 0L, (n - 1) * below);
  const long first = floor_of(above, below);
  const real f = (real)(above - first * below) / (real)below;
  const int taps = m->mode == 1 ? 2 : 4;
  if (m->mode == 1) {
    weight[0] = 1 - f, weight[1] = f;
  } else {
    weight[0] = far_weight(f + 1), weight[1] = near_weight(f);
    weight[2] = near_weight(1 - f), weight[3] = far_weight(2 - f);
  }
  for (int k = 0; k < taps; ++k) at[k] = clamp(first + k - (taps == 4), 0L, n - 1);
  return taps;
}

// An axis of n elements to one of `out`; `inner` elements stand behind each. What has no weight is not read.
ONE_AXIS kernel void resize_axis(source x, ulong x_at, target out, ulong out_at, long count, long n, long to,
                                 long inner, manner m, int dtype, int out_dtype) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const long a = i / inner, j = i - a * inner, outer = a / to, e = a - outer * to;
  long at[4];
  real weight[4], sum = 0;
  const int taps = taps_of(n, to, e, &m, at, weight);
  for (int k = 0; k < taps; ++k)
    if (weight[k] != 0) sum += weight[k] * load_real(x + x_at, dtype, (outer * n + at[k]) * inner + j);
  store_real(out + out_at, out_dtype, i, sum);
}

// Back: dy has an axis of `to` elements, the result one of n. Element d is read by few of them, those at the ends by all
// beyond.
ONE_AXIS kernel void resize_back(source dy, ulong dy_at, target out, ulong out_at, long count, long n, long to,
                                 long inner, manner m, int dtype, int out_dtype) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const long a = i / inner, j = i - a * inner, outer = a / n, d = a - outer * n;
  const long first = d == 0 ? 0 : max(0L, (d - 4) * to / n - 2);
  const long last = d == n - 1 ? to : min(to, (d + 5) * to / n + 3);
  real sum = 0;
  for (long e = first; e < last; ++e) {
    long at[4];
    real weight[4];
    const int taps = taps_of(n, to, e, &m, at, weight);
    for (int k = 0; k < taps; ++k)
      if (at[k] == d && weight[k] != 0) sum += weight[k] * load_real(dy + dy_at, dtype, (outer * to + e) * inner + j);
  }
  store_real(out + out_at, out_dtype, i, sum);
}
