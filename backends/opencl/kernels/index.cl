// Elements at places that an index operand names.

// Rows of x: out (operand 2, [J, R]) from x's row index[j]. g walks out; its operand 0 has stride 0 along J, 1 is index
// with stride 0 along R.
ONE_AXIS kernel void gather(source x, ulong x_at, source index, ulong index_at, target out, ulong out_at, geometry g,
                            long rows, long row_step, int index_dtype, int width, global long* fault, int op) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const long at = place(&g, 1, i);
  const long row = row_of(load_int(index + index_at, index_dtype, at), index_dtype, rows, fault, op, at);
  if (rows > 0) move(out + out_at, place(&g, 2, i), x + x_at, place(&g, 0, i) + row * row_step, width);
}

// What becomes of an element and an update.
static inline real real_met(int how, real old, real u) {
  switch (how) {
    case 1: return old + u;
    case 2: return old * u;
    case 3: return old > u || old != old ? old : u;
    case 4: return old < u || old != old ? old : u;
    default: return u;
  }
}
static inline long int_met(int how, long old, long u, int natural) {
  switch (how) {
    case 1: return (long)((ulong)old + (ulong)u);
    case 2: return (long)((ulong)old * (ulong)u);
    case 3: return int_before(old, u, natural) ? u : old;
    case 4: return int_before(u, old, natural) ? u : old;
    default: return u;
  }
}

// Along an axis. One item makes one element of out from the updates of its lane that meet there, in the order of the
// index; the sum is rounded once. g walks x (operand 0) and out (operand 2); index and updates (operands 1, 3) have the
// strides of their other axes there.
typedef struct {
  long n, x_n, step_index, step_updates; /* length of the index along the axis, and of x */
  int axis, rank;
  long limit[MAX_AXES]; /* index's sizes: outside them nothing is written */
  long lane[MAX_AXES];  /* from lane to lane of the keys */
} along;

// Where the keys of a lane that are `me` begin: keys in the order of `order`, both of n.
static inline long first_key(global const long* keys, global const int* order, long n, long me) {
  long low = 0, high = n;
  while (low < high) {
    const long middle = low + (high - low) / 2;
    if (keys[order[middle]] < me) low = middle + 1;
    else high = middle;
  }
  return low;
}

// sorted 0: the lane is searched from end to end, and keys and order are not there. 1: keys are what place_keys wrote.
ONE_AXIS kernel void put_along(source x, ulong x_at, source index, ulong index_at, source updates, ulong updates_at,
                               target out, ulong out_at, source keys_bytes, ulong keys_at, source order_bytes,
                               ulong order_at, geometry g, along w, int dtype, int index_dtype, int how, int sorted,
                               global long* fault, int op) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long rest = i, at_x = 0, at_out = 0, at_index = 0, at_updates = 0, me = 0, lane = 0;
  int inside = 1;
  for (int d = g.rank - 1; d >= 0; --d) {
    const long n = g.shape[d], next = rest / n, c = rest - next * n;
    rest = next;
    at_x += c * g.stride[0][d];
    at_out += c * g.stride[2][d];
    if (d == w.axis) {
      me = c;
    } else {
      at_index += c * g.stride[1][d];
      at_updates += c * g.stride[3][d];
      lane += c * w.lane[d];
      inside = inside && c < w.limit[d];
    }
  }
  const int real_kind = is_float(dtype);
  real r = real_kind ? load_real(x + x_at, dtype, at_x) : 0;
  long l = real_kind ? 0 : load_int(x + x_at, dtype, at_x);
  int met = 0;
  if (inside) {
    global const long* keys = (global const long*)(keys_bytes + keys_at) + lane * w.n;
    global const int* order = (global const int*)(order_bytes + order_at) + lane * w.n;
    for (long k = sorted ? first_key(keys, order, w.n, me) : 0; k < w.n; ++k) {
      const long j = sorted ? order[k] : k;
      if (sorted) {
        if (keys[j] != me) break;
      } else {
        const long where = at_index + j * w.step_index;
        const long at = load_int(index + index_at, index_dtype, where);
        if (row_of(at, index_dtype, w.x_n, fault, op, where) != me) continue;
      }
      met = 1;
      if (real_kind) r = real_met(how, r, load_real(updates + updates_at, dtype, at_updates + j * w.step_updates));
      else l = int_met(how, l, load_int(updates + updates_at, dtype, at_updates + j * w.step_updates), is_unsigned(dtype));
    }
  }
  if (met && real_kind) store_real(out + out_at, dtype, at_out, r);
  else if (met) store_int(out + out_at, dtype, at_out, l);
  else move(out + out_at, at_out, x + x_at, at_x, bytes_of(dtype));
}

// Keys of lanes: what each index means, 0 after telling of one that means nothing. g's operand 1 walks the lanes.
ONE_AXIS kernel void place_keys(source index, ulong index_at, target keys, ulong keys_at, geometry g, long n, long step,
                                long rows, int index_dtype, global long* fault, int op) {
  const long i = get_global_id(0);
  if (i >= g.n * n) return;
  const long lane = i / n, where = place(&g, 1, lane) + (i - lane * n) * step;
  ((global long*)(keys + keys_at))[i] =
      row_of(load_int(index + index_at, index_dtype, where), index_dtype, rows, fault, op, where);
}

ONE_AXIS kernel void take_along(source x, ulong x_at, source index, ulong index_at, target out, ulong out_at, geometry g,
                                long rows, long row_step, int index_dtype, int width, global long* fault, int op) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const long at = place(&g, 1, i);
  const long row = row_of(load_int(index + index_at, index_dtype, at), index_dtype, rows, fault, op, at);
  if (rows > 0) move(out + out_at, place(&g, 2, i), x + x_at, place(&g, 0, i) + row * row_step, width);
}

// Rows of places. places are `n` rows of `depth` indices, contiguous; x and out are contiguous, their first `depth` axes
// of sizes shape, their rest of `inner` elements.
typedef struct {
  long n, inner;
  int depth, reserved;
  long shape[16];
} rows_of_places;

static inline long place_of(source index, int index_dtype, const rows_of_places* p, long j, global long* fault, int op) {
  long at = 0;
  for (int d = 0; d < p->depth; ++d) {
    const long where = j * p->depth + d;
    at = at * p->shape[d] + row_of(load_int(index, index_dtype, where), index_dtype, p->shape[d], fault, op, where);
  }
  return at;
}

ONE_AXIS kernel void gather_places(source x, ulong x_at, source index, ulong index_at, target out, ulong out_at,
                                   rows_of_places p, int index_dtype, int width, global long* fault, int op) {
  const long i = get_global_id(0);
  if (i >= p.n * p.inner) return;
  const long j = i / p.inner, k = i - j * p.inner;
  for (int d = 0; d < p.depth; ++d)
    if (p.shape[d] == 0) {
      tell(fault, op, load_int(index + index_at, index_dtype, j * p.depth + d), 0, j * p.depth + d);
      return;
    }
  const long row = place_of(index + index_at, index_dtype, &p, j, fault, op);
  move(out + out_at, i, x + x_at, row * p.inner + k, width);
}

ONE_AXIS kernel void row_keys(source index, ulong index_at, target keys, ulong keys_at, rows_of_places p,
                              int index_dtype, global long* fault, int op) {
  const long j = get_global_id(0);
  if (j < p.n) ((global long*)(keys + keys_at))[j] = place_of(index + index_at, index_dtype, &p, j, fault, op);
}

// keys and order are of the rows of places, and there if sorted.
ONE_AXIS kernel void scatter_places(source x, ulong x_at, source index, ulong index_at, source updates,
                                    ulong updates_at, target out, ulong out_at, source keys_bytes, ulong keys_at,
                                    source order_bytes, ulong order_at, rows_of_places p, long total, int dtype,
                                    int index_dtype, int how, int sorted, global long* fault, int op) {
  const long i = get_global_id(0);
  if (i >= total) return;
  const long row = i / p.inner, k = i - row * p.inner;
  const int real_kind = is_float(dtype);
  global const long* keys = (global const long*)(keys_bytes + keys_at);
  global const int* order = (global const int*)(order_bytes + order_at);
  real r = real_kind ? load_real(x + x_at, dtype, i) : 0;
  long l = real_kind ? 0 : load_int(x + x_at, dtype, i);
  int met = 0;
  for (long o = sorted ? first_key(keys, order, p.n, row) : 0; o < p.n; ++o) {
    const long j = sorted ? order[o] : o;
    if (sorted && keys[j] != row) break;
    if (!sorted && place_of(index + index_at, index_dtype, &p, j, fault, op) != row) continue;
    met = 1;
    if (real_kind) r = real_met(how, r, load_real(updates + updates_at, dtype, j * p.inner + k));
    else l = int_met(how, l, load_int(updates + updates_at, dtype, j * p.inner + k), is_unsigned(dtype));
  }
  if (met && real_kind) store_real(out + out_at, dtype, i, r);
  else if (met) store_int(out + out_at, dtype, i, l);
  else move(out + out_at, i, x + x_at, i, bytes_of(dtype));
}
