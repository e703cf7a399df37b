// Reductions: one item folds a stretch of one result's elements; what several items folded for it is folded again.

typedef struct {
  long outer, inner, parts, stretch;
  int outer_rank, inner_rank;
  long outer_shape[MAX_AXES], outer_x[MAX_AXES], inner_shape[MAX_AXES], inner_x[MAX_AXES];
} reduction;

static inline long walk(int rank, const long* shape, const long* stride, long i) {
  if (rank == 1) return i * stride[0];
  long at = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const long n = shape[d], next = i / n;
    at += (i - next * n) * stride[d];
    i = next;
  }
  return at;
}

static inline real real_start(int op) { return op == 0 ? 0 : op == 1 ? (real)-INFINITY : 1; }
static inline real real_fold(int op, real a, real x) { return op == 0 ? a + x : op == 1 ? (a > x || a != a ? a : x) : a * x; }
static inline long int_start(int op, int dtype) {
  if (op != 1) return op == 0 ? 0 : 1;
  if (is_unsigned(dtype)) return 0;
  return -(long)(1UL << (8 * bytes_of(dtype) - 2)) * 2;
}
static inline long int_fold(int op, long a, long x, int natural) {
  if (op == 0) return (long)((ulong)a + (ulong)x);
  if (op == 2) return (long)((ulong)a * (ulong)x);
  return int_before(a, x, natural) ? x : a;
}

// op: 0 sum, 1 maximum, 2 product. With parts above 1, out is scratch of 8 bytes an element.
ONE_AXIS kernel void reduce(source x, ulong x_at, target out, ulong out_at, reduction r, int op, int dtype) {
  const long i = get_global_id(0);
  if (i >= r.outer * r.parts) return;
  // Neighbours share a part, so that columns are read side by side.
  const long part = i / r.outer, o = i - part * r.outer;
  const long base = walk(r.outer_rank, r.outer_shape, r.outer_x, o);
  const long begin = part * r.stretch, end = min(r.inner, begin + r.stretch);
  const long to = o * r.parts + part;
  x += x_at;
  out += out_at;
  if (is_float(dtype)) {
    real acc = real_start(op);
    if (r.inner_rank == 1) {
      const long step = r.inner_x[0];
      if (op == 0)
        for (long k = begin; k < end; ++k) acc += load_real(x, dtype, base + k * step);
      else
        for (long k = begin; k < end; ++k) acc = real_fold(op, acc, load_real(x, dtype, base + k * step));
    } else {
      for (long k = begin; k < end; ++k)
        acc = real_fold(op, acc, load_real(x, dtype, base + walk(r.inner_rank, r.inner_shape, r.inner_x, k)));
    }
    if (r.parts > 1) ((global real*)out)[to] = acc;
    else store_real(out, dtype, o, acc);
  } else {
    const int natural = is_unsigned(dtype);
    long acc = int_start(op, dtype);
    for (long k = begin; k < end; ++k)
      acc = int_fold(op, acc, load_int(x, dtype, base + walk(r.inner_rank, r.inner_shape, r.inner_x, k)), natural);
    if (r.parts > 1) ((global long*)out)[to] = acc;
    else store_int(out, dtype, o, acc);
  }
}

ONE_AXIS kernel void reduce_parts(source parts, ulong parts_at, target out, ulong out_at, long outer, long n, int op,
                                  int dtype) {
  const long o = get_global_id(0);
  if (o >= outer) return;
  parts += parts_at;
  if (is_float(dtype)) {
    real acc = real_start(op);
    for (long k = 0; k < n; ++k) acc = real_fold(op, acc, ((global const real*)parts)[o * n + k]);
    store_real(out + out_at, dtype, o, acc);
  } else {
    long acc = int_start(op, dtype);
    for (long k = 0; k < n; ++k) acc = int_fold(op, acc, ((global const long*)parts)[o * n + k], is_unsigned(dtype));
    store_int(out + out_at, dtype, o, acc);
  }
}

// The place of the greatest: the first of equals, the first NaN.
ONE_AXIS kernel void argmax(source x, ulong x_at, target out, ulong out_at, reduction r, int dtype) {
  const long o = get_global_id(0);
  if (o >= r.outer) return;
  const long base = walk(r.outer_rank, r.outer_shape, r.outer_x, o);
  long at = 0;
  x += x_at;
  if (is_float(dtype)) {
    real best = 0;
    for (long k = 0; k < r.inner; ++k) {
      const real v = load_real(x, dtype, base + walk(r.inner_rank, r.inner_shape, r.inner_x, k));
      if (k == 0 || real_before(best, v)) best = v, at = k;
    }
  } else {
    long best = 0;
    for (long k = 0; k < r.inner; ++k) {
      const long v = load_int(x, dtype, base + walk(r.inner_rank, r.inner_shape, r.inner_x, k));
      if (k == 0 || int_before(best, v, is_unsigned(dtype))) best = v, at = k;
    }
  }
  ((global long*)(out + out_at))[o] = at;
}
