// Small and strided matrix products of the simd pack.
#include "matmul_cases.h"

namespace oarlock::test {
namespace {

TEST(SimdMatmul, AllSmallSizes) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64})
    for (int64_t m : {1, 2, 5, 6, 7, 13})
      for (int64_t n : {1, 3, 8, 15, 16, 17, 31, 32, 33, 48, 65})
        for (int64_t k : {0, 1, 4, 17}) {
          const Array a = Array(dtype, {m, k}).random(1), b = Array(dtype, {k, n}).random(2);
          Array out(dtype, {m, n});
          ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, b}, .out = out}).status, OAR_OK);
          expect_product(a, b, out);
          if (HasFatalFailure()) {
            ADD_FAILURE() << m << "x" << k << "x" << n;
            return;
          }
        }
}

TEST(SimdMatmul, TransposedAndLarge) {
  for (const Dims& size :
       {Dims{10, 20, 30}, Dims{100, 300, 130}, Dims{200, 257, 65}, Dims{1, 1000, 500}, Dims{97, 3, 1000}})
    for (int transposed = 0; transposed < 4; ++transposed) {
      const int64_t m = size[0], k = size[1], n = size[2];
      const Array a = transposed & 1 ? Array(OAR_DTYPE_F32, {k, m}).random(1).permuted({1, 0})
                                     : Array(OAR_DTYPE_F32, {m, k}).random(1);
      const Array b = transposed & 2 ? Array(OAR_DTYPE_F32, {n, k}).random(2).permuted({1, 0})
                                     : Array(OAR_DTYPE_F32, {k, n}).random(2);
      Array out(OAR_DTYPE_F32, {m, n});
      ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, b}, .out = out}).status, OAR_OK);
      expect_product(a, b, out);
      if (HasFatalFailure()) return;
    }
}

TEST(SimdMatmul, BatchesBroadcast) {
  const struct {
    Dims a, b, out;
  } cases[] = {
      {{4, 3, 5}, {5, 6}, {4, 3, 6}},
      {{3, 5}, {4, 5, 6}, {4, 3, 6}},
      {{5, 1, 3, 4}, {4, 4, 2}, {5, 4, 3, 2}},
      {{1, 3, 4}, {1, 4, 2}, {1, 3, 2}},
      {{2, 3, 40, 30}, {2, 1, 30, 20}, {2, 3, 40, 20}},
      {{0, 3, 4}, {4, 2}, {0, 3, 2}},
  };
  for (const auto& c : cases) {
    const Array a = Array(OAR_DTYPE_F32, c.a).random(1), b = Array(OAR_DTYPE_F32, c.b).random(2);
    Array out(OAR_DTYPE_F32, c.out);
    ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, b}, .out = out}).status, OAR_OK);
    expect_product(a, b, out);
    if (HasFatalFailure()) return;
  }
}

TEST(SimdMatmul, RefusesAnOutputWithGapsInRows) {
  const Array a = Array(OAR_DTYPE_F32, {3, 3}).random(1);
  const Outcome outcome =
      plugin().call({.op = "matmul", .inputs = {a, a}, .out = Array(OAR_DTYPE_F32, {3, 3}, {1, 3})});
  EXPECT_EQ(outcome.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(outcome.operand, 2);
}

}  // namespace
}  // namespace oarlock::test
