// Kernels of the simd pack that write to an operand.
#include "harness.h"

namespace oarlock::test {
namespace {

TEST(SimdUpdate, SgdStepsInAllForms) {
  const double rate = 0.05, beta = 0.9;
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64, OAR_DTYPE_F16, OAR_DTYPE_BF16})
    for (int64_t n : {0, 1, 15, 33, 1000, 70000})
      for (bool has_momentum : {false, true})
        for (double decay : {0.0, 0.1})
          for (bool nesterov : {false, true}) {
            Array p = Array(dtype, {n}).random(1), m = Array(dtype, {n}).random(2);
            const Array g = Array(dtype, {n}).random(3), p0 = Array(dtype, {n}).random(1),
                        m0 = Array(dtype, {n}).random(2);
            const Array rates = Array(OAR_DTYPE_F64, {}).fill([&](int64_t) { return rate; });
            Invocation call = {.op = "sgd_update",
                               .inputs = {p, g, m, rates},
                               .out = p,
                               .attrs = {attr_float(beta), attr_float(decay), attr_bool(nesterov)},
                               .has_output = false};
            if (!has_momentum) call.absent = {2};
            const Outcome outcome = plugin().call(call);
            ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
            const double epsilon = dtype == OAR_DTYPE_F64   ? 1e-15
                                   : dtype == OAR_DTYPE_F32 ? 5e-7
                                   : dtype == OAR_DTYPE_F16 ? 2e-3
                                                            : 2e-2;
            for (int64_t i = 0; i < n; ++i) {
              const double slope = g.get(i) + decay * p0.get(i);
              const double v = has_momentum ? beta * m0.get(i) + slope : slope;
              const double step = has_momentum && nesterov ? slope + beta * v : v;
              ASSERT_NEAR(p.get(i), p0.get(i) - rate * step, epsilon);
              ASSERT_NEAR(m.get(i), has_momentum ? v : m0.get(i), 2 * epsilon);
            }
          }
}

TEST(SimdUpdate, SgdReadsItsRateOnTheHostAndRefusesGaps) {
  EXPECT_EQ(plugin().find("sgd_update")->host_inputs, OAR_BIT(3));
  const Array p = Array(OAR_DTYPE_F32, {4, 4}).random(1), gaps = Array(OAR_DTYPE_F32, {4, 4}, {1, 4}).random(1);
  const Outcome outcome = plugin().call(
      {.op = "sgd_update", .inputs = {p, gaps, p, Array(OAR_DTYPE_F64, {})}, .out = p, .has_output = false});
  EXPECT_EQ(outcome.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(outcome.operand, 1);
}

TEST(SimdUpdate, AssignWritesAnyStrides) {
  for (uint32_t dtype : {OAR_DTYPE_U8, OAR_DTYPE_BF16, OAR_DTYPE_F32, OAR_DTYPE_C64}) {
    const Array value = Array(dtype, {30, 50});
    const int64_t size = oar_kit_dtype_bytes(dtype);
    for (int64_t i = 0; i < 1500 * size; ++i)
      static_cast<unsigned char*>(value.data())[i] = static_cast<unsigned char>(i * 31 % 251);
    const Array target(dtype, {30, 50}, {1, 30});
    ASSERT_EQ(plugin().call({.op = "assign", .inputs = {target, value}, .out = value, .has_output = false}).status,
              OAR_OK);
    for (int64_t i = 0; i < 1500; ++i)
      ASSERT_EQ(std::memcmp(static_cast<char*>(target.data()) + target.offset(i) * size,
                            static_cast<char*>(value.data()) + i * size, size),
                0)
          << i;
  }
}

}  // namespace
}  // namespace oarlock::test
