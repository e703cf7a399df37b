// The generated C functions: operands, options, defaults, lists, results and refusals.
#include <oarlock/app.h>
#include <oarlock/ops.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

struct Handle {
  oar_tensor_t* t = nullptr;
  Handle() = default;
  Handle(std::vector<float> v, std::vector<int64_t> shape) {
    EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, int32_t(shape.size()), shape.data(), v.data(), 0, &t), OAR_OK)
        << oar_error_text();
  }
  ~Handle() {
    if (t) oar_tensor_release(t);
  }
  Handle(const Handle&) = delete;
  std::vector<float> values() const {
    int64_t n = 0;
    EXPECT_EQ(oar_tensor_count(t, &n), OAR_OK);
    std::vector<float> out(size_t(n), 0.0f);
    EXPECT_EQ(oar_tensor_read(t, out.data(), out.size() * 4), OAR_OK);
    return out;
  }
};
using Floats = std::vector<float>;

TEST(CFunctions, OperandsAndResult) {
  Handle a({1, 2, 3, 4}, {2, 2}), b({5, 6, 7, 8}, {2, 2}), out;
  ASSERT_EQ(oar_matmul(a.t, b.t, &out.t), OAR_OK) << oar_error_text();
  EXPECT_EQ(out.values(), (Floats{19, 22, 43, 50}));
}

TEST(CFunctions, OptionsAndTheirDefaults) {
  Handle x({1, 2, 3, 4}, {2, 2}), all, some, last;
  ASSERT_EQ(oar_sum(x.t, nullptr, &all.t), OAR_OK);
  EXPECT_EQ(all.values(), (Floats{10}));
  int64_t axes[] = {-1};
  oar_sum_options_t o = OAR_SUM_OPTIONS_INIT;
  o.axes = axes;
  o.n_axes = 1;
  ASSERT_EQ(oar_sum(x.t, &o, &some.t), OAR_OK);
  EXPECT_EQ(some.values(), (Floats{3, 7}));
  o.keepdims = 1;
  o.struct_size = offsetof(oar_sum_options_t, keepdims);  // a caller older than keepdims
  ASSERT_EQ(oar_sum(x.t, &o, &last.t), OAR_OK);
  int32_t rank = 0;
  int64_t shape[4];
  ASSERT_EQ(oar_tensor_shape(last.t, 4, shape, &rank), OAR_OK);
  EXPECT_EQ(rank, 1);
}

TEST(CFunctions, ListsOfOperandsAndSizes) {
  Handle a({1, 2}, {2}), b({3}, {1}), joined, filled;
  oar_tensor_t* both[] = {a.t, b.t};
  ASSERT_EQ(oar_concat(both, 2, nullptr, &joined.t), OAR_OK) << oar_error_text();
  EXPECT_EQ(joined.values(), (Floats{1, 2, 3}));
  ASSERT_EQ(oar_full(nullptr, 0, 2.5, nullptr, &filled.t), OAR_OK) << oar_error_text();
  EXPECT_EQ(filled.values(), (Floats{2.5}));
  Handle flat;
  int64_t rest[] = {-1};
  ASSERT_EQ(oar_reshape(joined.t, rest, 1, &flat.t), OAR_OK) << oar_error_text();
}

TEST(CFunctions, ErrorsLeaveTheResultAlone) {
  Handle a({1, 2, 3, 4}, {2, 2}), b({5, 6, 7}, {3, 1});
  oar_tensor_t* out = a.t;
  EXPECT_EQ(oar_matmul(a.t, b.t, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(out, a.t);
  EXPECT_EQ(std::string(oar_error_text()),
            "matmul: K disagrees: a is [2, 2] (K=2), b is [3, 1] (K=3); expects a [..., M, K], b [..., K, N].");
  EXPECT_EQ(oar_matmul(a.t, nullptr, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_matmul(a.t, a.t, nullptr), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_reshape(a.t, nullptr, 3, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_concat(nullptr, 2, nullptr, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(oar_concat(nullptr, 0, nullptr, &out), OAR_INVALID_ARGUMENT);
  EXPECT_EQ(out, a.t);
}

TEST(CFunctions, OptionalOperandsMayBeNull) {
  Handle p({1, 2}, {2}), g({0.5f, -1}, {2});
  oar_tensor_t* rate = nullptr;
  double r = 0.5;
  ASSERT_EQ(oar_tensor_create(OAR_DTYPE_F64, 0, nullptr, &r, 0, &rate), OAR_OK) << oar_error_text();
  ASSERT_EQ(oar_sgd_update(p.t, g.t, rate, nullptr, nullptr), OAR_OK) << oar_error_text();
  EXPECT_EQ(p.values(), (Floats{0.75f, 2.5f}));
  oar_tensor_release(rate);
}

}  // namespace
