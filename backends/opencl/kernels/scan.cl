// Along an axis: one item walks one lane. Lanes are those of geometry g (its n and axes); stride[k] of operand k.

// op: 0 sum, 1 product, 2 maximum (with places), 3 linear_scan (decay, x).
ONE_AXIS kernel void scan(source decay, ulong decay_at, source x, ulong x_at, target out, ulong out_at, target places,
                          ulong places_at, geometry g, long n, long step_decay, long step_x, long step_out,
                          long step_places, int op, int dtype, int exclusive, int reverse) {
  const long lane = get_global_id(0);
  if (lane >= g.n) return;
  const long at_decay = place(&g, 0, lane), at_x = place(&g, 1, lane), at_out = place(&g, 2, lane),
             at_places = place(&g, 3, lane);
  x += x_at;
  out += out_at;
  decay += decay_at;
  long best_at = 0;
  if (is_float(dtype)) {
    real acc = op == 1 ? 1 : 0;
    for (long k = 0; k < n; ++k) {
      const long i = reverse ? n - 1 - k : k;
      const real v = load_real(x, dtype, at_x + i * step_x), before = acc;
      if (op == 0) acc += v;
      else if (op == 1) acc *= v;
      else if (op == 3) acc = load_real(decay, dtype, at_decay + i * step_decay) * acc + v;
      else if (k == 0 || real_before(acc, v)) acc = v, best_at = i;
      store_real(out, dtype, at_out + i * step_out, exclusive ? before : acc);
      if (op == 2) ((global long*)(places + places_at))[at_places + i * step_places] = best_at;
    }
  } else {
    long acc = op == 1 ? 1 : 0;
    for (long k = 0; k < n; ++k) {
      const long i = reverse ? n - 1 - k : k;
      const long v = load_int(x, dtype, at_x + i * step_x), before = acc;
      if (op == 0) acc = (long)((ulong)acc + (ulong)v);
      else if (op == 1) acc = (long)((ulong)acc * (ulong)v);
      else if (k == 0 || int_before(acc, v, is_unsigned(dtype))) acc = v, best_at = i;
      store_int(out, dtype, at_out + i * step_out, exclusive ? before : acc);
      if (op == 2) ((global long*)(places + places_at))[at_places + i * step_places] = best_at;
    }
  }
}

// Each element finds its own place: how many come before it, those of equal rank that stand before it among them. Stable,
// and every item does the same. Only the first `kept` places are written.
ONE_AXIS kernel void rank(source x, ulong x_at, target values, ulong values_at, target places, ulong places_at,
                          geometry g, long n, long kept, long step_x, long step_values, long step_places, int dtype,
                          int descending) {
  const long i = get_global_id(0);
  if (i >= g.n * n) return;
  const long lane = i / n, me = i - lane * n;
  const long at = place(&g, 1, lane);
  x += x_at;
  long before = 0;
  if (is_float(dtype)) {
    const real v = load_real(x, dtype, at + me * step_x);
    for (long k = 0; k < n; ++k) {
      const real w = load_real(x, dtype, at + k * step_x);
      const int less = descending ? real_before(v, w) : real_before(w, v);
      const int more = descending ? real_before(w, v) : real_before(v, w);
      before += less || (!more && k < me);
    }
  } else {
    const int natural = is_unsigned(dtype);
    const long v = load_int(x, dtype, at + me * step_x);
    for (long k = 0; k < n; ++k) {
      const long w = load_int(x, dtype, at + k * step_x);
      const int less = descending ? int_before(v, w, natural) : int_before(w, v, natural);
      before += less || (v == w && k < me);
    }
  }
  if (before >= kept) return;
  move(values + values_at, place(&g, 2, lane) + before * step_values, x, at + me * step_x, bytes_of(dtype));
  ((global long*)(places + places_at))[place(&g, 3, lane) + before * step_places] = me;
}

// How many elements of sorted come before each value.
ONE_AXIS kernel void search(source sorted, ulong sorted_at, source values, ulong values_at, target out, ulong out_at,
                            geometry g, long n, long step, int dtype, int right) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  const long at = place(&g, 1, i);
  sorted += sorted_at;
  values += values_at;
  long low = 0, high = n;
  while (low < high) {
    const long middle = low + (high - low) / 2;
    int up;
    if (is_float(dtype)) {
      const real x = load_real(sorted, dtype, middle * step), v = load_real(values, dtype, at);
      up = right ? !real_before(v, x) : real_before(x, v);
    } else {
      const long x = load_int(sorted, dtype, middle * step), v = load_int(values, dtype, at);
      up = right ? !int_before(v, x, is_unsigned(dtype)) : int_before(x, v, is_unsigned(dtype));
    }
    if (up) low = middle + 1;
    else high = middle;
  }
  ((global long*)(out + out_at))[place(&g, 2, i)] = low;
}
