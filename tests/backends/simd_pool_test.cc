// Poolings and their gradients against loops over each window, in both layouts.
#include "harness.h"

namespace oarlock::test {
namespace {

struct Pooling {
  Dims image, kernel, stride, begin, end, dilation, windows;  // all by [H, W]
  bool counts_padding = false;
};
const std::vector<Pooling>& poolings() {
  static const std::vector<Pooling> all = {
      {{6, 8}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {3, 4}},
      {{7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {4, 5}, true},
      {{7, 9}, {3, 2}, {1, 3}, {1, 0}, {0, 1}, {2, 2}, {4, 3}},
      {{5, 5}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {3, 3}},      // the last windows reach over the end
      {{9, 12}, {9, 12}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},    // more taps than fit into one piece
      {{3, 600}, {1, 3}, {1, 1}, {0, 1}, {0, 1}, {1, 1}, {3, 600}},  // lines of several pieces
      {{4, 60}, {2, 3}, {2, 2}, {0, 1}, {0, 0}, {1, 1}, {2, 30}},    // lines of several vectors by 2, and their ends
      {{3, 41}, {2, 3}, {1, 2}, {0, 0}, {0, 0}, {1, 1}, {2, 20}, true},
      {{2, 15}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {1, 7}},
  };
  return all;
}

// Each element of window (h, w): f(place in the plane); returns how many count.
template <class F>
int64_t each_element(const Pooling& p, int64_t h, int64_t w, F f) {
  int64_t counted = 0;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j) {
      const int64_t y = h * p.stride[0] - p.begin[0] + i * p.dilation[0];
      const int64_t x = w * p.stride[1] - p.begin[1] + j * p.dilation[1];
      const bool inside = y >= 0 && y < p.image[0] && x >= 0 && x < p.image[1];
      const bool padding =
          y >= -p.begin[0] && y < p.image[0] + p.end[0] && x >= -p.begin[1] && x < p.image[1] + p.end[1];
      counted += inside || (padding && p.counts_padding);
      if (inside) f(y * p.image[1] + x);
    }
  return counted;
}

Array image(uint32_t dtype, int64_t n, int64_t c, const Dims& size, bool channels_last) {
  if (!channels_last) return Array(dtype, {n, c, size[0], size[1]});
  return Array(dtype, {n, size[0], size[1], c}).permuted({0, 3, 1, 2});
}

struct PoolLists {
  Dims padding;
  std::vector<oar_attr_t> attrs;
  PoolLists(const Pooling& p, bool mean) : padding(p.begin) {
    padding.insert(padding.end(), p.end.begin(), p.end.end());
    attrs = {attr_ints(p.kernel), attr_ints(p.stride), attr_ints(padding), attr_ints(p.dilation), attr_bool(true)};
    if (mean) attrs.push_back(attr_bool(p.counts_padding));
  }
};

TEST(SimdPool, MaximaAndTheirPlaces) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_BF16})
    for (bool last : {false, true})
      for (bool indexed : {false, true})
        for (int64_t channels : {1, 3, 37})
          for (const Pooling& p : poolings()) {
            Array x = image(dtype, 2, channels, p.image, last).random(1);
            x.set(5, std::nan(""));
            x.set(7, x.get(8));
            const PoolLists lists(p, false);
            const Array out = Array(dtype, {2, channels, p.windows[0], p.windows[1]});
            const Array index(OAR_DTYPE_I64, out.shape());
            Invocation call = {
                .op = "max_pool", .inputs = {x}, .out = out, .attrs = lists.attrs, .more_outputs = {index}};
            if (!indexed) call.absent = {2};
            const Outcome outcome = plugin().call(call);
            ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
            EXPECT_EQ(outcome.strides[0][1] == 1, (last && channels > 1) || p.windows == Dims({1, 1}));
            const Array got = out.restrided(outcome.strides[0]), places = index.restrided(outcome.strides[1]);
            const int64_t plane = p.image[0] * p.image[1];
            for (int64_t i = 0; i < out.count(); ++i) {
              const int64_t w = i % p.windows[1], h = i / p.windows[1] % p.windows[0];
              const int64_t start = i / (p.windows[0] * p.windows[1]) * plane;
              double most = -INFINITY;
              int64_t where = plane;
              each_element(p, h, w, [&](int64_t place) {
                const double v = x.get(start + place);
                if (where != plane && !(v > most) && !(std::isnan(v) && !std::isnan(most))) return;
                most = v;
                where = place;
              });
              if (std::isnan(most)) {
                ASSERT_TRUE(std::isnan(got.get(i))) << i;
              } else {
                ASSERT_EQ(got.get(i), most) << i;
              }
              ASSERT_EQ(indexed ? places.get_int(i) : where, where) << i;
            }
          }
}

TEST(SimdPool, PaddingAloneHasNoMaximum) {
  for (bool last : {false, true}) {
    const Array x = image(OAR_DTYPE_F32, 1, 3, {1, 1}, last).random(1);
    const Dims kernel = {2, 2}, padding = {1, 1}, dilation = {2, 2};
    const Array out(OAR_DTYPE_F32, {1, 3, 1, 1}), index(OAR_DTYPE_I64, {1, 3, 1, 1});
    const Outcome outcome = plugin().call({.op = "max_pool",
                                           .inputs = {x},
                                           .out = out,
                                           .attrs = {attr_ints(kernel), attr_none(OAR_ATTR_INTS), attr_ints(padding),
                                                     attr_ints(dilation), attr_bool(false)},
                                           .more_outputs = {index}});
    ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(out.get(i), -INFINITY);
      EXPECT_EQ(index.get_int(i), 1);
    }
  }
}

TEST(SimdPool, MeansAndTheirGradients) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_BF16})
    for (bool last : {false, true})
      for (int64_t channels : {1, 3, 70})
        for (const Pooling& p : poolings()) {
          const double epsilon = dtype == OAR_DTYPE_F32 ? 2e-6 : dtype == OAR_DTYPE_F64 ? 1e-14 : 4 * 0x1p-9;
          const Array x = image(dtype, 2, channels, p.image, last).random(1);
          const Array dy = image(dtype, 2, channels, p.windows, last).random(2);
          PoolLists lists(p, true);
          const Array out = Array(dtype, dy.shape()), dx = Array(dtype, x.shape());
          Outcome outcome = plugin().call({.op = "avg_pool", .inputs = {x}, .out = out, .attrs = lists.attrs});
          ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
          const Array got = out.restrided(outcome.strides[0]);
          lists.attrs.insert(lists.attrs.begin(), attr_ints(p.image));
          outcome = plugin().call({.op = "avg_pool_gradient", .inputs = {dy}, .out = dx, .attrs = lists.attrs});
          ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
          const Array got_dx = dx.restrided(outcome.strides[0]);
          const int64_t plane = p.image[0] * p.image[1];
          std::vector<double> want_dx(static_cast<size_t>(x.count()));
          for (int64_t i = 0; i < out.count(); ++i) {
            const int64_t w = i % p.windows[1], h = i / p.windows[1] % p.windows[0];
            const int64_t start = i / (p.windows[0] * p.windows[1]) * plane;
            double sum = 0;
            const int64_t n = each_element(p, h, w, [&](int64_t place) { sum += x.get(start + place); });
            each_element(p, h, w, [&](int64_t place) {
              want_dx[static_cast<size_t>(start + place)] += dy.get(i) / static_cast<double>(n);
            });
            ASSERT_NEAR(got.get(i), n == 0 ? 0 : sum / static_cast<double>(n), epsilon) << i;
          }
          for (int64_t i = 0; i < x.count(); ++i)
            ASSERT_NEAR(got_dx.get(i), want_dx[static_cast<size_t>(i)], epsilon) << i;
        }
}

TEST(SimdPool, AMaximumsGradientGoesToItsPlace) {
  const Dims size = {4, 5};
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64})
    for (bool last : {false, true})
      for (bool index_last : {false, true}) {
        const Array dy = image(dtype, 3, 6, {3, 3}, last).random(1);
        Array index = image(OAR_DTYPE_I64, 3, 6, {3, 3}, index_last);
        for (int64_t i = 0; i < index.count(); ++i)
          oar_kit_store_int(index.data(), OAR_DTYPE_I64, index.offset(i), i * 7 % 21);
        const Array dx(dtype, {3, 6, 4, 5});
        const Outcome outcome =
            plugin().call({.op = "max_pool_gradient", .inputs = {dy, index}, .out = dx, .attrs = {attr_ints(size)}});
        ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
        const Array got = dx.restrided(outcome.strides[0]);
        std::vector<double> want(static_cast<size_t>(dx.count()));
        for (int64_t i = 0; i < dy.count(); ++i)
          if (index.get_int(i) < 20) want[static_cast<size_t>(i / 9 * 20 + index.get_int(i))] += dy.get(i);
        for (int64_t i = 0; i < dx.count(); ++i) ASSERT_NEAR(got.get(i), want[static_cast<size_t>(i)], 1e-6) << i;
        oar_kit_store_int(index.data(), OAR_DTYPE_I64, index.offset(4), 21);
        EXPECT_EQ(plugin()
                      .call({.op = "max_pool_gradient", .inputs = {dy, index}, .out = dx, .attrs = {attr_ints(size)}})
                      .status,
                  OAR_INVALID_ARGUMENT);
      }
}

}  // namespace
}  // namespace oarlock::test
