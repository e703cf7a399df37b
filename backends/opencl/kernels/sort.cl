// Stable sorting of lanes: runs of RUN by counting, then merges of neighbours, every item a part of a merge (Green et al.
// 2012, GPU merge path). What is moved are places; keys are read where they lie, in lanes that g's operand 1 walks.

#define RUN 64 /* elements of a first run, and results of a merge that an item makes */

typedef struct {
  long lanes, n, step; /* elements of a lane, `step` apart */
  int dtype, descending;
} keys_of;

// Does element i of the lane at `at` come before element k?
static inline int key_before(source x, const keys_of* s, long at, long i, long k) {
  if (is_float(s->dtype)) {
    const real v = load_real(x, s->dtype, at + i * s->step), w = load_real(x, s->dtype, at + k * s->step);
    return s->descending ? real_before(w, v) : real_before(v, w);
  }
  const long v = load_int(x, s->dtype, at + i * s->step), w = load_int(x, s->dtype, at + k * s->step);
  return s->descending ? int_before(w, v, is_unsigned(s->dtype)) : int_before(v, w, is_unsigned(s->dtype));
}

ONE_AXIS kernel void first_runs(source x, ulong x_at, target order, ulong order_at, geometry g, keys_of s) {
  const long i = get_global_id(0);
  if (i >= s.lanes * s.n) return;
  const long lane = i / s.n, me = i - lane * s.n, begin = me / RUN * RUN, end = min(begin + RUN, s.n);
  const long at = place(&g, 1, lane);
  x += x_at;
  long before = begin;
  for (long k = begin; k < end; ++k)
    before += k < me ? !key_before(x, &s, at, me, k) : k > me && key_before(x, &s, at, k, me);
  ((global int*)(order + order_at))[lane * s.n + before] = (int)me;
}

ONE_AXIS kernel void merge_runs(source x, ulong x_at, source from_bytes, ulong from_at, target to_bytes, ulong to_at,
                                geometry g, keys_of s, long run) {
  const long parts = (s.n + RUN - 1) / RUN, i = get_global_id(0);
  if (i >= s.lanes * parts) return;
  const long lane = i / parts, first = (i - lane * parts) * RUN, end = min(first + RUN, s.n);
  const long begin = first / (2 * run) * (2 * run), middle = min(begin + run, s.n), last = min(begin + 2 * run, s.n);
  const long at = place(&g, 1, lane), d = first - begin, na = middle - begin, nb = last - middle;
  global const int* a = (global const int*)(from_bytes + from_at) + lane * s.n + begin;
  global const int* b = a + na;
  global int* to = (global int*)(to_bytes + to_at) + lane * s.n;
  x += x_at;
  long low = max(0L, d - nb), high = min(d, na);
  while (low < high) {
    const long half_way = low + (high - low) / 2;
    if (key_before(x, &s, at, b[d - 1 - half_way], a[half_way])) high = half_way;
    else low = half_way + 1;
  }
  long j = low, k = d - low;
  for (long o = first; o < end; ++o) {
    const int second = j >= na || (k < nb && key_before(x, &s, at, b[k], a[j]));
    to[o] = second ? b[k++] : a[j++];
  }
}

// Values (operand 2) and places (3) of the first `kept` of each lane.
ONE_AXIS kernel void ordered(source x, ulong x_at, source order, ulong order_at, target values, ulong values_at,
                             target places, ulong places_at, geometry g, keys_of s, long kept, long step_values,
                             long step_places) {
  const long i = get_global_id(0);
  if (i >= s.lanes * kept) return;
  const long lane = i / kept, k = i - lane * kept;
  const long me = ((global const int*)(order + order_at))[lane * s.n + k];
  move(values + values_at, place(&g, 2, lane) + k * step_values, x + x_at, place(&g, 1, lane) + me * s.step,
       bytes_of(s.dtype));
  ((global long*)(places + places_at))[place(&g, 3, lane) + k * step_places] = me;
}

// nonzero and unique: parts of PART elements are counted, the counts summed, then each part writes its own.
#define PART 256

static inline int is_first(source x, int dtype, global const int* order, long i) {
  if (i == 0) return 1;
  if (is_float(dtype)) return !(load_real(x, dtype, order[i]) == load_real(x, dtype, order[i - 1]));
  return load_int(x, dtype, order[i]) != load_int(x, dtype, order[i - 1]);
}
static inline int is_nonzero(source x, int dtype, long at) {
  return is_float(dtype) ? load_real(x, dtype, at) != 0 : load_int(x, dtype, at) != 0;
}

// sorted: 1 counts the first of equals in the order, 0 elements that are not 0.
ONE_AXIS kernel void count_parts(source x, ulong x_at, source order, ulong order_at, target counts, ulong counts_at,
                                 geometry g, int dtype, int sorted) {
  const long i = get_global_id(0), begin = i * PART, end = min(begin + PART, g.n);
  if (begin >= g.n) return;
  long n = 0;
  for (long k = begin; k < end; ++k)
    n += sorted ? is_first(x + x_at, dtype, (global const int*)(order + order_at), k)
                : is_nonzero(x + x_at, dtype, place(&g, 1, k));
  ((global long*)(counts + counts_at))[i] = n;
}

// One item: counts become what stands before each part, and behind them all.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void sum_counts(target counts, ulong counts_at, long n) {
  global long* at = (global long*)(counts + counts_at);
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    const long here = at[i];
    at[i] = sum;
    sum += here;
  }
  at[n] = sum;
}

ONE_AXIS kernel void write_places(source x, ulong x_at, source counts, ulong counts_at, target out, ulong out_at,
                                  geometry g, int dtype) {
  const long i = get_global_id(0), begin = i * PART, end = min(begin + PART, g.n);
  if (begin >= g.n) return;
  long row = ((global const long*)(counts + counts_at))[i];
  for (long k = begin; k < end; ++k) {
    if (!is_nonzero(x + x_at, dtype, place(&g, 1, k))) continue;
    global long* to = (global long*)(out + out_at) + row++ * g.rank;
    long rest = k;
    for (int d = g.rank - 1; d >= 0; --d) {
      const long next = rest / g.shape[d];
      to[d] = rest - next * g.shape[d];
      rest = next;
    }
  }
}

// starts: where each of the different elements begins in the order.
ONE_AXIS kernel void write_unique(source x, ulong x_at, source order_bytes, ulong order_at, source counts,
                                  ulong counts_at, target values, ulong values_at, target indices, ulong indices_at,
                                  target inverse, ulong inverse_at, target starts, ulong starts_at, long n, int dtype) {
  const long i = get_global_id(0), begin = i * PART, end = min(begin + PART, n);
  if (begin >= n) return;
  global const int* order = (global const int*)(order_bytes + order_at);
  long which = ((global const long*)(counts + counts_at))[i] - 1;
  x += x_at;
  for (long k = begin; k < end; ++k) {
    if (is_first(x, dtype, order, k)) {
      ++which;
      move(values + values_at, which, x, order[k], bytes_of(dtype));
      ((global long*)(indices + indices_at))[which] = order[k];
      ((global long*)(starts + starts_at))[which] = k;
    }
    ((global long*)(inverse + inverse_at))[order[k]] = which;
  }
}
ONE_AXIS kernel void write_counts(source starts_bytes, ulong starts_at, target counts, ulong counts_at, long different,
                                  long n) {
  const long i = get_global_id(0);
  if (i >= different) return;
  global const long* starts = (global const long*)(starts_bytes + starts_at);
  ((global long*)(counts + counts_at))[i] = (i + 1 < different ? starts[i + 1] : n) - starts[i];
}
