// Reductions, softmax and cross_entropy of the simd pack against loops in double.
#include "harness.h"

namespace oarlock::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Reduction {
  double sum = 0, most = -kInf;
  int64_t count = 0;
};

// Calls op over axes and compares with a loop over all elements.
void expect_reduction(const std::string& op, const Array& x, const Dims& axes, bool keepdims, double tolerance) {
  std::vector<bool> reduced(x.shape().size());
  for (int64_t axis : axes) reduced[axis] = true;
  Dims shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) shape.push_back(x.shape()[d]);
    else if (keepdims) shape.push_back(1);
  }
  Array out(x.dtype(), shape);
  std::vector<Reduction> want(out.count());
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (size_t d = reduced.size(); d-- > 0;) {
      if (!reduced[d]) at += rest % x.shape()[d] * step, step *= x.shape()[d];
      rest /= x.shape()[d];
    }
    const double value = x.get(i);
    Reduction& r = want[at];
    r.sum += value;
    r.most = std::isnan(value) || std::isnan(r.most) ? kNaN : std::max(r.most, value);
    ++r.count;
  }
  const Outcome outcome =
      plugin().call({.op = op, .inputs = {x}, .out = out, .attrs = {attr_ints(axes), attr_bool(keepdims)}});
  ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
  for (int64_t i = 0; i < out.count(); ++i) {
    const double expected = op == "sum" ? want[i].sum : op == "max" ? want[i].most : want[i].sum / want[i].count;
    const double got = out.get(i);
    if (std::isnan(expected)) ASSERT_TRUE(std::isnan(got)) << op << " element " << i << " gave " << got;
    else if (std::isinf(expected)) ASSERT_EQ(got, expected) << op << " element " << i;
    else ASSERT_NEAR(got, expected, tolerance * std::max(1.0, std::abs(expected))) << op << " element " << i;
  }
}

TEST(SimdReduce, AnyAxesAnyStrides) {
  const std::vector<Dims> axes_sets = {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  const std::vector<Dims> shapes = {{1, 1, 1},   {3, 4, 5},     {2, 3, 600}, {70, 2, 33},
                                    {5, 300, 7}, {130, 17, 40}, {4, 0, 3}};
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_F16, OAR_DTYPE_BF16, OAR_DTYPE_I32, OAR_DTYPE_I64})
    for (const Dims& shape : shapes)
      for (const Dims& axes : axes_sets)
        for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
          Array x = Array(dtype, shape).fill([](int64_t i) { return double((i * 7919 + 3) % 23 - 11); });
          x = x.permuted(order);
          const double epsilon = dtype == OAR_DTYPE_F16 ? 0x1p-11 : dtype == OAR_DTYPE_BF16 ? 0x1p-8 : 0;
          for (const char* op : {"sum", "max", "mean"}) {
            const bool integer = oar_kit_in(OAR_KIT_INTEGERS, dtype);
            if (std::string(op) == "mean" && (integer || x.count() == 0)) continue;
            if (std::string(op) == "max" && x.count() == 0) continue;
            // f16 ends at 65504.
            if (dtype == OAR_DTYPE_F16 && std::string(op) == "sum" && x.count() > 4000) continue;
            expect_reduction(op, x, axes, axes.size() % 2 == 0, std::string(op) == "mean" ? epsilon + 1e-7 : epsilon);
            if (HasFatalFailure()) {
              ADD_FAILURE() << "dtype " << dtype << " shape " << shape[0] << "x" << shape[1] << "x" << shape[2]
                            << " axes " << axes.size();
              return;
            }
          }
        }
}

TEST(SimdReduce, SumOfAMillionTenths) {
  const int64_t n = 1000000;
  const Array x = Array(OAR_DTYPE_F32, {n}).fill([](int64_t) { return 0.1; });
  const double want = n * static_cast<double>(0.1f);
  const Array columns = Array(OAR_DTYPE_F32, {n, 1}, {3, 1}).fill([](int64_t) { return 0.1; });
  for (const Array& each : {x, columns}) {
    Array out(OAR_DTYPE_F32, {});
    ASSERT_EQ(
        plugin()
            .call({.op = "sum", .inputs = {each}, .out = out, .attrs = {attr_none(OAR_ATTR_INTS), attr_bool(false)}})
            .status,
        OAR_OK);
    EXPECT_NEAR(out.get(0), want, 1e-6 * want);
  }
  // Down the columns of [n, 3]: three sums of a million.
  const Array wide = Array(OAR_DTYPE_F32, {n, 3}).fill([](int64_t) { return 0.1; });
  Array out(OAR_DTYPE_F32, {3});
  const Dims axes = {0};
  ASSERT_EQ(
      plugin().call({.op = "sum", .inputs = {wide}, .out = out, .attrs = {attr_ints(axes), attr_bool(false)}}).status,
      OAR_OK);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(out.get(i), want, 1e-6 * want);
}

TEST(SimdReduce, SameBitsWithAnyNumberOfThreads) {
  const Array x = Array(OAR_DTYPE_F32, {777, 1001}).random(5);
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{0, 1}}) {
    std::vector<std::vector<double>> results;
    for (uint32_t threads : {1, 2, 5}) {
      plugin().threads(threads);
      Array out(OAR_DTYPE_F32, axes.size() == 2 ? Dims{} : Dims{x.shape()[1 - axes[0]]});
      ASSERT_EQ(
          plugin().call({.op = "sum", .inputs = {x}, .out = out, .attrs = {attr_ints(axes), attr_bool(false)}}).status,
          OAR_OK);
      results.emplace_back();
      for (int64_t i = 0; i < out.count(); ++i) results.back().push_back(out.get(i));
    }
    plugin().threads(2);
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

TEST(SimdReduce, MaxPropagatesNaNAtEveryPlace) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_BF16})
    for (int64_t n = 1; n <= 33; ++n)
      for (int64_t place = 0; place < n; ++place) {
        Array row = Array(dtype, {2, n}).fill([](int64_t i) { return double(i); });
        row.set(place, kNaN);
        expect_reduction("max", row, {1}, false, 0);
        expect_reduction("max", row, {0}, false, 0);
        expect_reduction("max", row.permuted({1, 0}), {0}, true, 0);
        if (HasFatalFailure()) return;
      }
}

TEST(SimdReduce, EdgesOfMaxAndSum) {
  Array x = Array(OAR_DTYPE_F32, {40}).fill([](int64_t) { return -kInf; });
  expect_reduction("max", x, {0}, false, 0);
  x.set(3, kInf);
  Array out(OAR_DTYPE_F32, {});
  ASSERT_EQ(plugin()
                .call({.op = "sum", .inputs = {x}, .out = out, .attrs = {attr_none(OAR_ATTR_INTS), attr_bool(false)}})
                .status,
            OAR_OK);
  EXPECT_TRUE(std::isnan(out.get(0)));
  // u64 above the signed range, i64 at its ends.
  Array big(OAR_DTYPE_U64, {3});
  const uint64_t naturals[] = {5, ~uint64_t{0} - 1, uint64_t{1} << 62};
  for (int i = 0; i < 3; ++i) oar_kit_store_int(big.data(), OAR_DTYPE_U64, i, naturals[i]);
  Array most(OAR_DTYPE_U64, {});
  ASSERT_EQ(
      plugin()
          .call({.op = "max", .inputs = {big}, .out = most, .attrs = {attr_none(OAR_ATTR_INTS), attr_bool(false)}})
          .status,
      OAR_OK);
  EXPECT_EQ(static_cast<uint64_t>(most.get_int(0)), ~uint64_t{0} - 1);
  // Over nothing: -infinity, or the lowest integer.
  const Dims axes = {1};
  for (auto [dtype, lowest] : {std::pair(OAR_DTYPE_F32, -kInf), std::pair(OAR_DTYPE_I8, -128.0),
                               std::pair(OAR_DTYPE_U8, 0.0), std::pair(OAR_DTYPE_I32, -2147483648.0)}) {
    Array none(dtype, {2});
    ASSERT_EQ(plugin()
                  .call({.op = "max",
                         .inputs = {Array(dtype, {2, 0})},
                         .out = none,
                         .attrs = {attr_ints(axes), attr_bool(false)}})
                  .status,
              OAR_OK);
    EXPECT_EQ(none.get(0), lowest);
    EXPECT_EQ(none.get(1), lowest);
  }
  Array mean(OAR_DTYPE_F32, {2});
  ASSERT_EQ(plugin()
                .call({.op = "mean",
                       .inputs = {Array(OAR_DTYPE_F32, {2, 0})},
                       .out = mean,
                       .attrs = {attr_ints(axes), attr_bool(false)}})
                .status,
            OAR_OK);
  EXPECT_TRUE(std::isnan(mean.get(1)));
}

// Softmax of each row along axis, in double.
void expect_softmax(const std::string& op, const Array& x, int64_t axis, double tolerance) {
  Array out(x.dtype(), x.shape());
  const Outcome outcome = plugin().call({.op = op, .inputs = {x}, .out = out, .attrs = {attr_int(axis)}});
  ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
  int64_t step = 1;
  for (size_t d = axis + 1; d < x.shape().size(); ++d) step *= x.shape()[d];
  const int64_t length = x.shape()[axis];
  for (int64_t i = 0; i < x.count(); ++i) {
    if (i / step % length != 0) continue;
    double most = -kInf, sum = 0;
    for (int64_t k = 0; k < length; ++k) most = std::max(most, x.get(i + k * step));
    for (int64_t k = 0; k < length; ++k) sum += std::exp(x.get(i + k * step) - most);
    for (int64_t k = 0; k < length; ++k) {
      const double log = x.get(i + k * step) - most - std::log(sum);
      const double want = op == "softmax" ? std::exp(log) : log;
      const double got = out.get(i + k * step);
      if (std::isnan(want)) ASSERT_TRUE(std::isnan(got)) << got;
      else if (std::isinf(want)) ASSERT_EQ(got, want);
      else ASSERT_NEAR(got, want, tolerance * std::max(1.0, std::abs(want))) << op << " length " << length;
    }
  }
}

TEST(SimdSoftmax, AnyAxis) {
  for (const char* op : {"softmax", "log_softmax"})
    for (const Dims& shape : {Dims{1}, Dims{3, 10}, Dims{2, 5, 33}, Dims{64, 1000}, Dims{3, 20000}, Dims{1, 1, 1}})
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape.size() == 2 && shape[1] > 8192 && axis == 0) continue;
        expect_softmax(op, Array(OAR_DTYPE_F32, shape).random(9, -30, 30), axis, 1e-6);
        if (shape.size() == 2 && shape[1] <= 8192) {
          expect_softmax(op, Array(OAR_DTYPE_F32, shape).random(9, -30, 30).permuted({1, 0}), axis, 1e-6);
          expect_softmax(op, Array(OAR_DTYPE_BF16, shape).random(9, -3, 3), axis, 0x1p-8);
          expect_softmax(op, Array(OAR_DTYPE_F16, shape).random(9, -3, 3).permuted({1, 0}), axis, 0x1p-10);
        }
        if (HasFatalFailure()) return;
      }
}

TEST(SimdSoftmax, LargeAndMissingValues) {
  for (int64_t n : {2, 16, 17, 33})
    for (int64_t place : {int64_t{0}, n / 2, n - 1}) {
      Array x = Array(OAR_DTYPE_F32, {2, n}).random(1);
      x.set(place, 1e30);
      expect_softmax("softmax", x, 1, 1e-6);
      x.set(place, -kInf);  // a masked position
      expect_softmax("softmax", x, 1, 1e-6);
      expect_softmax("log_softmax", x, 1, 1e-6);
      x.set(place, kNaN);
      Array out(OAR_DTYPE_F32, {2, n});
      ASSERT_EQ(plugin().call({.op = "softmax", .inputs = {x}, .out = out, .attrs = {attr_int(1)}}).status, OAR_OK);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_TRUE(std::isnan(out.get(i)));
        EXPECT_FALSE(std::isnan(out.get(n + i)));
      }
    }
}

TEST(SimdSoftmax, RefusesLongRowsThatDoNotLieDense) {
  const Array x(OAR_DTYPE_F32, {3, 9000}, {1, 3});
  const Outcome outcome =
      plugin().call({.op = "softmax", .inputs = {x}, .out = Array(OAR_DTYPE_F32, {3, 9000}), .attrs = {attr_int(1)}});
  EXPECT_EQ(outcome.status, OAR_REFUSED);
  EXPECT_EQ(outcome.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(outcome.operand, 0);
}

TEST(SimdCrossEntropy, MatchesTheDefinition) {
  for (uint32_t label_type : {OAR_DTYPE_I32, OAR_DTYPE_I64})
    for (const Dims& batch : {Dims{}, Dims{64}, Dims{3, 700}}) {
      Dims shape = batch;
      shape.push_back(10);
      const Array x = Array(OAR_DTYPE_F32, shape).random(4, -8, 8);
      const Array labels = Array(label_type, batch).fill([](int64_t i) { return double(i * 7 % 10); });
      for (bool wanted : {false, true}) {
        Array out(OAR_DTYPE_F32, batch), log_probabilities(OAR_DTYPE_F32, shape);
        Invocation call = {
            .op = "cross_entropy", .inputs = {x, labels}, .out = out, .more_outputs = {log_probabilities}};
        if (!wanted) call.absent = {3};
        ASSERT_EQ(plugin().call(call).status, OAR_OK);
        for (int64_t i = 0; i < out.count(); ++i) {
          double sum = 0;
          for (int64_t c = 0; c < 10; ++c) sum += std::exp(x.get(i * 10 + c));
          ASSERT_NEAR(out.get(i), std::log(sum) - x.get(i * 10 + i * 7 % 10), 3e-6);
          for (int64_t c = 0; wanted && c < 10; ++c)
            ASSERT_NEAR(log_probabilities.get(i * 10 + c), x.get(i * 10 + c) - std::log(sum), 3e-6);
        }
      }
    }
}

TEST(SimdCrossEntropy, NamesALabelOutOfRange) {
  const Array x = Array(OAR_DTYPE_F32, {4, 10}).random(4);
  for (double bad : {10.0, -1.0}) {
    Array labels = Array(OAR_DTYPE_I64, {4}).fill([](int64_t) { return 9.0; });
    labels.set(2, bad);
    const Outcome outcome =
        plugin().call({.op = "cross_entropy", .inputs = {x, labels}, .out = Array(OAR_DTYPE_F32, {4})});
    EXPECT_EQ(outcome.status, OAR_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.text, "cross_entropy: label " + std::to_string(static_cast<int>(bad)) + " is outside 0..9");
  }
}

}  // namespace
}  // namespace oarlock::test
