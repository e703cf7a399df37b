// Convolutions of any dtype and strides, each result by one item: what is small, and what kernels of packed images don't
// take. Up to three axes behind [N, C], outermost first; axes that are not there have one element.

#define AXES 3
typedef struct {
  long images, groups, inner, outputs; /* channels and results of one group */
  long in[AXES], kernel_size[AXES], out[AXES], stride[AXES], before[AXES], dilation[AXES];
  long x[2 + AXES], w[2 + AXES], y[2 + AXES]; /* strides of image, channels, weights and results */
} convolution;

// Position i of [*, a, b, c] with these sizes; what stands before it is returned.
static inline long split_places(const long* sizes, long i, long* at) {
  for (int d = AXES - 1; d >= 0; --d) {
    const long next = i / sizes[d];
    at[d] = i - next * sizes[d];
    i = next;
  }
  return i;
}

ONE_AXIS kernel void forward(source x, ulong x_at, source w, ulong w_at, source bias, ulong bias_at, target out,
                             ulong out_at, convolution g, long bias_step, int dtype) {
  const long i = get_global_id(0);
  const long results = g.groups * g.outputs;
  if (i >= g.images * results * g.out[0] * g.out[1] * g.out[2]) return;
  long at[AXES];
  const long above = split_places(g.out, i, at), image = above / results, o = above - image * results;
  const long group = o / g.outputs;
  x += x_at;
  w += w_at;
  real sum = bias_step >= 0 ? load_real(bias + bias_at, dtype, o * bias_step) : 0;
  for (long c = 0; c < g.inner; ++c) {
    const long from = image * g.x[0] + (group * g.inner + c) * g.x[1], weight = o * g.w[0] + c * g.w[1];
    for (long k0 = 0; k0 < g.kernel_size[0]; ++k0) {
      const long d0 = at[0] * g.stride[0] - g.before[0] + k0 * g.dilation[0];
      if (d0 < 0 || d0 >= g.in[0]) continue;
      for (long k1 = 0; k1 < g.kernel_size[1]; ++k1) {
        const long d1 = at[1] * g.stride[1] - g.before[1] + k1 * g.dilation[1];
        if (d1 < 0 || d1 >= g.in[1]) continue;
        for (long k2 = 0; k2 < g.kernel_size[2]; ++k2) {
          const long d2 = at[2] * g.stride[2] - g.before[2] + k2 * g.dilation[2];
          if (d2 < 0 || d2 >= g.in[2]) continue;
          sum += load_real(x, dtype, from + d0 * g.x[2] + d1 * g.x[3] + d2 * g.x[4]) *
                 load_real(w, dtype, weight + k0 * g.w[2] + k1 * g.w[3] + k2 * g.w[4]);
        }
      }
    }
  }
  store_real(out + out_at, dtype, i, sum);
}

// The window that reads element d by tap k along axis a, or -1.
static inline long window_of(const convolution* g, int a, long d, long k) {
  const long from = d + g->before[a] - k * g->dilation[a];
  if (from < 0 || from % g->stride[a] != 0) return -1;
  const long e = from / g->stride[a];
  return e < g->out[a] ? e : -1;
}

ONE_AXIS kernel void to_input(source dy, ulong dy_at, source w, ulong w_at, target dx, ulong dx_at, convolution g,
                              int dtype) {
  const long i = get_global_id(0);
  const long channels = g.groups * g.inner;
  if (i >= g.images * channels * g.in[0] * g.in[1] * g.in[2]) return;
  long at[AXES];
  const long above = split_places(g.in, i, at), image = above / channels, c = above - image * channels;
  const long group = c / g.inner, first = group * g.outputs;
  dy += dy_at;
  w += w_at;
  real sum = 0;
  for (long k0 = 0; k0 < g.kernel_size[0]; ++k0) {
    const long e0 = window_of(&g, 0, at[0], k0);
    if (e0 < 0) continue;
    for (long k1 = 0; k1 < g.kernel_size[1]; ++k1) {
      const long e1 = window_of(&g, 1, at[1], k1);
      if (e1 < 0) continue;
      for (long k2 = 0; k2 < g.kernel_size[2]; ++k2) {
        const long e2 = window_of(&g, 2, at[2], k2);
        if (e2 < 0) continue;
        const long from = image * g.y[0] + e0 * g.y[2] + e1 * g.y[3] + e2 * g.y[4];
        const long weight = (c - group * g.inner) * g.w[1] + k0 * g.w[2] + k1 * g.w[3] + k2 * g.w[4];
        for (long o = first; o < first + g.outputs; ++o)
          sum += load_real(dy, dtype, from + o * g.y[1]) * load_real(w, dtype, weight + o * g.w[0]);
      }
    }
  }
  store_real(dx + dx_at, dtype, i, sum);
}

ONE_AXIS kernel void to_weight(source dy, ulong dy_at, source x, ulong x_at, target dw, ulong dw_at, convolution g,
                               int dtype) {
  const long i = get_global_id(0);
  const long results = g.groups * g.outputs;
  if (i >= results * g.inner * g.kernel_size[0] * g.kernel_size[1] * g.kernel_size[2]) return;
  long k[AXES];
  const long above = split_places(g.kernel_size, i, k), o = above / g.inner, c = above - o * g.inner;
  const long channel = o / g.outputs * g.inner + c;
  dy += dy_at;
  x += x_at;
  real sum = 0;
  for (long n = 0; n < g.images; ++n) {
    const long from_x = n * g.x[0] + channel * g.x[1], from_y = n * g.y[0] + o * g.y[1];
    for (long e0 = 0; e0 < g.out[0]; ++e0) {
      const long d0 = e0 * g.stride[0] - g.before[0] + k[0] * g.dilation[0];
      if (d0 < 0 || d0 >= g.in[0]) continue;
      for (long e1 = 0; e1 < g.out[1]; ++e1) {
        const long d1 = e1 * g.stride[1] - g.before[1] + k[1] * g.dilation[1];
        if (d1 < 0 || d1 >= g.in[1]) continue;
        for (long e2 = 0; e2 < g.out[2]; ++e2) {
          const long d2 = e2 * g.stride[2] - g.before[2] + k[2] * g.dilation[2];
          if (d2 < 0 || d2 >= g.in[2]) continue;
          sum += load_real(dy, dtype, from_y + e0 * g.y[2] + e1 * g.y[3] + e2 * g.y[4]) *
                 load_real(x, dtype, from_x + d0 * g.x[2] + d1 * g.x[3] + d2 * g.x[4]);
        }
      }
    }
  }
  store_real(dw + dw_at, dtype, i, sum);
}
