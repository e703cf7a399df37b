// layer_norm, its gradient and argmax against loops in double.
#include "harness.h"

namespace oarlock::test {
namespace {

TEST(SimdNorm, RowsAndTheirGradients) {
  const double eps = 1e-3;
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_BF16})
    for (const Dims& size : {Dims{1, 1}, Dims{3, 5}, Dims{40, 64}, Dims{7, 1030}, Dims{300, 200}})
      for (int optional = 0; optional < 4; ++optional) {
        const int64_t rows = size[0], n = size[1];
        const Array x = Array(dtype, {rows, n}, {n + 3, 1}).random(1, 5, 7), dy = Array(dtype, size).random(2);
        const Array scale = Array(dtype, {n}).random(3), bias = Array(dtype, {n}).random(4);
        const uint32_t wide = dtype == OAR_DTYPE_F64 ? OAR_DTYPE_F64 : OAR_DTYPE_F32;
        const Array out(dtype, size), mean(wide, {rows}), inverse(wide, {rows});
        const bool scaled = optional & 1;
        Invocation call = {.op = "layer_norm",
                           .inputs = {x, scale, bias},
                           .out = out,
                           .attrs = {attr_float(eps)},
                           .more_outputs = {mean, inverse}};
        if (!scaled) call.absent.insert(1);
        if (!(optional & 2)) call.absent.insert(2);
        Outcome outcome = plugin().call(call);
        ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
        const Array dx(dtype, size), dscale(wide, {n}), dbias(wide, {n});
        call = {.op = "layer_norm_gradient",
                .inputs = {dy, x, mean, inverse, scale},
                .out = dx,
                .more_outputs = {dscale, dbias}};
        if (!scaled) call.absent.insert(4);
        outcome = plugin().call(call);
        ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
        const double epsilon = dtype == OAR_DTYPE_F64 ? 1e-12 : 3e-5;
        // Of rows: bf16 rounds each element, up to 8, once more.
        const double row_epsilon = dtype == OAR_DTYPE_BF16 ? 8 * 0x1p-8 : epsilon;
        std::vector<double> want_scale(static_cast<size_t>(n)), want_bias(static_cast<size_t>(n));
        for (int64_t r = 0; r < rows; ++r) {
          double sum = 0, squares = 0, level = 0, tilt = 0;
          for (int64_t i = 0; i < n; ++i) sum += x.get(r * n + i);
          const double m = sum / static_cast<double>(n);
          for (int64_t i = 0; i < n; ++i) squares += (x.get(r * n + i) - m) * (x.get(r * n + i) - m);
          const double s = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
          ASSERT_NEAR(mean.get(r), m, epsilon);
          ASSERT_NEAR(inverse.get(r), s, epsilon * s);
          auto normal = [&](int64_t i) { return (x.get(r * n + i) - m) * s; };
          auto slope = [&](int64_t i) { return dy.get(r * n + i) * (scaled ? scale.get(i) : 1); };
          for (int64_t i = 0; i < n; ++i) {
            level += slope(i) / static_cast<double>(n);
            tilt += slope(i) * normal(i) / static_cast<double>(n);
            want_scale[static_cast<size_t>(i)] += dy.get(r * n + i) * normal(i);
            want_bias[static_cast<size_t>(i)] += dy.get(r * n + i);
          }
          for (int64_t i = 0; i < n; ++i) {
            const double want = normal(i) * (scaled ? scale.get(i) : 1) + (optional & 2 ? bias.get(i) : 0);
            ASSERT_NEAR(out.get(r * n + i), want, row_epsilon) << r << " " << i;
            ASSERT_NEAR(dx.get(r * n + i), (slope(i) - level - normal(i) * tilt) * s, row_epsilon * s) << r << " " << i;
          }
        }
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_NEAR(dscale.get(i), want_scale[static_cast<size_t>(i)], 10 * epsilon);
          ASSERT_NEAR(dbias.get(i), want_bias[static_cast<size_t>(i)], 10 * epsilon);
        }
      }
}

TEST(SimdNorm, RefusesRowsWithGaps) {
  const Array x = Array(OAR_DTYPE_F32, {4, 6}, {1, 4}).random(1);
  EXPECT_EQ(plugin().call({.op = "layer_norm", .inputs = {x}, .out = Array(OAR_DTYPE_F32, {4, 6})}).reason,
            OAR_REASON_LAYOUT);
}

TEST(SimdArgmax, TheFirstNaNElseTheFirstOfEquals) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64})
    for (int64_t axis : {0, 1, 2})
      for (bool keeps : {false, true}) {
        const Dims shape = {6, 50, 9};
        Array x = Array(dtype, shape).fill([](int64_t i) { return static_cast<double>(i * 7919 % 31); });
        x.set(100, std::nan(""));
        x.set(109, std::nan(""));
        Dims kept = shape;
        if (keeps) kept[static_cast<size_t>(axis)] = 1;
        else kept.erase(kept.begin() + axis);
        const Array out(OAR_DTYPE_I64, kept);
        const Outcome outcome =
            plugin().call({.op = "argmax", .inputs = {x}, .out = out, .attrs = {attr_int(axis), attr_bool(keeps)}});
        ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
        const int64_t inner = axis == 0 ? 450 : axis == 1 ? 9 : 1, length = shape[static_cast<size_t>(axis)];
        for (int64_t i = 0; i < out.count(); ++i) {
          const int64_t start = i / inner * inner * length + i % inner;
          int64_t best = 0;
          for (int64_t k = 1; k < length; ++k) {
            const double v = x.get(start + k * inner), b = x.get(start + best * inner);
            if (v > b || (std::isnan(v) && !std::isnan(b))) best = k;
          }
          ASSERT_EQ(out.get_int(i), best) << i;
        }
      }
}

TEST(SimdArgmax, OfEverything) {
  Array x = Array(OAR_DTYPE_F32, {30, 40}).fill([](int64_t i) { return static_cast<double>(i % 100); });
  const Array out(OAR_DTYPE_I64, {});
  ASSERT_EQ(plugin()
                .call({.op = "argmax", .inputs = {x}, .out = out, .attrs = {attr_none(OAR_ATTR_INT), attr_bool(false)}})
                .status,
            OAR_OK);
  EXPECT_EQ(out.get_int(0), 99);
  EXPECT_EQ(plugin()
                .call({.op = "argmax",
                       .inputs = {x.permuted({1, 0})},
                       .out = out,
                       .attrs = {attr_none(OAR_ATTR_INT), attr_bool(false)}})
                .reason,
            OAR_REASON_LAYOUT);
}

}  // namespace
}  // namespace oarlock::test
