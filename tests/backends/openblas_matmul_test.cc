// Matrix products of the OpenBLAS plugin: strides, batches, threads, refusals.
#include "matmul_cases.h"

namespace oarlock::test {
namespace {

const uint32_t kTypes[] = {OAR_DTYPE_F32, OAR_DTYPE_F64};

void expect_call(const Array& a, const Array& b, Array out) {
  const Outcome outcome = plugin().call({.op = "matmul", .inputs = {a, b}, .out = out});
  ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
  expect_product(a, b, out);
}

TEST(OpenblasPlugin, OpensForTheHostCpuAlone) {
  oar_pack_t* pack = nullptr;
  EXPECT_EQ(plugin().open("cuda", &pack), OAR_REFUSED);
  EXPECT_EQ(plugin().open("cpu", &pack), OAR_OK);
  EXPECT_EQ(plugin().find("matmul")->priority, 75);
  EXPECT_EQ(plugin().declarations(plugin().pack()), plugin().declarations(nullptr));
}

TEST(OpenblasMatmul, TransposedOperandsByStride) {
  for (uint32_t dtype : kTypes)
    for (const Dims& size :
         {Dims{64, 784, 128}, Dims{1, 1000, 500}, Dims{33, 27, 65}, Dims{256, 1, 200}, Dims{500, 300, 1}})
      for (int transposed = 0; transposed < 4; ++transposed) {
        const int64_t m = size[0], k = size[1], n = size[2];
        const Array a =
            transposed & 1 ? Array(dtype, {k, m}).random(1).permuted({1, 0}) : Array(dtype, {m, k}).random(1);
        const Array b =
            transposed & 2 ? Array(dtype, {n, k}).random(2).permuted({1, 0}) : Array(dtype, {k, n}).random(2);
        expect_call(a, b, Array(dtype, {m, n}));
        if (HasFatalFailure()) return;
      }
}

TEST(OpenblasMatmul, PaddedRows) {
  for (uint32_t dtype : kTypes) {
    const Array a = Array(dtype, {30, 40}, {64, 1}).random(1), b = Array(dtype, {40, 20}, {1, 50}).random(2);
    const Array out(dtype, {30, 20}, {32, 1});
    expect_call(a, b, out);
    EXPECT_NE(out.get(0), oar_kit_load(out.data(), dtype, 20));  // what lies between the rows stays
    Array untouched(dtype, {1});
    EXPECT_EQ(std::memcmp(static_cast<char*>(out.data()) + 20 * oar_kit_dtype_bytes(dtype), untouched.data(),
                          oar_kit_dtype_bytes(dtype)),
              0);
  }
}

TEST(OpenblasMatmul, BatchesBroadcast) {
  const struct {
    Dims a, b, out;
  } cases[] = {
      {{4, 30, 50}, {50, 60}, {4, 30, 60}},
      {{30, 50}, {4, 50, 60}, {4, 30, 60}},
      {{5, 1, 30, 40}, {4, 40, 20}, {5, 4, 30, 20}},
      {{1, 60, 40}, {1, 40, 20}, {1, 60, 20}},
      {{2, 3, 40, 30}, {2, 1, 30, 20}, {2, 3, 40, 20}},
      {{2, 3, 40, 30}, {2, 3, 30, 20}, {2, 3, 40, 20}},
      {{3, 200, 100}, {3, 100, 120}, {3, 200, 120}},
  };
  for (uint32_t dtype : kTypes)
    for (uint32_t threads : {1, 2})
      for (const auto& c : cases) {
        plugin().threads(threads);
        expect_call(Array(dtype, c.a).random(1), Array(dtype, c.b).random(2), Array(dtype, c.out));
        if (HasFatalFailure()) return;
      }
  plugin().threads(2);
}

TEST(OpenblasMatmul, BatchesOfPermutedHeads) {
  const Array q = Array(OAR_DTYPE_F64, {2, 24, 4, 16}).random(1).permuted({0, 2, 1, 3});
  const Array k = Array(OAR_DTYPE_F64, {2, 20, 4, 16}).random(2).permuted({0, 2, 3, 1});
  expect_call(q, k, Array(OAR_DTYPE_F64, {2, 4, 24, 20}));
}

TEST(OpenblasMatmul, NaNAndInfinitySpread) {
  for (uint32_t dtype : kTypes) {
    Array a = Array(dtype, {20, 64}).random(1, 0, 1);
    const Array b = Array(dtype, {64, 40}).fill([](int64_t) { return 0; });
    a.set(5 * 64 + 7, std::numeric_limits<double>::quiet_NaN());
    a.set(9 * 64 + 8, std::numeric_limits<double>::infinity());
    const Array out(dtype, {20, 40});
    ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, b}, .out = out}).status, OAR_OK);
    for (int64_t i = 0; i < out.count(); ++i) ASSERT_EQ(std::isnan(out.get(i)), i / 40 == 5 || i / 40 == 9) << i;
  }
}

TEST(OpenblasMatmul, RefusesWithReasons) {
  const Array a = Array(OAR_DTYPE_F64, {64, 64}).random(1), out(OAR_DTYPE_F64, {64, 64});
  auto call = [&](const Invocation& what) { return plugin().call(what); };
  const Array tiny = Array(OAR_DTYPE_F64, {8, 8}).random(1);
  Outcome o = call({.op = "matmul", .inputs = {tiny, tiny}, .out = Array(OAR_DTYPE_F64, {8, 8})});
  EXPECT_EQ(o.reason, OAR_REASON_SLOWER);
  EXPECT_NE(o.text.find("512"), std::string::npos) << o.text;
  const Array gaps = Array(OAR_DTYPE_F64, {64, 64}, {128, 2}).random(1);
  o = call({.op = "matmul", .inputs = {a, gaps}, .out = out});
  EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(o.operand, 1);
  const Array expanded = Array(OAR_DTYPE_F64, {64, 64}, {0, 1}).random(1);
  o = call({.op = "matmul", .inputs = {expanded, a}, .out = out});
  EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(o.operand, 0);
  o = call({.op = "matmul", .inputs = {a, a}, .out = Array(OAR_DTYPE_F64, {64, 64}, {1, 64})});
  EXPECT_EQ(o.operand, 2);
  o = call({.op = "matmul", .inputs = {a, a}, .out = out, .epilogue = {{"relu", {-1}}}});
  EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE);
  const Array half = Array(OAR_DTYPE_F16, {64, 64}).random(1);
  EXPECT_EQ(call({.op = "matmul", .inputs = {half, half}, .out = Array(OAR_DTYPE_F16, {64, 64})}).reason,
            OAR_REASON_DTYPE);
  const Array none(OAR_DTYPE_F64, {64, 0}), none_b(OAR_DTYPE_F64, {0, 64});
  EXPECT_EQ(call({.op = "matmul", .inputs = {none, none_b}, .out = out}).reason, OAR_REASON_SHAPE);
}

}  // namespace
}  // namespace oarlock::test
