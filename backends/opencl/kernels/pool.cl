// Pooling over windows of up to three axes behind [N, C], outermost first; planes are images and channels.

#define AXES 3
typedef struct {
  long planes, in[AXES], kernel_size[AXES], out[AXES], stride[AXES], before[AXES], after[AXES], dilation[AXES];
} pooling;

static inline long split_places(const long* sizes, long i, long* at) {
  for (int d = AXES - 1; d >= 0; --d) {
    const long next = i / sizes[d];
    at[d] = i - next * sizes[d];
    i = next;
  }
  return i;
}
// Place of a tap along an axis, or -1.
static inline long tap_place(const pooling* g, int a, long e, long k) {
  const long d = e * g->stride[a] - g->before[a] + k * g->dilation[a];
  return d < g->in[a] ? d : -1;
}

// wanted: 1 the greatest elements, 2 their places. lowest: where there is none.
ONE_AXIS kernel void max_pool(source x, ulong x_at, target out, ulong out_at, target places, ulong places_at, pooling g,
                              int dtype, int wanted) {
  const long i = get_global_id(0);
  if (i >= g.planes * g.out[0] * g.out[1] * g.out[2]) return;
  long e[AXES];
  const long plane = g.in[0] * g.in[1] * g.in[2], from = split_places(g.out, i, e) * plane;
  const int real_kind = is_float(dtype), natural = is_unsigned(dtype);
  x += x_at;
  long best_at = plane, best_int = natural ? 0 : -(long)(1UL << (8 * bytes_of(dtype) - 2)) * 2;
  real best = (real)-INFINITY;
  for (long k0 = 0; k0 < g.kernel_size[0]; ++k0) {
    const long d0 = tap_place(&g, 0, e[0], k0);
    for (long k1 = 0; k1 < g.kernel_size[1] && d0 >= 0; ++k1) {
      const long d1 = tap_place(&g, 1, e[1], k1);
      for (long k2 = 0; k2 < g.kernel_size[2] && d1 >= 0; ++k2) {
        const long d2 = tap_place(&g, 2, e[2], k2);
        if (d2 < 0) continue;
        const long at = (d0 * g.in[1] + d1) * g.in[2] + d2;
        if (real_kind) {
          const real v = load_real(x, dtype, from + at);
          if (best_at == plane || v > best || (v != v && best == best)) best = v, best_at = at;
        } else {
          const long v = load_int(x, dtype, from + at);
          if (best_at == plane || int_before(best_int, v, natural)) best_int = v, best_at = at;
        }
      }
    }
  }
  if ((wanted & 1) && real_kind) store_real(out + out_at, dtype, i, best);
  else if (wanted & 1) store_int(out + out_at, dtype, i, best_int);
  if (wanted & 2) ((global long*)(places + places_at))[i] = best_at;
}

// An item adds up one plane, in the order of the windows. sums: the result itself, or room of floats behind f16 and bf16.
ONE_AXIS kernel void max_pool_gradient(source dy, ulong dy_at, source places, ulong places_at, target dx, ulong dx_at,
                                       target sums, ulong sums_at, long planes, long plane, long windows, int dtype,
                                       int sum_dtype) {
  const long i = get_global_id(0);
  if (i >= planes) return;
  dy += dy_at;
  sums += sums_at;
  global const long* where = (global const long*)(places + places_at) + i * windows;
  if (is_float(dtype)) {
    for (long k = 0; k < plane; ++k) store_real(sums, sum_dtype, i * plane + k, 0);
    for (long k = 0; k < windows; ++k) {
      const long at = i * plane + where[k];
      if (where[k] < 0 || where[k] >= plane) continue;
      store_real(sums, sum_dtype, at, load_real(sums, sum_dtype, at) + load_real(dy, dtype, i * windows + k));
    }
    if (dtype == sum_dtype) return;
    for (long k = 0; k < plane; ++k)
      store_real(dx + dx_at, dtype, i * plane + k, load_real(sums, sum_dtype, i * plane + k));
  } else {
    for (long k = 0; k < plane; ++k) store_int(sums, dtype, i * plane + k, 0);
    for (long k = 0; k < windows; ++k) {
      const long at = i * plane + where[k];
      if (where[k] < 0 || where[k] >= plane) continue;
      store_int(sums, dtype, at, (long)((ulong)load_int(sums, dtype, at) + (ulong)load_int(dy, dtype, i * windows + k)));
    }
  }
}

// Elements of a window that a mean counts: those of x, or with padding all up to the end of the padding.
static inline long counted(const pooling* g, const long* e, int padding) {
  long n = 1;
  for (int a = 0; a < AXES; ++a) {
    long here = 0;
    for (long k = 0; k < g->kernel_size[a]; ++k) {
      const long d = e[a] * g->stride[a] - g->before[a] + k * g->dilation[a];
      here += padding ? d < g->in[a] + g->after[a] : d >= 0 && d < g->in[a];
    }
    n *= here;
  }
  return n;
}

ONE_AXIS kernel void avg_pool(source x, ulong x_at, target out, ulong out_at, pooling g, int dtype, int padding) {
  const long i = get_global_id(0);
  if (i >= g.planes * g.out[0] * g.out[1] * g.out[2]) return;
  long e[AXES];
  const long from = split_places(g.out, i, e) * g.in[0] * g.in[1] * g.in[2];
  x += x_at;
  real sum = 0;
  for (long k0 = 0; k0 < g.kernel_size[0]; ++k0) {
    const long d0 = tap_place(&g, 0, e[0], k0);
    for (long k1 = 0; k1 < g.kernel_size[1] && d0 >= 0; ++k1) {
      const long d1 = tap_place(&g, 1, e[1], k1);
      for (long k2 = 0; k2 < g.kernel_size[2] && d1 >= 0; ++k2) {
        const long d2 = tap_place(&g, 2, e[2], k2);
        if (d2 >= 0) sum += load_real(x, dtype, from + (d0 * g.in[1] + d1) * g.in[2] + d2);
      }
    }
  }
  const long n = counted(&g, e, padding);
  store_real(out + out_at, dtype, i, n > 0 ? sum / (real)n : 0);
}

// The window that reads element d by tap k along an axis, or -1.
static inline long window_of(const pooling* g, int a, long d, long k) {
  const long from = d + g->before[a] - k * g->dilation[a];
  if (from < 0 || from % g->stride[a] != 0) return -1;
  const long e = from / g->stride[a];
  return e < g->out[a] ? e : -1;
}

ONE_AXIS kernel void avg_pool_gradient(source dy, ulong dy_at, target dx, ulong dx_at, pooling g, int dtype,
                                       int padding) {
  const long i = get_global_id(0);
  if (i >= g.planes * g.in[0] * g.in[1] * g.in[2]) return;
  long d[AXES], e[AXES];
  const long from = split_places(g.in, i, d) * g.out[0] * g.out[1] * g.out[2];
  dy += dy_at;
  real sum = 0;
  for (long k0 = 0; k0 < g.kernel_size[0]; ++k0) {
    e[0] = window_of(&g, 0, d[0], k0);
    for (long k1 = 0; k1 < g.kernel_size[1] && e[0] >= 0; ++k1) {
      e[1] = window_of(&g, 1, d[1], k1);
      for (long k2 = 0; k2 < g.kernel_size[2] && e[1] >= 0; ++k2) {
        e[2] = window_of(&g, 2, d[2], k2);
        if (e[2] < 0) continue;
        sum += load_real(dy, dtype, from + (e[0] * g.out[1] + e[1]) * g.out[2] + e[2]) /
               (real)counted(&g, e, padding);
      }
    }
  }
  store_real(dx + dx_at, dtype, i, sum);
}
