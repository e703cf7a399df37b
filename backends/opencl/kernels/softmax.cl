// softmax, log_softmax and cross_entropy: an item computes a lane, n elements `inner` apart. Wide rows of f32: an item and
// wide vectors. op: 0 softmax, 1 log_softmax.

static inline real most_of(source x, int dtype, long at, long n, long inner) {
  real most = (real)-INFINITY;
  for (long i = 0; i < n; ++i) {
    const real v = load_real(x, dtype, at + i * inner);
    most = most > v || most != most ? most : v;
  }
  return most;
}

ONE_AXIS kernel void lanes(source x, ulong x_at, target out, ulong out_at, long count, long n, long inner, int dtype,
                           int op) {
  const long i = get_global_id(0);
  if (i >= count) return;
  const long above = i / inner, at = above * n * inner + i - above * inner;
  x += x_at;
  out += out_at;
  const real most = most_of(x, dtype, at, n, inner);
  real sum = 0;
  for (long k = 0; k < n; ++k) sum += exp(load_real(x, dtype, at + k * inner) - most);
  const real by = op == 0 ? 1 / sum : log(sum);
  for (long k = 0; k < n; ++k) {
    const real v = load_real(x, dtype, at + k * inner) - most;
    store_real(out, dtype, at + k * inner, op == 0 ? exp(v) * by : v - by);
  }
}

// f32, inner 1.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void wide_rows(source x, ulong x_at, target out, ulong out_at,
                                                                     long n, int op) {
  global const float* from = (global const float*)(x + x_at) + get_global_id(0) * n;
  global float* to = (global float*)(out + out_at) + get_global_id(0) * n;
  const long whole = n / 16 * 16;
  float16 most16 = (float16)(-INFINITY);
  float most = -INFINITY, sum = 0;
  for (long i = 0; i < whole; i += 16) {
    const float16 v = vload16(0, from + i);
    most16 = select(v, most16, isgreater(most16, v) | isnan(most16));
  }
  float all[16];
  vstore16(most16, 0, all);
  for (int k = 0; k < 16; ++k) most = most > all[k] || most != most ? most : all[k];
  for (long i = whole; i < n; ++i) most = most > from[i] || most != most ? most : from[i];
  float16 sums = 0;
  for (long i = 0; i < whole; i += 16) {
    const float16 e = exp(vload16(0, from + i) - most);
    sums += e;
    if (op == 0) vstore16(e, 0, to + i);
  }
  vstore16(sums, 0, all);
  for (int k = 0; k < 16; ++k) sum += all[k];
  for (long i = whole; i < n; ++i) {
    const float e = exp(from[i] - most);
    sum += e;
    if (op == 0) to[i] = e;
  }
  if (op == 0) {
    for (long i = 0; i < whole; i += 16) vstore16(vload16(0, to + i) / sum, 0, to + i);
    for (long i = whole; i < n; ++i) to[i] /= sum;
  } else {
    const float by = log(sum);
    for (long i = 0; i < whole; i += 16) vstore16(vload16(0, from + i) - most - by, 0, to + i);
    for (long i = whole; i < n; ++i) to[i] = from[i] - most - by;
  }
}

// wanted: 1 the losses, 2 the logarithms of the probabilities.
ONE_AXIS kernel void cross_entropy(source x, ulong x_at, source labels, ulong labels_at, target out, ulong out_at,
                                   target logs, ulong logs_at, long rows, long n, int dtype, int label_dtype, int wanted,
                                   global long* fault, int op) {
  const long row = get_global_id(0);
  if (row >= rows) return;
  x += x_at;
  const long at = row * n, label = load_int(labels + labels_at, label_dtype, row);
  const real most = most_of(x, dtype, at, n, 1);
  real sum = 0;
  for (long k = 0; k < n; ++k) sum += exp(load_real(x, dtype, at + k) - most);
  const real by = log(sum);
  if (wanted & 2)
    for (long k = 0; k < n; ++k) store_real(logs + logs_at, dtype, at + k, load_real(x, dtype, at + k) - most - by);
  if (label < 0 || label >= n) tell(fault, op, label, n, row);
  else if (wanted & 1) store_real(out + out_at, dtype, row, by + most - load_real(x, dtype, at + label));
}

ONE_AXIS kernel void cross_entropy_gradient(source dy, ulong dy_at, source logs, ulong logs_at, source labels,
                                            ulong labels_at, target out, ulong out_at, long rows, long n, int dtype,
                                            int label_dtype) {
  const long i = get_global_id(0);
  if (i >= rows * n) return;
  const long row = i / n, label = load_int(labels + labels_at, label_dtype, row);
  const real p = exp(load_real(logs + logs_at, dtype, i));
  store_real(out + out_at, dtype, i, (i - row * n == label ? p - 1 : p) * load_real(dy + dy_at, dtype, row));
}
