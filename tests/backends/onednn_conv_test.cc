// Convolutions and batch normalisation of the oneDNN plugin: layouts in and out, constants, groups, refusals. Values
// against plain loops in double.
#include "harness.h"

namespace oarlock::test {
namespace {

Plugin& plugin() {
  static Plugin* one = new Plugin(OARLOCK_PLUGIN);
  return *one;
}

struct Conv {
  Dims x, w;
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  Dims out() const {
    Dims o = {x[0], w[0]};
    for (size_t d = 2; d < x.size(); ++d) o.push_back((x[d] + 2 * padding - dilation * (w[d] - 1) - 1) / stride + 1);
    return o;
  }
};
// Calls visit(place in x, place in w, place in out) for every product of the sum.
template <class Visit>
void each_product(const Conv& c, Visit visit) {
  const Dims out = c.out();
  const size_t axes = c.x.size() - 2;
  int64_t places = 1, taps = 1;
  for (size_t d = 0; d < axes; ++d) {
    places *= out[d + 2];
    taps *= c.w[d + 2];
  }
  const int64_t inputs = c.w[1], outputs = c.w[0] / c.groups;
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t o = 0; o < out[1]; ++o)
      for (int64_t p = 0; p < places; ++p)
        for (int64_t i = 0; i < inputs; ++i)
          for (int64_t t = 0; t < taps; ++t) {
            int64_t place = p, tap = t, at = 0, step = 1;
            bool inside = true;
            for (size_t d = axes; d-- > 0;) {
              const int64_t k = place % out[d + 2] * c.stride - c.padding + tap % c.w[d + 2] * c.dilation;
              place /= out[d + 2];
              tap /= c.w[d + 2];
              inside = inside && k >= 0 && k < c.x[d + 2];
              at += k * step;
              step *= c.x[d + 2];
            }
            const int64_t channel = o / outputs * inputs + i;
            if (inside)
              visit((n * c.x[1] + channel) * step + at, (o * inputs + i) * taps + t, (n * out[1] + o) * places + p);
          }
}

Array last(const Array& a) {  // the same values, channels innermost
  Dims shape = a.shape(), memory = {shape[0]};
  memory.insert(memory.end(), shape.begin() + 2, shape.end());
  memory.push_back(shape[1]);
  std::vector<int> axes = {0, static_cast<int>(shape.size()) - 1};
  for (size_t d = 2; d < shape.size(); ++d) axes.push_back(static_cast<int>(d) - 1);
  Array copy = Array(a.dtype(), memory).permuted(axes);
  for (int64_t i = 0; i < a.count(); ++i) copy.set(i, a.get(i));
  return copy;
}

void expect_near(const Array& got, const std::vector<double>& want, double scale) {
  const double step = got.dtype() == OAR_DTYPE_F32 ? 0x1p-24 : 0x1p-9;
  for (int64_t i = 0; i < got.count(); ++i)
    ASSERT_NEAR(got.get(i), want[static_cast<size_t>(i)], 64 * step * scale) << "element " << i;
}

std::vector<oar_attr_t> attributes(const Conv& c, const Dims* size, Dims (&keep)[3]) {
  keep[0] = {c.stride};
  keep[1] = {c.padding};
  keep[2] = {c.dilation};
  std::vector<oar_attr_t> all;
  if (size) all.push_back(attr_ints(*size));
  for (const Dims& list : keep) all.push_back(attr_ints(list));
  all.push_back(attr_int(c.groups));
  return all;
}

const Conv kCases[] = {
    {{2, 3, 20}, {8, 3, 5}, 2, 2},
    {{2, 16, 14, 13}, {32, 16, 3, 3}, 1, 1},
    {{3, 1, 28, 28}, {16, 1, 3, 3}, 1, 1},
    {{2, 32, 9, 9}, {16, 32, 3, 3}, 2, 1},
    {{2, 16, 11, 11}, {16, 8, 3, 3}, 1, 2, 2, 2},
    {{2, 32, 10, 10}, {32, 1, 3, 3}, 1, 1, 1, 32},
    {{2, 8, 6, 7, 5}, {8, 8, 3, 1, 2}, 1, 0},
    {{4, 24, 7, 7}, {40, 24, 1, 1}},
    {{1, 256, 4, 3}, {160, 256, 1, 1}},        // as products
    {{1, 256, 2, 3}, {256, 256, 3, 3}, 1, 1},  // images too narrow for channels last
    {{1, 256, 3, 5}, {256, 256, 3, 3}, 2, 1},
};

TEST(OnednnConv, ForwardAndBothGradientsInAnyLayout) {
  for (const Conv& c : kCases)
    for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
      for (bool channels_last : {false, true}) {
        const Array x = Array(dtype, c.x).random(1), w = Array(dtype, c.w).random(2),
                    dy = Array(dtype, c.out()).random(3);
        const Array given_x = channels_last ? last(x) : x, given_dy = channels_last ? last(dy) : dy;
        std::vector<double> y(size_t(dy.count())), dx(size_t(x.count())), dw(size_t(w.count()));
        each_product(c, [&](int64_t i, int64_t k, int64_t o) {
          y[size_t(o)] += x.get(i) * w.get(k);
          dx[size_t(i)] += dy.get(o) * w.get(k);
          dw[size_t(k)] += dy.get(o) * x.get(i);
        });
        Dims keep[3];
        auto check = [&](const char* op, const Array& a, const Array& b, const Dims& shape, const Dims* size,
                         const std::vector<double>& want, bool chooses) {
          Array out(dtype, shape);
          const Outcome outcome =
              plugin().call({.op = op, .inputs = {a, b}, .out = out, .attrs = attributes(c, size, keep)});
          ASSERT_EQ(outcome.status, OAR_OK) << op << ": " << outcome.text;
          if (chooses) { EXPECT_EQ(outcome.strides[0][1], 1) << op; }
          double scale = 1;
          for (double v : want) scale = std::max(scale, std::abs(v));
          expect_near(out.restrided(outcome.strides[0]), want, scale);
        };
        const Dims image(c.x.begin() + 2, c.x.end()), kernel(c.w.begin() + 2, c.w.end());
        check("conv", given_x, w, c.out(), nullptr, y, true);
        check("conv_input_gradient", given_dy, w, c.x, &image, dx, true);
        check("conv_weight_gradient", given_dy, given_x, c.w, &kernel, dw, false);
        if (HasFatalFailure()) return;
      }
}

TEST(OnednnConv, ConstantWeightsArePackedOnce) {
  const Conv& c = kCases[1];
  const Array x = Array(OAR_DTYPE_F32, c.x).random(1), w = Array(OAR_DTYPE_F32, c.w).random(2);
  Array bias = Array(OAR_DTYPE_F32, {c.w[0]}).random(3);
  std::vector<double> want(size_t(Array(OAR_DTYPE_F32, c.out()).count()));
  each_product(c, [&](int64_t i, int64_t k, int64_t o) { want[size_t(o)] += x.get(i) * w.get(k); });
  const int64_t places = c.out()[2] * c.out()[3];
  for (size_t o = 0; o < want.size(); ++o) want[o] += bias.get(int64_t(o) / places % c.w[0]);
  Dims keep[3];
  Array out(OAR_DTYPE_F32, c.out());
  const Outcome outcome = plugin().call({.op = "conv",
                                         .inputs = {x, w, bias},
                                         .out = out,
                                         .attrs = attributes(c, nullptr, keep),
                                         .constants = {1},
                                         .hidden = 1});
  ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
  EXPECT_EQ(outcome.unread_inputs, 2u);
  expect_near(out.restrided(outcome.strides[0]), want, 10);
}

TEST(OnednnConv, RefusalsSayWhy) {
  Dims keep[3];
  auto refused = [&](const Conv& c, const Array& w) {
    Array out(OAR_DTYPE_F32, c.out());
    return plugin().call({.op = "conv",
                          .inputs = {Array(OAR_DTYPE_F32, c.x).random(1), w},
                          .out = out,
                          .attrs = attributes(c, nullptr, keep)});
  };
  const Conv turned = {{2, 4, 8, 8}, {4, 4, 3, 3}};
  Outcome o = refused(turned, Array(OAR_DTYPE_F32, {4, 4, 3, 3}).random(2).permuted({1, 0, 2, 3}));
  EXPECT_EQ(o.reason, uint32_t(OAR_REASON_LAYOUT));
  EXPECT_EQ(o.operand, 1);
  const Conv flat = {{2, 4}, {4, 4}};
  o = refused(flat, Array(OAR_DTYPE_F32, {4, 4}).random(2));
  EXPECT_EQ(o.reason, uint32_t(OAR_REASON_RANK)) << o.text;
}

TEST(OnednnBatchNorm, StatisticsAndGradientInAnyLayout) {
  const Dims shape = {4, 24, 6, 5};
  const int64_t C = shape[1], places = 30, n = shape[0] * places;
  const Array x = Array(OAR_DTYPE_F32, shape).random(1, -1, 3), dy = Array(OAR_DTYPE_F32, shape).random(2);
  Array rm = Array(OAR_DTYPE_F32, {C}).random(3), rv = Array(OAR_DTYPE_F32, {C}).random(4, 1, 2),
        scale = Array(OAR_DTYPE_F32, {C}).random(5), bias = Array(OAR_DTYPE_F32, {C}).random(6);
  auto channel = [&](int64_t i) { return i / places % C; };
  const std::vector<double> zeros(shape[1], 0.0);
  std::vector<double> mean = zeros, var = zeros, inverse = zeros, sum_d = zeros, sum_dx = zeros;
  for (int64_t i = 0; i < x.count(); ++i) mean[size_t(channel(i))] += x.get(i) / double(n);
  for (int64_t i = 0; i < x.count(); ++i) {
    const double d = x.get(i) - mean[size_t(channel(i))];
    var[size_t(channel(i))] += d * d / double(n);
  }
  for (int64_t c = 0; c < C; ++c) inverse[size_t(c)] = 1 / std::sqrt(var[size_t(c)] + 1e-3);
  auto normal = [&](int64_t i) { return (x.get(i) - mean[size_t(channel(i))]) * inverse[size_t(channel(i))]; };
  for (int64_t i = 0; i < x.count(); ++i) {
    sum_d[size_t(channel(i))] += dy.get(i);
    sum_dx[size_t(channel(i))] += dy.get(i) * normal(i);
  }
  for (bool channels_last : {false, true}) {
    Array out(OAR_DTYPE_F32, shape), new_mean(OAR_DTYPE_F32, {C}), new_var(OAR_DTYPE_F32, {C}),
        saved(OAR_DTYPE_F32, {C}), saved_inverse(OAR_DTYPE_F32, {C});
    Outcome o = plugin().call({.op = "batch_norm",
                               .inputs = {channels_last ? last(x) : x, rm, rv, scale, bias},
                               .out = out,
                               .attrs = {attr_bool(true), attr_float(0.75), attr_float(1e-3)},
                               .more_outputs = {new_mean, new_var, saved, saved_inverse}});
    ASSERT_EQ(o.status, OAR_OK) << o.text;
    const Array laid = out.restrided(o.strides[0]);
    for (int64_t i = 0; i < x.count(); ++i)
      ASSERT_NEAR(laid.get(i), normal(i) * scale.get(channel(i)) + bias.get(channel(i)), 3e-6) << i;
    for (int64_t c = 0; c < C; ++c) {
      EXPECT_NEAR(saved.get(c), mean[size_t(c)], 1e-6);
      EXPECT_NEAR(saved_inverse.get(c), inverse[size_t(c)], 1e-6);
      EXPECT_NEAR(new_mean.get(c), 0.75 * rm.get(c) + 0.25 * mean[size_t(c)], 1e-6);
      EXPECT_NEAR(new_var.get(c), 0.75 * rv.get(c) + 0.25 * var[size_t(c)], 1e-6);
    }
    Array dx(OAR_DTYPE_F32, shape), dscale(OAR_DTYPE_F32, {C}), dbias(OAR_DTYPE_F32, {C});
    o = plugin().call({.op = "batch_norm_gradient",
                       .inputs = {dy, channels_last ? last(x) : x, saved, saved_inverse, scale},
                       .out = dx,
                       .attrs = {attr_bool(true)},
                       .more_outputs = {dscale, dbias}});
    ASSERT_EQ(o.status, OAR_OK) << o.text;
    const Array laid_dx = dx.restrided(o.strides[0]);
    for (int64_t i = 0; i < x.count(); ++i) {
      const size_t c = size_t(channel(i));
      const double want =
          scale.get(channel(i)) * inverse[c] * (dy.get(i) - (sum_d[c] + normal(i) * sum_dx[c]) / double(n));
      ASSERT_NEAR(laid_dx.get(i), want, 3e-6) << i;
    }
    for (int64_t c = 0; c < C; ++c) {
      EXPECT_NEAR(dscale.get(c), sum_dx[size_t(c)], 3e-5);
      EXPECT_NEAR(dbias.get(c), sum_d[size_t(c)], 3e-5);
    }
  }
}

}  // namespace
}  // namespace oarlock::test
