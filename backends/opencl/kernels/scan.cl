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
