// Kernels of the OpenCL plugin at sizes that the conformance kit does not draw, against loops on the host.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include "opencl_session.h"

namespace oarlock {
namespace {

class OpenclKernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(loaded().enumerate(), OAR_OK) << last_error;
    if (loaded().n == 0) GTEST_SKIP() << "no OpenCL device";
  }
};

// A tensor on the device, row-major.
template <class T>
struct Placed {
  Session& s;
  std::vector<int64_t> shape, strides;
  size_t n;
  void* data;
  Placed(Session& session, std::vector<int64_t> sizes)
      : s(session),
        shape(std::move(sizes)),
        strides(shape.size()),
        n(static_cast<size_t>(oar_kit_count(static_cast<uint32_t>(shape.size()), shape.data()))),
        data(s.alloc(n * sizeof(T))) {
    oar_kit_strides(static_cast<uint32_t>(shape.size()), shape.data(), strides.data());
  }
  Placed(Session& session, std::vector<int64_t> sizes, std::vector<T> values) : Placed(session, std::move(sizes)) {
    s.copy(data, false, values.data(), true, n * sizeof(T));
    EXPECT_EQ(s.wait(), OAR_OK) << last_error;
  }
  ~Placed() { loaded().memory->free(s.device, 0, data, nullptr); }
  oar_view_t view(uint32_t dtype) const {
    oar_view_t v = {};
    v.data = data;
    v.n_dims = static_cast<int32_t>(shape.size());
    v.shape = shape.data();
    v.strides = strides.data();
    v.dtype = dtype;
    return v;
  }
  std::vector<T> values() const {
    std::vector<T> all(n);
    s.copy(all.data(), true, data, false, n * sizeof(T));
    EXPECT_EQ(s.wait(), OAR_OK) << last_error;
    return all;
  }
};

oar_attr_t integer(int64_t value) {
  oar_attr_t a = {};
  a.type = OAR_ATTR_INT;
  a.is_set = 1;
  a.value.i = value;
  return a;
}
oar_attr_t flag(bool value) {
  oar_attr_t a = integer(value);
  a.type = OAR_ATTR_BOOL;
  return a;
}
oar_attr_t list(const std::vector<int64_t>& values) {
  oar_attr_t a = {};
  a.type = OAR_ATTR_INTS;
  a.is_set = 1;
  a.count = values.size();
  a.value.ints = values.data();
  return a;
}
// Whole numbers: sums of their products are exact, in whatever order.
std::vector<float> whole_numbers(size_t n, int most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> all(n);
  for (float& v : all) v = static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most);
  return all;
}

TEST_P(OpenclKernels, SortsLongLanesStably) {
  Session s("off", {{"shape", GetParam()}});
  constexpr int64_t kLanes = 2, kN = 10007;
  for (const bool descending : {false, true}) {
    const std::vector<float> x = whole_numbers(kLanes * kN, 500, 1);  // every value many times
    const Placed<float> in(s, {kLanes, kN}, x), values(s, {kLanes, kN});
    const Placed<int64_t> places(s, {kLanes, kN});
    ASSERT_EQ(s.launch("sort", {in.view(OAR_DTYPE_F32)}, {values.view(OAR_DTYPE_F32), places.view(OAR_DTYPE_I64)},
                       {integer(-1), flag(descending)}),
              OAR_OK)
        << last_error;
    const std::vector<int64_t> got = places.values();
    const std::vector<float> sorted = values.values();
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float* from = x.data() + lane * kN;
      std::vector<int64_t> order(kN);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t k) { return descending ? from[i] > from[k] : from[i] < from[k]; });
      for (int64_t i = 0; i < kN; ++i) {
        ASSERT_EQ(got[static_cast<size_t>(lane * kN + i)], order[static_cast<size_t>(i)]) << i;
        ASSERT_EQ(sorted[static_cast<size_t>(lane * kN + i)], from[order[static_cast<size_t>(i)]]) << i;
      }
    }
  }
}

TEST_P(OpenclKernels, AddsManyUpdatesToOneRowInTheirOrder) {
  Session s("off", {{"shape", GetParam()}});
  constexpr int64_t kRows = 17, kRow = 3, kN = 3001;
  std::vector<float> x = whole_numbers(kRows * kRow, 9, 2), updates(kN * kRow);
  std::vector<int64_t> index(kN);
  std::mt19937 random(3);
  for (float& u : updates) u = std::uniform_real_distribution<float>(-1, 1)(random);
  for (int64_t& i : index) i = static_cast<int64_t>(random() % 34) - 17;  // negative ones count from the end
  const Placed<float> to(s, {kRows, kRow}, x), what(s, {kN, kRow}, updates), out(s, {kRows, kRow});
  const Placed<int64_t> where(s, {kN}, index);
  std::vector<std::vector<float>> results;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(s.launch("scatter_add", {to.view(OAR_DTYPE_F32), where.view(OAR_DTYPE_I64), what.view(OAR_DTYPE_F32)},
                       {out.view(OAR_DTYPE_F32)}, {}),
              OAR_OK)
        << last_error;
    results.push_back(out.values());
  }
  EXPECT_EQ(results[0], results[1]);
  std::vector<double> expected(x.begin(), x.end());
  for (int64_t j = 0; j < kN; ++j)
    for (int64_t k = 0; k < kRow; ++k)
      expected[static_cast<size_t>((index[static_cast<size_t>(j)] + kRows) % kRows * kRow + k)] +=
          static_cast<double>(updates[static_cast<size_t>(j * kRow + k)]);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(results[0][i], expected[i], 2e-5 + 1e-6 * std::abs(expected[i]));
}

TEST_P(OpenclKernels, AnIndexOutOfRangeAmongManyIsTold) {
  Session s("off", {{"shape", GetParam()}});
  std::vector<int64_t> index(100, 1);
  index[77] = 5;
  const Placed<float> x(s, {5}, {0, 0, 0, 0, 0}), updates(s, {100}, std::vector<float>(100, 1)), out(s, {5});
  const Placed<int64_t> where(s, {100}, index);
  EXPECT_EQ(s.launch("scatter_add", {x.view(OAR_DTYPE_F32), where.view(OAR_DTYPE_I64), updates.view(OAR_DTYPE_F32)},
                     {out.view(OAR_DTYPE_F32)}, {}),
            OAR_INVALID_ARGUMENT);
  EXPECT_EQ(last_error, "scatter_add: index 5 at position 77 is out of range: the axis has 5 elements.");
}

// Packed images give what the plain kernels give, where all sums are exact.
TEST_P(OpenclKernels, PackedConvolutionsAreThePlainOnes) {
  struct Case {
    std::vector<int64_t> x, w, y, stride, padding, dilation;
    int64_t groups;
  };
  const Case cases[] = {{{2, 3, 9, 10}, {20, 3, 3, 3}, {2, 20, 9, 10}, {1, 1}, {1, 1}, {1, 1}, 1},
                        {{2, 16, 8, 9}, {40, 16, 3, 2}, {2, 40, 4, 5}, {2, 2}, {1, 1}, {1, 1}, 1},
                        {{1, 6, 11, 12}, {10, 3, 3, 3}, {1, 10, 7, 5}, {1, 2}, {0, 1}, {2, 2}, 2},
                        {{3, 4, 13}, {36, 4, 4}, {3, 36, 4}, {3}, {0}, {1}, 1},
                        {{1, 5, 4, 6, 5}, {7, 5, 2, 3, 2}, {1, 7, 3, 4, 4}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 1},
                        {{2, 8, 5, 5}, {8, 1, 3, 3}, {2, 8, 5, 5}, {1, 1}, {1, 1}, {1, 1}, 8}};
  for (const Case& c : cases) {
    std::vector<float> results[2][3];
    for (const bool packed : {false, true}) {
      Session s("off", {{"shape", GetParam()}, {"special_work", packed ? "1" : "1000000000"}});
      const auto count = [](const std::vector<int64_t>& shape) {
        return static_cast<size_t>(oar_kit_count(static_cast<uint32_t>(shape.size()), shape.data()));
      };
      const Placed<float> x(s, c.x, whole_numbers(count(c.x), 3, 4)), w(s, c.w, whole_numbers(count(c.w), 3, 5)),
          dy(s, c.y, whole_numbers(count(c.y), 3, 6)),
          bias(s, {c.w[0]}, whole_numbers(static_cast<size_t>(c.w[0]), 3, 7)), y(s, c.y), dx(s, c.x), dw(s, c.w);
      const std::vector<oar_attr_t> window = {list(c.stride), list(c.padding), list(c.dilation), integer(c.groups)};
      std::vector<oar_attr_t> behind_size = {list({})};
      behind_size.insert(behind_size.end(), window.begin(), window.end());
      constexpr uint32_t kType = OAR_DTYPE_F32;
      EXPECT_EQ(s.launch("conv", {x.view(kType), w.view(kType), bias.view(kType)}, {y.view(kType)}, window), OAR_OK);
      EXPECT_EQ(s.launch("conv_input_gradient", {dy.view(kType), w.view(kType)}, {dx.view(kType)}, behind_size),
                OAR_OK);
      EXPECT_EQ(s.launch("conv_weight_gradient", {dy.view(kType), x.view(kType)}, {dw.view(kType)}, behind_size),
                OAR_OK);
      results[packed][0] = y.values();
      results[packed][1] = dx.values();
      results[packed][2] = dw.values();
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(results[0][i], results[1][i]) << "case " << (&c - cases) << " part " << i;
    EXPECT_NE(results[0][0], std::vector<float>(results[0][0].size(), 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclKernels, testing::Values("cpu", "gpu"));

}  // namespace
}  // namespace oarlock
