// Normalisation by groups of GROUP items: 1 with wide vectors (WIDE, f32 alone) or without, or 256 with local memory.
#ifndef GROUP
#define GROUP 1
#endif
#define TEAM __attribute__((reqd_work_group_size(GROUP, 1, 1)))

#ifdef WIDE
#define LANES 16
typedef float16 lanes;
static inline lanes some(source p, long at, long left, real rest) {
  global const float* from = (global const float*)p + at;
  if (left >= LANES) return vload16(0, from);
  float all[LANES];
  for (int i = 0; i < LANES; ++i) all[i] = i < left ? from[i] : rest;
  return vload16(0, all);
}
static inline void keep(target p, long at, long left, lanes v) {
  global float* to = (global float*)p + at;
  if (left >= LANES) {
    vstore16(v, 0, to);
    return;
  }
  float all[LANES];
  vstore16(v, 0, all);
  for (int i = 0; i < left; ++i) to[i] = all[i];
}
static inline real across(lanes v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  const float2 c = b.lo + b.hi;
  return c.x + c.y;
}
#define GET(p, dtype, at, left, rest) some(p, at, left, rest)
#define PUT(p, dtype, at, left, v) keep(p, at, left, v)
#else
#define LANES 1
typedef real lanes;
#define across(v) (v)
#define GET(p, dtype, at, left, rest) load_real(p, dtype, at)
#define PUT(p, dtype, at, left, v) store_real(p, dtype, at, v)
#endif

#if GROUP > 1
// The sum over the group, the same for each of its items.
static inline real total(lanes v, local real* room) {
  const int me = get_local_id(0);
  room[me] = across(v);
  for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < half_way) room[me] += room[me + half_way];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const real sum = room[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}
#define ROOM local real room[GROUP]
#define TOTAL(v) total(v, room)
#else
#define ROOM
#define TOTAL(v) across(v)
#endif
#define EACH(i, n) for (long i = (long)get_local_id(0) * LANES; i < n; i += GROUP * LANES)
#define FIRST (get_local_id(0) == 0)

// [images, channels, plane]; a group normalises a channel. dtypes: of x, of scale and running statistics, of the hidden
// statistics. given: 1 scale, 2 bias; wanted: 1 new statistics, 2 mean, 4 inverse_std.
TEAM kernel void batch_norm(source x, ulong x_at, source old_mean, ulong old_mean_at, source old_var, ulong old_var_at,
                            source scale, ulong scale_at, source bias, ulong bias_at, target out, ulong out_at,
                            target new_mean, ulong new_mean_at, target new_var, ulong new_var_at, target mean_out,
                            ulong mean_at, target inverse_out, ulong inverse_at, long images, long channels, long plane,
                            int training, number momentum_of, number epsilon_of, int dtypes, int given, int wanted) {
  ROOM;
  const long c = get_group_id(0);
  const int t = dtypes & 255, p = dtypes >> 8 & 255, s = dtypes >> 16 & 255;
  const real momentum = real_of(momentum_of);
  x += x_at;
  out += out_at;
  const real kept_mean = load_real(old_mean + old_mean_at, p, c), kept_var = load_real(old_var + old_var_at, p, c);
  real mean = kept_mean, var = kept_var, next_mean = kept_mean, next_var = kept_var;
  if (training && images * plane > 0) {
    const real n = (real)(images * plane);
    lanes sum = 0;
    for (long k = 0; k < images; ++k) {
      const long at = (k * channels + c) * plane;
      EACH(i, plane) sum += GET(x, t, at + i, plane - i, 0);
    }
    mean = TOTAL(sum) / n;
    sum = 0;
    for (long k = 0; k < images; ++k) {
      const long at = (k * channels + c) * plane;
      EACH(i, plane) {
        const lanes v = GET(x, t, at + i, plane - i, mean) - mean;
        sum += v * v;
      }
    }
    var = TOTAL(sum) / n;
    next_mean = kept_mean * momentum + mean * (1 - momentum);
    next_var = kept_var * momentum + var * (1 - momentum);
  }
  const real inverse = 1 / sqrt(var + real_of(epsilon_of));
  if (FIRST) {
    if (wanted & 1) store_real(new_mean + new_mean_at, p, c, next_mean);
    if (wanted & 8) store_real(new_var + new_var_at, p, c, next_var);
    if (wanted & 2) store_real(mean_out + mean_at, s, c, mean);
    if (wanted & 4) store_real(inverse_out + inverse_at, s, c, inverse);
  }
  const real factor = (given & 1) ? inverse * load_real(scale + scale_at, p, c) : inverse;
  const real level = (given & 2) ? load_real(bias + bias_at, p, c) : 0;
  for (long k = 0; k < images; ++k) {
    const long at = (k * channels + c) * plane;
    EACH(i, plane) PUT(out, t, at + i, plane - i, (GET(x, t, at + i, plane - i, 0) - mean) * factor + level);
  }
}

// wanted: 1 dx, 2 dscale, 4 dbias.
TEAM kernel void batch_norm_gradient(source dy, ulong dy_at, source x, ulong x_at, source mean_in, ulong mean_at,
                                     source inverse_in, ulong inverse_at, source scale, ulong scale_at, target dx,
                                     ulong dx_at, target dscale, ulong dscale_at, target dbias, ulong dbias_at,
                                     long images, long channels, long plane, int training, int dtypes, int given,
                                     int wanted) {
  ROOM;
  const long c = get_group_id(0);
  const int t = dtypes & 255, p = dtypes >> 8 & 255, s = dtypes >> 16 & 255;
  dy += dy_at;
  x += x_at;
  dx += dx_at;
  const real mean = load_real(mean_in + mean_at, s, c), inverse = load_real(inverse_in + inverse_at, s, c);
  lanes by_bias = 0, by_scale = 0;
  for (long k = 0; k < images; ++k) {
    const long at = (k * channels + c) * plane;
    EACH(i, plane) {
      const lanes d = GET(dy, t, at + i, plane - i, 0);
      by_bias += d;
      by_scale += d * ((GET(x, t, at + i, plane - i, mean) - mean) * inverse);
    }
  }
  const real level = TOTAL(by_bias), tilt = TOTAL(by_scale);
  if (FIRST) {
    if (wanted & 2) store_real(dscale + dscale_at, s, c, tilt);
    if (wanted & 4) store_real(dbias + dbias_at, s, c, level);
  }
  if (!(wanted & 1)) return;
  const real factor = (given & 1) ? inverse * load_real(scale + scale_at, p, c) : inverse;
  const real n = (real)(images * plane), off = training ? level / n : 0, turn = training ? tilt / n * inverse : 0;
  for (long k = 0; k < images; ++k) {
    const long at = (k * channels + c) * plane;
    EACH(i, plane) {
      const lanes v = GET(x, t, at + i, plane - i, mean) - mean, d = GET(dy, t, at + i, plane - i, 0);
      PUT(dx, t, at + i, plane - i, (d - off - v * turn) * factor);
    }
  }
}

// Rows of n; a group normalises a row.
TEAM kernel void layer_norm(source x, ulong x_at, source scale, ulong scale_at, source bias, ulong bias_at, target out,
                            ulong out_at, target mean_out, ulong mean_at, target inverse_out, ulong inverse_at, long n,
                            number epsilon_of, int dtypes, int given, int wanted) {
  ROOM;
  const long row = get_group_id(0), at = row * n;
  const int t = dtypes & 255, p = dtypes >> 8 & 255, s = dtypes >> 16 & 255;
  x += x_at;
  out += out_at;
  scale += scale_at;
  bias += bias_at;
  lanes sum = 0;
  EACH(i, n) sum += GET(x, t, at + i, n - i, 0);
  const real mean = TOTAL(sum) / n;
  sum = 0;
  EACH(i, n) {
    const lanes v = GET(x, t, at + i, n - i, mean) - mean;
    sum += v * v;
  }
  const real inverse = 1 / sqrt(TOTAL(sum) / n + real_of(epsilon_of));
  if (FIRST) {
    if (wanted & 2) store_real(mean_out + mean_at, s, row, mean);
    if (wanted & 4) store_real(inverse_out + inverse_at, s, row, inverse);
  }
  EACH(i, n) {
    lanes v = (GET(x, t, at + i, n - i, mean) - mean) * inverse;
    if (given & 1) v *= GET(scale, p, i, n - i, 0);
    if (given & 2) v += GET(bias, p, i, n - i, 0);
    PUT(out, t, at + i, n - i, v);
  }
}

TEAM kernel void layer_norm_gradient(source dy, ulong dy_at, source x, ulong x_at, source mean_in, ulong mean_at,
                                     source inverse_in, ulong inverse_at, source scale, ulong scale_at, target dx,
                                     ulong dx_at, long n, int dtypes, int given) {
  ROOM;
  const long row = get_group_id(0), at = row * n;
  const int t = dtypes & 255, p = dtypes >> 8 & 255, s = dtypes >> 16 & 255;
  dy += dy_at;
  x += x_at;
  dx += dx_at;
  scale += scale_at;
  const real mean = load_real(mean_in + mean_at, s, row), inverse = load_real(inverse_in + inverse_at, s, row);
  lanes plain = 0, tilted = 0;
  EACH(i, n) {
    lanes d = GET(dy, t, at + i, n - i, 0);
    if (given & 1) d *= GET(scale, p, i, n - i, 0);
    plain += d;
    tilted += d * ((GET(x, t, at + i, n - i, mean) - mean) * inverse);
  }
  const real level = TOTAL(plain) / n, tilt = TOTAL(tilted) / n;
  EACH(i, n) {
    lanes d = GET(dy, t, at + i, n - i, 0);
    if (given & 1) d *= GET(scale, p, i, n - i, 0);
    PUT(dx, t, at + i, n - i, (d - level - (GET(x, t, at + i, n - i, mean) - mean) * inverse * tilt) * inverse);
  }
}

// Columns of the same: an item sums LANES of them over all rows. wanted: 2 dscale, 4 dbias.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void layer_norm_columns(
    source dy, ulong dy_at, source x, ulong x_at, source mean_in, ulong mean_at, source inverse_in, ulong inverse_at,
    target dscale, ulong dscale_at, target dbias, ulong dbias_at, long rows, long n, int dtypes, int wanted) {
  const long i = (long)get_global_id(0) * LANES, left = n - i;
  const int t = dtypes & 255, s = dtypes >> 16 & 255;
  dy += dy_at;
  x += x_at;
  lanes by_scale = 0, by_bias = 0;
  for (long row = 0; row < rows; ++row) {
    const real mean = load_real(mean_in + mean_at, s, row), inverse = load_real(inverse_in + inverse_at, s, row);
    const lanes d = GET(dy, t, row * n + i, left, 0);
    by_bias += d;
    by_scale += d * ((GET(x, t, row * n + i, left, 0) - mean) * inverse);
  }
  if (wanted & 2) PUT(dscale + dscale_at, s, i, left, by_scale);
  if (wanted & 4) PUT(dbias + dbias_at, s, i, left, by_bias);
}
