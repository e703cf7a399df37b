// Convolutions and batch normalisation of the oneDNN plugin: layouts in and out, constants, groups, refusals. Values
// against plain loops in double.
#include <algorithm>
#include <cmath>
#include <limits>

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

struct Act {
  std::string op;
  double (*f)(double);
  std::vector<oar_attr_t> attrs = {};
};
const std::vector<Act>& acts() {
  static const std::vector<Act> all = {
      {"relu", [](double x) { return x > 0 || std::isnan(x) ? x : 0; }},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.125 * x; }, {attr_float(0.125)}},
      {"gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"square", [](double x) { return x * x; }},
      {"hard_swish", [](double x) { return std::isnan(x) ? x : x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }}};
  return all;
}

// A step of each kind on values that convolving with ones leaves as they are.
TEST(OnednnConv, FusedStepsKeepSpecialValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {nan, inf, -inf, 0,    -0.0,  1e-20, -1e-20, 3,
                                       -3,  80,  -80,  1000, -1000, 0.5,   -0.5,   7};
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
    for (const Act& act : acts()) {
      const Conv c = {{1, 16, 8, 8}, {16, 1, 1, 1}, 1, 0, 1, 16};
      Array x = Array(dtype, c.x).random(1, -4, 4), w = Array(dtype, c.w).fill([](int64_t) { return 1.0; });
      for (size_t i = 0; i < special.size(); ++i) x.set(static_cast<int64_t>(17 * i), special[i]);
      Dims keep[3];
      Array out(dtype, c.out());
      const Outcome o = plugin().call({.op = "conv",
                                       .inputs = {x, w},
                                       .out = out,
                                       .attrs = attributes(c, nullptr, keep),
                                       .epilogue = {{act.op, {-1}, act.attrs}},
                                       .constants = {1}});
      ASSERT_EQ(o.status, OAR_OK) << act.op << ": " << o.text;
      const Array laid = out.restrided(o.strides[0]);
      const double step = dtype == OAR_DTYPE_F32 ? 1e-6 : 0x1p-8;
      for (int64_t i = 0; i < x.count(); ++i) {
        const double want = act.f(x.get(i)), got = laid.get(i);
        if (std::isnan(want)) EXPECT_TRUE(std::isnan(got)) << act.op << "(" << x.get(i) << ") is " << got;
        else if (std::isinf(want)) EXPECT_EQ(got, want) << act.op << "(" << x.get(i) << ")";
        else EXPECT_NEAR(got, want, step * std::max(1.0, std::fabs(want))) << act.op << "(" << x.get(i) << ")";
      }
    }
}

// An image, one a channel and one number behind a convolution, with a bias of its own and without.
TEST(OnednnConv, FusesWhatFollows) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
    for (const Conv& c : kCases)
      for (bool with_bias : {false, true}) {
        const bool constant = with_bias != (dtype == OAR_DTYPE_BF16);
        const Array x = last(Array(dtype, c.x).random(1)), w = Array(dtype, c.w).random(2),
                    b = Array(dtype, {c.w[0]}).random(3);
        const Dims shape = c.out();
        Dims channel(shape.size() - 1, 1);
        channel[0] = shape[1];
        const Array more = last(Array(dtype, shape).random(4)), factor = Array(dtype, channel).random(5),
                    shift = Array(dtype, channel).random(6), two = Array(dtype, {}).fill([](int64_t) { return 2.0; });
        std::vector<Array> inputs = {x, w};
        if (with_bias) inputs.push_back(b);
        const int at = static_cast<int>(inputs.size());
        inputs.insert(inputs.end(), {shift, more, factor, two});
        Dims keep[3];
        Array out(dtype, shape);
        const Outcome o = plugin().call({.op = "conv",
                                         .inputs = inputs,
                                         .out = out,
                                         .attrs = attributes(c, nullptr, keep),
                                         .epilogue = {{"add", {at, -1}},
                                                      {"relu", {-1}},
                                                      {"multiply", {-1, at + 2}},
                                                      {"add", {-1, at + 1}},
                                                      {"divide", {-1, at + 3}}},
                                         .constants = constant ? std::set<int>{1} : std::set<int>{}});
        if (o.status == OAR_REFUSED && c.w.back() == 1) continue;  // a product, which fuses nothing
        ASSERT_EQ(o.status, OAR_OK) << o.text;
        std::vector<double> want(static_cast<size_t>(out.count()), 0.0);
        each_product(c,
                     [&](int64_t i, int64_t k, int64_t to) { want[static_cast<size_t>(to)] += x.get(i) * w.get(k); });
        const int64_t pixels = out.count() / shape[0] / shape[1];
        for (int64_t i = 0; i < out.count(); ++i) {
          const int64_t k = i / pixels % shape[1];
          double v = want[static_cast<size_t>(i)] + (with_bias ? b.get(k) : 0) + shift.get(k);
          want[static_cast<size_t>(i)] = (std::max(v, 0.0) * factor.get(k) + more.get(i)) / 2;
        }
        expect_near(out.restrided(o.strides[0]), want, 8);
      }
}

TEST(OnednnConv, RefusesEpiloguesWithReasons) {
  const Conv c = {{2, 16, 10, 10}, {32, 16, 3, 3}, 1, 1};
  const Array x = Array(OAR_DTYPE_F32, c.x).random(1), w = Array(OAR_DTYPE_F32, c.w).random(2);
  const Array rows = Array(OAR_DTYPE_F32, c.out()).random(3), line = Array(OAR_DTYPE_F32, {10}).random(4);
  Dims keep[3];
  auto refused = [&](const Array& more, const Step& step) {
    const Outcome o = plugin().call({.op = "conv",
                                     .inputs = {x, w, more},
                                     .out = Array(OAR_DTYPE_F32, c.out()),
                                     .attrs = attributes(c, nullptr, keep),
                                     .epilogue = {step}});
    EXPECT_EQ(o.status, OAR_REFUSED) << step.op;
    EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE) << step.op;
    return o.text;
  };
  EXPECT_EQ(refused(rows, {"add", {-1, 2}}), "the image must lie channels last");
  EXPECT_NE(refused(line, {"add", {-1, 2}}).find("one a channel"), std::string::npos);
  refused(rows, {"maximum", {-1, 2}});
  refused(rows, {"subtract", {2, -1}});
  refused(rows, {"add", {-1, 1}});
  const Outcome o = plugin().call({.op = "conv",
                                   .inputs = {x, w},
                                   .out = Array(OAR_DTYPE_F32, c.out()),
                                   .attrs = attributes(c, nullptr, keep),
                                   .epilogue = {{"clip", {-1}}}});
  EXPECT_EQ(o.text, "oneDNN has no step like clip");
}

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
