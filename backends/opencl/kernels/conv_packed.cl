// Convolutions of f32 (f16 and bf16 through it) over packed images: channels last, as wide as the windows reach, zeros
// where nothing is. A window is then a few runs of numbers side by side, without any border, and results are products of
// runs and panels of weights (Chellapilla et al. 2006, without the copies that unfolding makes).

#define AXES 3
#define ROWS 8 /* places that an item of a wide kernel computes at once */
#define TILE 16

typedef struct {
  long rows, channels;             /* rows: images and all axes but the last */
  long size[AXES], before[AXES], padded[AXES];
  long stride[2 + AXES];           /* of the image that is packed */
} packing;

static inline int packed_row(const packing* p, long row, long* at) {
  const long a = row / p->padded[1], d1 = row - a * p->padded[1] - p->before[1], n = a / p->padded[0];
  const long d0 = a - n * p->padded[0] - p->before[0];
  *at = n * p->stride[0] + d0 * p->stride[2] + d1 * p->stride[3];
  return d0 >= 0 && d0 < p->size[0] && d1 >= 0 && d1 < p->size[1];
}

// Eight channels of eight numbers each, which lie `plane` apart, as eight places of eight channels `channels` apart; the
// first `skipped` places are read, but not written.
static inline void turn(global const float* from, long plane, global float* to, long channels, long skipped) {
  const float8 a = vload8(0, from), b = vload8(0, from + plane), c = vload8(0, from + 2 * plane),
               d = vload8(0, from + 3 * plane), e = vload8(0, from + 4 * plane), f = vload8(0, from + 5 * plane),
               g = vload8(0, from + 6 * plane), h = vload8(0, from + 7 * plane);
#define PLACE(i)    \
  if (i >= skipped) \
    vstore8((float8)(a.s##i, b.s##i, c.s##i, d.s##i, e.s##i, f.s##i, g.s##i, h.s##i), 0, to + i * channels);
  PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7)
#undef PLACE
}

// An item packs a row.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void pack_rows(source x, ulong x_at, target packed,
                                                                     ulong packed_at, packing p, int dtype) {
  const long row = get_global_id(0);
  const long columns = p.padded[2] * p.channels;
  global float* to = (global float*)(packed + packed_at) + row * columns;
  long from;
  const int inside = packed_row(&p, row, &from);
  const long first = inside ? max(p.before[2], 0L) : p.padded[2];
  const long last = inside ? max(first, min(p.before[2] + p.size[2], p.padded[2])) : p.padded[2];
  for (long i = 0; i < first * p.channels; ++i) to[i] = 0;
  for (long i = last * p.channels; i < columns; ++i) to[i] = 0;
  x += x_at;
  from -= p.before[2] * p.stride[4];
  if (dtype == F32) {
    global const float* plain = (global const float*)x + from;
    // The last block of a row begins where it ends with the row, before the row if that is short and something is there.
    long whole = p.stride[4] == 1 ? p.channels / 8 * 8 : 0;
    if (from + min(first, last - 8) < 0) whole = 0;
    for (long d = first; d < last && whole > 0; d += 8) {
      const long begin = min(d, last - 8);
      for (long c = 0; c < whole; c += 8)
        turn(plain + c * p.stride[1] + begin, p.stride[1], to + begin * p.channels + c, p.channels, d - begin);
    }
    for (long d = first; d < last; ++d)
      for (long c = whole; c < p.channels; ++c) to[d * p.channels + c] = plain[c * p.stride[1] + d * p.stride[4]];
  } else {
    for (long d = first; d < last; ++d)
      for (long c = 0; c < p.channels; ++c)
        to[d * p.channels + c] = (float)load_real(x, dtype, from + c * p.stride[1] + d * p.stride[4]);
  }
}

// An item packs an element.
ONE_AXIS kernel void pack_elements(source x, ulong x_at, target packed, ulong packed_at, packing p, int dtype) {
  const long i = get_global_id(0);
  const long columns = p.padded[2] * p.channels, row = i / columns, rest = i - row * columns;
  if (row >= p.rows) return;
  const long d = rest / p.channels, c = rest - d * p.channels, d2 = d - p.before[2];
  long from;
  const int inside = packed_row(&p, row, &from) && d2 >= 0 && d2 < p.size[2];
  ((global float*)(packed + packed_at))[i] =
      inside ? (float)load_real(x + x_at, dtype, from + c * p.stride[1] + d2 * p.stride[4]) : 0;
}

// Weights as [group, panel, tap, channel, width], behind them biases as [group, panel, width]; zeros in columns that are
// no result.
typedef struct {
  long groups, panels, width, outputs, inner;
  long taps[AXES];
  long group, output, channel, tap[AXES], first; /* strides in w */
} weights;

ONE_AXIS kernel void pack_weights(source w, ulong w_at, source bias, ulong bias_at, target packed, ulong packed_at,
                                  weights p, long bias_step, int dtype) {
  const long i = get_global_id(0);
  const long rows = p.taps[0] * p.taps[1] * p.taps[2] * p.inner, all = p.groups * p.panels * rows * p.width;
  global float* to = (global float*)(packed + packed_at);
  if (i >= all + p.groups * p.panels * p.width) return;
  const long in_panel = i < all ? rows * p.width : p.width, from = i < all ? i : i - all;
  const long panel = from / in_panel, rest = from - panel * in_panel, row = rest / p.width;
  const long group = panel / p.panels, o = (panel - group * p.panels) * p.width + rest - row * p.width;
  float v = 0;
  if (o < p.outputs && i >= all) {
    if (bias_step >= 0) v = (float)load_real(bias + bias_at, dtype, (group * p.outputs + o) * bias_step);
  } else if (o < p.outputs) {
    const long tap = row / p.inner, c = row - tap * p.inner;
    const long t1 = tap / p.taps[2], t2 = tap - t1 * p.taps[2], t0 = t1 / p.taps[1];
    v = (float)load_real(w + w_at, dtype,
                         p.first + group * p.group + o * p.output + c * p.channel + t0 * p.tap[0] +
                             (t1 - t0 * p.taps[1]) * p.tap[1] + t2 * p.tap[2]);
  }
  to[i] = v;
}

typedef struct {
  long places, count[AXES];             /* of all images, of one along each axis */
  long image, step[AXES], first, tap[AXES]; /* in the packed image */
  long taps[AXES], run;                 /* taps, and numbers side by side at each of them */
  long w_first, w_tap[AXES], rows;      /* rows of a panel: of the first tap, from tap to tap, all */
  long to_image, to_step[AXES], to_first, to_channel; /* in the result */
  long panels, outputs, group_in, group_out; /* group_in, group_out: from group to group */
} windows;

// Positions along the axes, and where they lie in the image and in the result.
typedef struct {
  long e[AXES], from, to;
} spot;
static inline spot spot_of(const windows* g, long i) {
  const long a = i / g->count[2], b = a / g->count[1], n = b / g->count[0];
  spot s;
  s.e[2] = i - a * g->count[2];
  s.e[1] = a - b * g->count[1];
  s.e[0] = b - n * g->count[0];
  s.from = n * g->image + g->first;
  s.to = n * g->to_image + g->to_first;
  for (int d = 0; d < AXES; ++d) {
    s.from += s.e[d] * g->step[d];
    s.to += s.e[d] * g->to_step[d];
  }
  return s;
}
static inline void next_spot(const windows* g, spot* s) {
  for (int d = AXES - 1; d >= 0; --d) {
    s->from += g->step[d];
    s->to += g->to_step[d];
    if (++s->e[d] < g->count[d]) return;
    s->e[d] = 0;
    s->from -= g->count[d] * g->step[d];
    s->to -= g->count[d] * g->to_step[d];
  }
  s->from += g->image;
  s->to += g->to_image;
}

// ROWS places and a panel of 16 results, or of 32 (two), in registers.
static inline void window_block(global const float* x, global const float* w, global const float* bias, target out,
                         const windows* g, long first, long columns, int dtype, const int two) {
  long from[ROWS], to[ROWS];
  const long left = min(g->places - first, (long)ROWS), width = two ? 32 : 16;
  spot s = spot_of(g, first);
  for (int r = 0; r < ROWS; ++r) {
    from[r] = s.from;
    to[r] = s.to;
    if (r + 1 < left) next_spot(g, &s);
  }
  const float16 start0 = vload16(0, bias), start1 = two ? vload16(1, bias) : (float16)(0);
  float16 c00 = start0, c10 = start0, c20 = start0, c30 = start0, c40 = start0, c50 = start0, c60 = start0,
          c70 = start0, c01 = start1, c11 = start1, c21 = start1, c31 = start1, c41 = start1, c51 = start1,
          c61 = start1, c71 = start1;
  for (long t0 = 0; t0 < g->taps[0]; ++t0)
    for (long t1 = 0; t1 < g->taps[1]; ++t1)
      for (long t2 = 0; t2 < g->taps[2]; ++t2) {
        global const float* a = x + t0 * g->tap[0] + t1 * g->tap[1] + t2 * g->tap[2];
        global const float* b = w + (g->w_first + t0 * g->w_tap[0] + t1 * g->w_tap[1] + t2 * g->w_tap[2]) * width;
        global const float *a0 = a + from[0], *a1 = a + from[1], *a2 = a + from[2], *a3 = a + from[3],
                           *a4 = a + from[4], *a5 = a + from[5], *a6 = a + from[6], *a7 = a + from[7];
        for (long j = 0; j < g->run; ++j, b += width) {
          const float16 b0 = vload16(0, b), b1 = two ? vload16(1, b) : b0;
          float16 v;
#define STEP(row)                             \
  v = (float16)(a##row[j]);                   \
  c##row##0 = fma(v, b0, c##row##0);          \
  if (two) c##row##1 = fma(v, b1, c##row##1);
          STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#undef STEP
        }
      }
  float tile[ROWS][32];
#define KEEP(row)                  \
  vstore16(c##row##0, 0, tile[row]); \
  if (two) vstore16(c##row##1, 1, tile[row]);
  KEEP(0) KEEP(1) KEEP(2) KEEP(3) KEEP(4) KEEP(5) KEEP(6) KEEP(7)
#undef KEEP
  if (dtype != F32) {
    for (long o = 0; o < columns; ++o)
      for (long r = 0; r < left; ++r) store_real(out, dtype, to[r] + o * g->to_channel, tile[r][o]);
  } else if (left == ROWS && to[ROWS - 1] - to[0] == ROWS - 1) {
    global float* row = (global float*)out + to[0];
    for (long o = 0; o < columns; ++o, row += g->to_channel)
      vstore8((float8)(tile[0][o], tile[1][o], tile[2][o], tile[3][o], tile[4][o], tile[5][o], tile[6][o], tile[7][o]),
              0, row);
  } else {
    for (long o = 0; o < columns; ++o)
      for (long r = 0; r < left; ++r) ((global float*)out)[to[r] + o * g->to_channel] = tile[r][o];
  }
}

// Blocks of places by items of axis 0, several each; panels by axis 1, groups by axis 2.
#define WINDOWS_WIDE(name, two)                                                                                    \
  __attribute__((reqd_work_group_size(1, 1, 1))) kernel void name(source x, ulong x_at, source w, ulong w_at,      \
                                                                  target out, ulong out_at, windows g, long blocks, \
                                                                  int dtype) {                                     \
    const long panel = get_global_id(1), group = get_global_id(2), width = two ? 32 : 16;                          \
    global const float* all = (global const float*)(w + w_at);                                                     \
    global const float* mine = all + (group * g.panels + panel) * g.rows * width;                                  \
    global const float* bias =                                                                                     \
        all + (get_global_size(2) * g.panels * g.rows + group * g.panels + panel) * width;                         \
    g.to_first += group * g.group_out + panel * width * g.to_channel;                                              \
    for (long i = 0; i < blocks; ++i) {                                                                            \
      const long first = (get_global_id(0) * blocks + i) * ROWS;                                                   \
      if (first >= g.places) return;                                                                               \
      window_block((global const float*)(x + x_at) + group * g.group_in, mine, bias, out + out_at, &g, first,      \
                   min(g.outputs - panel * width, width), dtype, two);                                             \
    }                                                                                                              \
  }
WINDOWS_WIDE(windows_wide, 1)
WINDOWS_WIDE(windows_narrow, 0)

// For processors with local memory that is near: TILE places and TILE results to a group, panels of TILE columns.
__attribute__((reqd_work_group_size(TILE, TILE, 1))) kernel void windows_tiled(source x, ulong x_at, source w,
                                                                               ulong w_at, target out, ulong out_at,
                                                                               windows g, long groups, int dtype) {
  local float a_tile[TILE][TILE + 1], b_tile[TILE][TILE + 1];
  const int column = get_local_id(0), row = get_local_id(1);
  const long panel = get_group_id(0), group = get_global_id(2), i = get_global_id(1);
  global const float* a = (global const float*)(x + x_at) + group * g.group_in;
  global const float* all = (global const float*)(w + w_at);
  global const float* b = all + (group * g.panels + panel) * g.rows * TILE;
  const spot s = spot_of(&g, min(i, g.places - 1));
  float sum = all[(groups * g.panels * g.rows + group * g.panels + panel) * TILE + column];
  for (long t0 = 0; t0 < g.taps[0]; ++t0)
    for (long t1 = 0; t1 < g.taps[1]; ++t1)
      for (long t2 = 0; t2 < g.taps[2]; ++t2) {
        const long at = s.from + t0 * g.tap[0] + t1 * g.tap[1] + t2 * g.tap[2];
        const long weight = g.w_first + t0 * g.w_tap[0] + t1 * g.w_tap[1] + t2 * g.w_tap[2];
        for (long j = 0; j < g.run; j += TILE) {
          a_tile[row][column] = j + column < g.run ? a[at + j + column] : 0;
          b_tile[row][column] = j + row < g.run ? b[(weight + j + row) * TILE + column] : 0;
          barrier(CLK_LOCAL_MEM_FENCE);
          for (int t = 0; t < TILE; ++t) sum = fma(a_tile[row][t], b_tile[t][column], sum);
          barrier(CLK_LOCAL_MEM_FENCE);
        }
      }
  const long o = panel * TILE + column;
  if (i < g.places && o < g.outputs) store_real(out + out_at, dtype, s.to + group * g.group_out + o * g.to_channel, sum);
}

// Gradients of weights: sums over the places of a part of the images, part after part as [O, C, *K].
typedef struct {
  long images, per_part, count[AXES]; /* images of a part; places of an image along the axes */
  long image, step[AXES], tap[AXES];  /* in the packed image */
  long taps[AXES], run, panels;       /* taps that have runs of their own, their length, and panels to a run */
  long inner, outputs, results;       /* channels and results of a group, results of all */
  long all_taps, w_tap[AXES], size;   /* of the weights: taps, from tap to tap, all elements */
} slopes;

static inline long run_of(const slopes* g, long i, long* panel, long* tap) {
  const long a = i / g->panels, b = a / g->taps[2], t2 = a - b * g->taps[2], t0 = b / g->taps[1], t1 = b - t0 * g->taps[1];
  *panel = i - a * g->panels;
  *tap = t0 * g->w_tap[0] + t1 * g->w_tap[1] + t2 * g->w_tap[2];
  return t0 * g->tap[0] + t1 * g->tap[1] + t2 * g->tap[2];
}
// Element j of a run: its place among the weights of one result. A run over several taps of the last axis has its channels
// one tap after the other.
static inline long weight_place(const slopes* g, long tap, long j) {
  const long t = j / g->inner;
  return (j - t * g->inner) * g->all_taps + tap + t;
}

// ROWS results and 32 elements of a run in registers. Axis 0: runs and their panels, 1: blocks of results of all groups,
// 2: parts.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void slopes_wide(source dy, ulong dy_at, source x, ulong x_at,
                                                                       target parts, ulong parts_at, slopes g) {
  long panel, tap;
  const long at = run_of(&g, get_global_id(0), &panel, &tap), blocks = (g.outputs + ROWS - 1) / ROWS;
  const long group = get_global_id(1) / blocks, first = (get_global_id(1) - group * blocks) * ROWS;
  const long begin = get_global_id(2) * g.per_part, end = min(g.images, begin + g.per_part);
  const long left = min(g.outputs - first, (long)ROWS), columns = min(g.run - panel * 32, 32L);
  global const float* a = (global const float*)(dy + dy_at) + group * g.outputs + first;
  global const float* b = (global const float*)(x + x_at) + group * g.inner + at + panel * 32;
  float16 c00 = 0, c10 = 0, c20 = 0, c30 = 0, c40 = 0, c50 = 0, c60 = 0, c70 = 0, c01 = 0, c11 = 0, c21 = 0, c31 = 0,
          c41 = 0, c51 = 0, c61 = 0, c71 = 0;
  a += begin * g.count[0] * g.count[1] * g.count[2] * g.results;
  for (long n = begin; n < end; ++n)
    for (long e0 = 0; e0 < g.count[0]; ++e0)
      for (long e1 = 0; e1 < g.count[1]; ++e1) {
        global const float* run = b + n * g.image + e0 * g.step[0] + e1 * g.step[1];
        for (long e2 = 0; e2 < g.count[2]; ++e2, run += g.step[2], a += g.results) {
          const float16 b0 = vload16(0, run), b1 = vload16(1, run);
          float16 v;
#define STEP(row)                    \
  v = (float16)(a[row]);             \
  c##row##0 = fma(v, b0, c##row##0); \
  c##row##1 = fma(v, b1, c##row##1);
          STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#undef STEP
        }
      }
  float tile[ROWS][32];
#define KEEP(row)                    \
  vstore16(c##row##0, 0, tile[row]); \
  vstore16(c##row##1, 1, tile[row]);
  KEEP(0) KEEP(1) KEEP(2) KEEP(3) KEEP(4) KEEP(5) KEEP(6) KEEP(7)
#undef KEEP
  global float* to = (global float*)(parts + parts_at) + get_global_id(2) * g.size;
  for (long r = 0; r < left; ++r)
    for (long j = 0; j < columns; ++j)
      to[(group * g.outputs + first + r) * g.inner * g.all_taps + weight_place(&g, tap, panel * 32 + j)] = tile[r][j];
}

// TILE results and TILE elements of a run to a group.
__attribute__((reqd_work_group_size(TILE, TILE, 1))) kernel void slopes_tiled(source dy, ulong dy_at, source x,
                                                                              ulong x_at, target parts, ulong parts_at,
                                                                              slopes g) {
  local float a_tile[TILE][TILE + 1], b_tile[TILE][TILE + 1];
  const int column = get_local_id(0), row = get_local_id(1);
  long panel, tap;
  const long at = run_of(&g, get_group_id(0), &panel, &tap), blocks = (g.outputs + TILE - 1) / TILE;
  const long group = get_group_id(1) / blocks, first = (get_group_id(1) - group * blocks) * TILE;
  const long part = get_global_id(2), places = g.count[0] * g.count[1] * g.count[2];
  const long begin = part * g.per_part * places, end = min(g.images, (part + 1) * g.per_part) * places;
  global const float* a = (global const float*)(dy + dy_at) + group * g.outputs + first;
  global const float* b = (global const float*)(x + x_at) + group * g.inner + at + panel * TILE;
  float sum = 0;
  for (long i = begin; i < end; i += TILE) {
    const long p = i + row, q = p / g.count[2], e2 = p - q * g.count[2], s = q / g.count[1], e1 = q - s * g.count[1],
               n = s / g.count[0], e0 = s - n * g.count[0];
    const int inside = p < end;
    a_tile[row][column] = inside && first + column < g.outputs ? a[p * g.results + column] : 0;
    b_tile[row][column] = inside && panel * TILE + column < g.run
                              ? b[n * g.image + e0 * g.step[0] + e1 * g.step[1] + e2 * g.step[2] + column]
                              : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; t < TILE; ++t) sum = fma(a_tile[t][row], b_tile[t][column], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const long o = first + row, j = panel * TILE + column;
  if (o < g.outputs && j < g.run)
    ((global float*)(parts + parts_at))[part * g.size + (group * g.outputs + o) * g.inner * g.all_taps +
                                        weight_place(&g, tap, j)] = sum;
}

ONE_AXIS kernel void add_parts(source parts, ulong parts_at, target out, ulong out_at, long n, long count, int dtype) {
  const long i = get_global_id(0);
  if (i >= n) return;
  global const float* from = (global const float*)(parts + parts_at);
  float sum = 0;
  for (long k = 0; k < count; ++k) sum += from[k * n + i];
  store_real(out + out_at, dtype, i, sum);
}
