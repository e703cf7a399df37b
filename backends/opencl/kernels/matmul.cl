// Matrix products. Batches are those of geometry g (stride 0: a, 1: b, 2: out).

// Any dtype and strides: one item, one element.
ONE_AXIS kernel void product(source a, ulong a_at, source b, ulong b_at, target out, ulong out_at, geometry g, long m,
                             long n, long k, long a_row, long a_column, long b_row, long b_column, long out_row,
                             long out_column, int dtype) {
  const long i = get_global_id(0);
  if (i >= g.n * m * n) return;
  const long batch = i / (m * n), rest = i - batch * m * n, row = rest / n, column = rest - row * n;
  const long from_a = place(&g, 0, batch) + row * a_row, from_b = place(&g, 1, batch) + column * b_column;
  const long to = place(&g, 2, batch) + row * out_row + column * out_column;
  a += a_at;
  b += b_at;
  if (is_float(dtype)) {
    real sum = 0;
    for (long j = 0; j < k; ++j)
      sum += load_real(a, dtype, from_a + j * a_column) * load_real(b, dtype, from_b + j * b_row);
    store_real(out + out_at, dtype, to, sum);
  } else {
    ulong sum = 0;
    for (long j = 0; j < k; ++j)
      sum += (ulong)load_int(a, dtype, from_a + j * a_column) * (ulong)load_int(b, dtype, from_b + j * b_row);
    store_int(out + out_at, dtype, to, (long)sum);
  }
}

#define ROWS 8
#define COLUMNS 32

// b of every batch in panels of COLUMNS columns, row after row, zeros behind its last column.
ONE_AXIS kernel void pack(source b, ulong b_at, target out_bytes, ulong out_at, geometry g, long n, long k, long b_row,
                          long b_column, int dtype) {
  global float* out = (global float*)(out_bytes + out_at);
  const long panels = (n + COLUMNS - 1) / COLUMNS, i = get_global_id(0);
  if (i >= g.n * panels * k * COLUMNS) return;
  const long batch = i / (panels * k * COLUMNS), rest = i - batch * panels * k * COLUMNS;
  const long panel = rest / (k * COLUMNS), row = rest / COLUMNS % k, column = panel * COLUMNS + rest % COLUMNS;
  out[i] = column < n ? (float)load_real(b + b_at, dtype, place(&g, 1, batch) + row * b_row + column * b_column) : 0;
}

// For processors with wide vectors: an item makes ROWS x COLUMNS elements in registers, from packed b. f32.
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void product_wide(
    source a_bytes, ulong a_at, source packed, ulong packed_at, target out_bytes, ulong out_at, geometry g, long m,
    long n, long k, long a_row, long a_column, long out_row) {
  const long panel = get_global_id(0), first = get_global_id(1) * ROWS, batch = get_global_id(2);
  const long panels = (n + COLUMNS - 1) / COLUMNS;
  global const float* a = (global const float*)(a_bytes + a_at) + place(&g, 0, batch);
  global const float* b = (global const float*)(packed + packed_at) + (batch * panels + panel) * k * COLUMNS;
  global float* out = (global float*)(out_bytes + out_at) + place(&g, 2, batch) + first * out_row + panel * COLUMNS;
  const long last = m - 1;
  global const float* a0 = a + first * a_row;
  global const float* a1 = a + min(first + 1, last) * a_row;
  global const float* a2 = a + min(first + 2, last) * a_row;
  global const float* a3 = a + min(first + 3, last) * a_row;
  global const float* a4 = a + min(first + 4, last) * a_row;
  global const float* a5 = a + min(first + 5, last) * a_row;
  global const float* a6 = a + min(first + 6, last) * a_row;
  global const float* a7 = a + min(first + 7, last) * a_row;
  float16 c00 = 0, c01 = 0, c10 = 0, c11 = 0, c20 = 0, c21 = 0, c30 = 0, c31 = 0;
  float16 c40 = 0, c41 = 0, c50 = 0, c51 = 0, c60 = 0, c61 = 0, c70 = 0, c71 = 0;
  for (long j = 0; j < k; ++j, b += COLUMNS) {
    const float16 b0 = vload16(0, b), b1 = vload16(1, b);
    const long at = j * a_column;
    float16 x;
#define STEP(row)                    \
  x = (float16)(a##row[at]);         \
  c##row##0 = fma(x, b0, c##row##0); \
  c##row##1 = fma(x, b1, c##row##1);
    STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#undef STEP
  }
  const long columns = min(n - panel * COLUMNS, (long)COLUMNS);
#define STORE(row)                                                            \
  if (first + row < m) {                                                      \
    if (columns == COLUMNS) {                                                 \
      vstore16(c##row##0, 0, out + row * out_row);                            \
      vstore16(c##row##1, 1, out + row * out_row);                            \
    } else {                                                                  \
      float edge[COLUMNS];                                                    \
      vstore16(c##row##0, 0, edge);                                           \
      vstore16(c##row##1, 1, edge);                                           \
      for (long j = 0; j < columns; ++j) out[row * out_row + j] = edge[j];    \
    }                                                                         \
  }
  STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7)
#undef STORE
}

#define TILE 16
// For processors with local memory that is near: tiles of both operands in it. f32.
__attribute__((reqd_work_group_size(TILE, TILE, 1))) kernel void product_tiled(
    source a_bytes, ulong a_at, source b_bytes, ulong b_at, target out_bytes, ulong out_at, geometry g, long m, long n,
    long k, long a_row, long a_column, long b_row, long b_column, long out_row) {
  local float a_tile[TILE][TILE + 1], b_tile[TILE][TILE + 1];
  const long batch = get_global_id(2), row = get_global_id(1), column = get_global_id(0);
  const int x = get_local_id(0), y = get_local_id(1);
  global const float* a = (global const float*)(a_bytes + a_at) + place(&g, 0, batch);
  global const float* b = (global const float*)(b_bytes + b_at) + place(&g, 1, batch);
  float sum = 0;
  for (long j = 0; j < k; j += TILE) {
    a_tile[y][x] = row < m && j + x < k ? a[row * a_row + (j + x) * a_column] : 0;
    b_tile[y][x] = column < n && j + y < k ? b[(j + y) * b_row + column * b_column] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; t < TILE; ++t) sum = fma(a_tile[y][t], b_tile[t][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n)
    ((global float*)(out_bytes + out_at))[place(&g, 2, batch) + row * out_row + column] = sum;
}
