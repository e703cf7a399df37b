// The optimisers' steps against their formulas in double.
#include "harness.h"

namespace oarlock::test {
namespace {

struct Layout {
  Dims shape, own, gradient;
};
// Dense alike, dense with a transposed gradient, and weights with channels innermost.
const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {{{7}, {1}, {1}},
                                          {{40, 70}, {70, 1}, {1, 40}},
                                          {{5, 3, 2, 2}, {12, 1, 6, 3}, {12, 4, 2, 1}},
                                          {{200, 300}, {300, 1}, {0, 1}}};
  return all;
}
double epsilon_of(uint32_t dtype) { return dtype == OAR_DTYPE_F32 ? 2e-6 : 1e-14; }
Array scalar(double value) {
  return Array(OAR_DTYPE_F64, {}).fill([&](int64_t) { return value; });
}
Array whole(int64_t value) {
  Array a(OAR_DTYPE_I64, {});
  oar_kit_store_int(a.data(), OAR_DTYPE_I64, 0, static_cast<uint64_t>(value));
  return a;
}

TEST(SimdOptimise, Adam) {
  const double beta1 = 0.8, beta2 = 0.95, epsilon = 1e-4, rate = 0.01;
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64})
    for (const Layout& l : layouts())
      for (bool decoupled : {false, true})
        for (double decay : {0.0, 0.1})
          for (bool greatest : {false, true}) {
            auto make = [&](unsigned seed, double low) { return Array(dtype, l.shape, l.own).random(seed, low, 1); };
            const Array p = make(1, -1), m = make(3, -1), v = make(4, 0), most = make(5, 0);
            const Array p0 = make(1, -1), m0 = make(3, -1), v0 = make(4, 0), most0 = make(5, 0);
            const Array g = Array(dtype, l.shape, l.gradient).random(2);
            Invocation call = {.op = decoupled ? "adamw_update" : "adam_update",
                               .inputs = {p, g, m, v, most, scalar(rate), whole(3)},
                               .out = p,
                               .attrs = {attr_float(beta1), attr_float(beta2), attr_float(epsilon), attr_float(decay)},
                               .has_output = false};
            if (!greatest) call.absent = {4};
            const Outcome outcome = plugin().call(call);
            ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
            for (int64_t i = 0; i < p.count(); ++i) {
              const double start = decoupled ? p0.get(i) * (1 - rate * decay) : p0.get(i);
              const double slope = g.get(i) + (decoupled ? 0 : decay * p0.get(i));
              const double first = beta1 * m0.get(i) + (1 - beta1) * slope;
              const double second = beta2 * v0.get(i) + (1 - beta2) * slope * slope;
              const double top = greatest ? std::max(second, most0.get(i)) : second;
              const double size = std::sqrt(top / (1 - beta2 * beta2 * beta2)) + epsilon;
              const double want = start - rate * first / (1 - beta1 * beta1 * beta1) / size;
              ASSERT_NEAR(m.get(i), first, epsilon_of(dtype));
              ASSERT_NEAR(v.get(i), second, epsilon_of(dtype));
              ASSERT_NEAR(most.get(i), greatest ? top : most0.get(i), epsilon_of(dtype));
              ASSERT_NEAR(p.get(i), want, epsilon_of(dtype) * (1 + std::abs(want))) << i;
            }
          }
}

TEST(SimdOptimise, RmspropAndAdagrad) {
  const double alpha = 0.9, epsilon = 1e-4, rate = 0.01, beta = 0.7;
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_F64})
    for (const Layout& l : layouts())
      for (double decay : {0.0, 0.1})
        for (int optional = 0; optional < 5; ++optional) {  // 4: Adagrad
          auto make = [&](unsigned seed, double low, double high) {
            return Array(dtype, l.shape, l.own).random(seed, low, high);
          };
          const bool adagrad = optional == 4, centred = optional & 1 && !adagrad, pushes = optional & 2 && !adagrad;
          const Array p = make(1, -1, 1), s = make(3, 1, 2), mean = make(4, -0.1, 0.1), momentum = make(5, -1, 1);
          const Array p0 = make(1, -1, 1), s0 = make(3, 1, 2), mean0 = make(4, -0.1, 0.1), momentum0 = make(5, -1, 1);
          const Array g = Array(dtype, l.shape, l.gradient).random(2);
          Invocation call = {.op = "rmsprop_update",
                             .inputs = {p, g, s, mean, momentum, scalar(rate)},
                             .out = p,
                             .attrs = {attr_float(alpha), attr_float(epsilon), attr_float(decay), attr_float(beta)},
                             .has_output = false};
          if (!centred) call.absent.insert(3);
          if (!pushes) call.absent.insert(4);
          if (adagrad) {
            call.op = "adagrad_update";
            call.inputs = {p, g, s, scalar(rate)};
            call.attrs = {attr_float(epsilon), attr_float(decay)};
            call.absent = {};
          }
          const Outcome outcome = plugin().call(call);
          ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
          for (int64_t i = 0; i < p.count(); ++i) {
            const double slope = g.get(i) + decay * p0.get(i);
            const double square = adagrad ? s0.get(i) + slope * slope : alpha * s0.get(i) + (1 - alpha) * slope * slope;
            const double middle = alpha * mean0.get(i) + (1 - alpha) * slope;
            double move = slope / (std::sqrt(centred ? square - middle * middle : square) + epsilon);
            if (pushes) move += beta * momentum0.get(i);
            ASSERT_NEAR(s.get(i), square, 2 * epsilon_of(dtype));
            ASSERT_NEAR(mean.get(i), centred ? middle : mean0.get(i), epsilon_of(dtype));
            ASSERT_NEAR(momentum.get(i), pushes ? move : momentum0.get(i), 2 * epsilon_of(dtype));
            ASSERT_NEAR(p.get(i), p0.get(i) - rate * move, epsilon_of(dtype)) << i;
          }
        }
}

TEST(SimdOptimise, RefusesWhatItWouldMix) {
  EXPECT_EQ(plugin().find("adam_update")->host_inputs, OAR_BIT(5) | OAR_BIT(6));
  const Array p = Array(OAR_DTYPE_F32, {4, 4}).random(1), other = Array(OAR_DTYPE_F32, {4, 4}, {1, 4}).random(1);
  const Array gaps = Array(OAR_DTYPE_F32, {4, 4}, {8, 2}).random(1), wide = Array(OAR_DTYPE_F64, {4, 4}).random(1);
  auto call = [&](const Array& parameter, const Array& sum) {
    return plugin().call(
        {.op = "adagrad_update", .inputs = {parameter, p, sum, scalar(1)}, .out = p, .has_output = false});
  };
  EXPECT_EQ(call(p, other).reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(call(p, other).operand, 2);
  EXPECT_EQ(call(gaps, gaps).reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(call(p, wide).reason, OAR_REASON_DTYPE);
  EXPECT_EQ(call(other, other).status, OAR_OK);
}

}  // namespace
}  // namespace oarlock::test
