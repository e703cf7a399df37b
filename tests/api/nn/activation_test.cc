#include <oarlock/nn/activation.h>

#include "api/nn/ramp.h"

namespace oarlock::nn {
namespace {

// torch.nn 1.13 of {-1, 2.5, 0.5, -1.5, 2, 0}.
void expect_values(Layer&& layer, const std::vector<double>& want) {
  SCOPED_TRACE(layer.to_string());
  Tensor x = ramp({2, 3}) + ramp({2, 3});
  expect_near(layer(x), want, 1e-9);
  expect_shape(layer(x), {2, 3});
}
TEST(Activations, EqualTorch) {
  expect_values(ReLU(), {0, 2.5, 0.5, 0, 2, 0});
  expect_values(ReLU6(), {0, 2.5, 0.5, 0, 2, 0});
  expect_values(Sigmoid(), {0.2689414214, 0.92414182, 0.6224593312, 0.1824255238, 0.880797078, 0.5});
  expect_values(LogSigmoid(), {-1.313261688, -0.07888973429, -0.4740769842, -1.701413278, -0.126928011, -0.6931471806});
  expect_values(Tanh(), {-0.761594156, 0.9866142982, 0.4621171573, -0.9051482536, 0.9640275801, 0});
  for (int i = 0; i < 2; ++i) {
    const std::vector<double> want{-0.2689414214, 2.31035455, 0.3112296656, -0.2736382857, 1.761594156, 0};
    if (i) expect_values(Swish(), want);
    else expect_values(SiLU(), want);
  }
  expect_values(Mish(), {-0.3034014614, 2.471392305, 0.3752452113, -0.2980997422, 1.94395896, 0});
  expect_values(Hardswish(), {-0.3333333333, 2.291666667, 0.2916666667, -0.375, 1.666666667, 0});
  expect_values(Softsign(), {-0.5, 0.7142857143, 0.3333333333, -0.6, 0.6666666667, 0});
  expect_values(Tanhshrink(), {-0.238405844, 1.513385702, 0.03788284274, -0.5948517464, 1.03597242, 0});
  expect_values(LeakyReLU(0.1), {-0.1, 2.5, 0.5, -0.15, 2, 0});
  expect_values(ELU(0.5), {-0.3160602794, 2.5, 0.5, -0.3884349199, 2, 0});
  expect_values(CELU(2), {-0.7869386806, 2.5, 0.5, -1.055266895, 2, 0});
  expect_values(GELU(), {-0.1586552539, 2.484475837, 0.3457312306, -0.1002108019, 1.954499736, 0});
  expect_values(GELU(true), {-0.1588080094, 2.484915734, 0.3457140098, -0.100428423, 1.954597694, 0});
  expect_values(Softplus(2), {0.06346400552, 2.503357674, 0.6566308438, 0.02429367579, 2.009074964, 0.3465735903});
  expect_values(Softshrink(0.75), {-0.25, 1.75, 0, -0.75, 1.25, 0});
  expect_values(Hardshrink(0.75), {-1, 2.5, 0, -1.5, 2, 0});
  expect_values(ThresholdedReLU(1), {0, 2.5, 0, 0, 2, 0});
  expect_values(Softmax(0), {0.6224593312, 0.6224593312, 0.6224593312, 0.3775406688, 0.3775406688, 0.3775406688});
  expect_values(LogSoftmax(), {-3.653178207, -0.1531782071, -2.153178207, -3.653178207, -0.1531782071, -2.153178207});
  expect_values(Hardsigmoid(), {0.3333333333, 0.9166666667, 0.5833333333, 0.25, 0.8333333333, 0.5});
  expect_values(Hardtanh(-0.5, 2), {-0.5, 2, 0.5, -0.5, 2, 0});
  expect_values(SELU(), {-1.111330738, 2.626752468, 0.5253504937, -1.365814353, 2.101401975, 0});
}
TEST(Activations, PreluHasAWeightForEachChannel) {
  PReLU each(3);
  expect_torch(fill(each), ramp({2, 3, 2}), {2, 3, 2},
               {0.25, 1.25, 0.25, -0.9375, 1, 0, 0.5, 0.75, -0.3125, -1.5625, 0.5, -0.125},
               {{0.25, 0.75, -0.75, 0.625, -1, 0.0625, 0.625, 0, 1.5625, -0.3125, 1, -0.125}, {1.5, -0.375, 0.25}});
  expect_near(PReLU()(Tensor::of<float>({-4, 4}, {2})), {-1, 4});
  EXPECT_ERROR(each(full({2, 4}, 1, DType::f64)), "num_parameters is 3, x has shape [2, 4]");
}
TEST(Activations, Print) {
  EXPECT_EQ(ReLU().to_string(), "ReLU()");
  EXPECT_EQ(LeakyReLU().to_string(), "LeakyReLU(negative_slope=0.01)");
  EXPECT_EQ(Hardtanh().to_string(), "Hardtanh(min=-1, max=1)");
  EXPECT_EQ(PReLU(4).to_string(), "PReLU(num_parameters=4)");
}

}  // namespace
}  // namespace oarlock::nn
