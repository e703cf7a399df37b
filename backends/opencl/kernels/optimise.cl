// Steps of optimisers, in place: parameters, gradients and up to three states lie dense.

typedef struct {
  number rate, beta1, beta2, epsilon, decay;
  number ratio, root; /* Adam: rate over the first moment's correction, and the root of the second's */
} update;

// weight * old + (1 - weight) * now
static inline real mixed(real old, real now, real weight) { return old * weight + now * (1 - weight); }

// op: 0 sgd (beta1: momentum's, beta2: 1 - dampening), 1 nesterov, 2 adam, 3 adamw, 4 rmsprop, 5 adagrad. given: bit k
// for state k. dtypes: of parameters and of states. Nothing of p may reach g where decay is 0, not even 0 * infinity.
ONE_AXIS kernel void optimise(target p_bytes, ulong p_at, source g_bytes, ulong g_at, target a, ulong a_at, target b,
                              ulong b_at, target c, ulong c_at, update s, long n, int op, int given, int dtypes) {
  const long i = get_global_id(0);
  if (i >= n) return;
  const int t = dtypes & 255, m = dtypes >> 8 & 255;
  const real decay = real_of(s.decay), beta1 = real_of(s.beta1), rate = real_of(s.rate);
  real p = load_real(p_bytes + p_at, t, i), g = load_real(g_bytes + g_at, t, i), move;
  a += a_at;
  b += b_at;
  c += c_at;
  if (decay != 0 && op != 3) g = g + p * decay;
  if (decay != 0 && op == 3) p = p - p * (rate * decay);
  if (op <= 1) {
    move = g;
    if (given & 1) {
      const real share = real_of(s.beta2), v = load_real(a, t, i) * beta1 + (share == 1 ? g : g * share);
      store_real(a, t, i, v);
      move = op == 1 ? g + v * beta1 : v;
    }
    move = move * rate;
  } else if (op <= 3) {
    const real first = mixed(load_real(a, m, i), g, beta1);
    real v = mixed(load_real(b, m, i), g * g, real_of(s.beta2));
    store_real(a, m, i, first);
    store_real(b, m, i, v);
    if (given & 4) {
      const real most = load_real(c, m, i);
      v = most > v || most != most ? most : v;
      store_real(c, m, i, v);
    }
    move = real_of(s.ratio) * (first / (sqrt(v) / real_of(s.root) + real_of(s.epsilon)));
  } else if (op == 4) {
    const real before = load_real(a, m, i);
    real v = mixed(before, g * g, beta1);
    store_real(a, m, i, v);
    if (given & 2) {
      const real mean = load_real(b, m, i), away = g - mean;
      const real spread = (before - mean * mean) + away * away * (1 - beta1);
      v = spread * beta1;
      v = v > 0 || v != v ? v : 0;
      store_real(b, m, i, mixed(mean, g, beta1));
    }
    move = g / (sqrt(v) + real_of(s.epsilon));
    if (given & 4) {
      move = load_real(c, m, i) * real_of(s.beta2) + move;
      store_real(c, m, i, move);
    }
    move = move * rate;
  } else {
    const real all = load_real(a, m, i) + g * g;
    store_real(a, m, i, all);
    move = rate * (g / (sqrt(all) + real_of(s.epsilon)));
  }
  store_real(p_bytes + p_at, t, i, p - move);
}
