// Activations as layers; each is the op of that name (oarlock/base/ops.h), element by element unless an axis is named.
#pragma once
#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>

namespace oarlock::nn {

// Name, member, argument, default. extra_repr names the arguments.
#define OAR_ACTIVATION(name)                                 \
  class OAR_EXPORT name : public Layer {                     \
   public:                                                   \
    Tensor forward(const Tensor& x) override;                \
    std::string type_name() const override { return #name; } \
  };
#define OAR_ACTIVATION_OF(name, type, argument, value)              \
  class OAR_EXPORT name : public Layer {                            \
   public:                                                          \
    explicit name(type argument = value) : argument##_(argument) {} \
    Tensor forward(const Tensor& x) override;                       \
    std::string type_name() const override { return #name; }        \
    std::string extra_repr() const override;                        \
                                                                    \
   private:                                                         \
    type argument##_;                                               \
  };
#define OAR_ACTIVATION_OF_TWO(name, first, first_value, second, second_value)                                       \
  class OAR_EXPORT name : public Layer {                                                                            \
   public:                                                                                                          \
    explicit name(double first = first_value, double second = second_value) : first##_(first), second##_(second) {} \
    Tensor forward(const Tensor& x) override;                                                                       \
    std::string type_name() const override { return #name; }                                                        \
    std::string extra_repr() const override;                                                                        \
                                                                                                                    \
   private:                                                                                                         \
    double first##_, second##_;                                                                                     \
  };

OAR_ACTIVATION(ReLU)
OAR_ACTIVATION(ReLU6)
OAR_ACTIVATION(Sigmoid)
OAR_ACTIVATION(LogSigmoid)
OAR_ACTIVATION(Tanh)
OAR_ACTIVATION(Silu)
OAR_ACTIVATION(Swish)  // another name of Silu
OAR_ACTIVATION(Mish)
OAR_ACTIVATION(Hardswish)
OAR_ACTIVATION(Softsign)
OAR_ACTIVATION(Tanhshrink)  // x - tanh(x)
OAR_ACTIVATION_OF(LeakyReLU, double, negative_slope, 0.01)
OAR_ACTIVATION_OF(ELU, double, alpha, 1)
OAR_ACTIVATION_OF(CELU, double, alpha, 1)
OAR_ACTIVATION_OF(GELU, bool, approximate, false)  // true: by tanh
OAR_ACTIVATION_OF(Softplus, double, beta, 1)
OAR_ACTIVATION_OF(Softshrink, double, threshold, 0.5)  // x less or plus threshold outside of it, 0 within
OAR_ACTIVATION_OF(Hardshrink, double, threshold, 0.5)  // x outside of threshold, 0 within
OAR_ACTIVATION_OF(ThresholdedReLU, double, threshold, 1)
OAR_ACTIVATION_OF(Softmax, int, axis, -1)
OAR_ACTIVATION_OF(LogSoftmax, int, axis, -1)
OAR_ACTIVATION_OF_TWO(Hardsigmoid, slope, 1.0 / 6, offset, 0.5)
OAR_ACTIVATION_OF_TWO(Hardtanh, min, -1, max, 1)
OAR_ACTIVATION_OF_TWO(SELU, scale, 1.0507009873554805, alpha, 1.6732632423543772)
#undef OAR_ACTIVATION
#undef OAR_ACTIVATION_OF
#undef OAR_ACTIVATION_OF_TWO
using SiLU = Silu;

// x where it is positive, else weight * x, with one weight for all or one for each of axis 1. He et al. 2015, Delving deep
// into rectifiers.
class OAR_EXPORT PReLU : public Layer {
 public:
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25, ParamAttr weight_attr = {});
  Tensor forward(const Tensor& x) override;
  std::string type_name() const override { return "PReLU"; }
  std::string extra_repr() const override;

  Tensor& weight;
};

}  // namespace oarlock::nn
