#include <oarlock/nn/activation.h>

#include <oarlock/base/operators.h>

#include "api/src/nn/made.h"

namespace oarlock::nn {

Tensor ReLU::forward(const Tensor& x) { return relu(x); }
Tensor ReLU6::forward(const Tensor& x) { return relu6(x); }
Tensor Sigmoid::forward(const Tensor& x) { return sigmoid(x); }
Tensor LogSigmoid::forward(const Tensor& x) { return log_sigmoid(x); }
Tensor Tanh::forward(const Tensor& x) { return tanh(x); }
Tensor Silu::forward(const Tensor& x) { return silu(x); }
Tensor Swish::forward(const Tensor& x) { return silu(x); }
Tensor Mish::forward(const Tensor& x) { return mish(x); }
Tensor Hardswish::forward(const Tensor& x) { return hard_swish(x); }
Tensor Softsign::forward(const Tensor& x) { return softsign(x); }
Tensor Tanhshrink::forward(const Tensor& x) { return x - tanh(x); }

Tensor LeakyReLU::forward(const Tensor& x) { return leaky_relu(x, negative_slope_); }
std::string LeakyReLU::extra_repr() const { return "negative_slope=" + number_text(negative_slope_); }
Tensor ELU::forward(const Tensor& x) { return elu(x, alpha_); }
std::string ELU::extra_repr() const { return "alpha=" + number_text(alpha_); }
Tensor CELU::forward(const Tensor& x) { return celu(x, alpha_); }
std::string CELU::extra_repr() const { return "alpha=" + number_text(alpha_); }
Tensor GELU::forward(const Tensor& x) { return gelu(x, approximate_ ? "tanh" : "none"); }
std::string GELU::extra_repr() const { return std::string("approximate=") + (approximate_ ? "True" : "False"); }
Tensor Softplus::forward(const Tensor& x) { return softplus(x, beta_); }
std::string Softplus::extra_repr() const { return "beta=" + number_text(beta_); }
Tensor Softshrink::forward(const Tensor& x) { return shrink(x, threshold_, threshold_); }
std::string Softshrink::extra_repr() const { return "threshold=" + number_text(threshold_); }
Tensor Hardshrink::forward(const Tensor& x) { return shrink(x, 0, threshold_); }
std::string Hardshrink::extra_repr() const { return "threshold=" + number_text(threshold_); }
Tensor ThresholdedReLU::forward(const Tensor& x) { return thresholded_relu(x, threshold_); }
std::string ThresholdedReLU::extra_repr() const { return "threshold=" + number_text(threshold_); }
Tensor Softmax::forward(const Tensor& x) { return softmax(x, axis_); }
std::string Softmax::extra_repr() const { return "axis=" + std::to_string(axis_); }
Tensor LogSoftmax::forward(const Tensor& x) { return log_softmax(x, axis_); }
std::string LogSoftmax::extra_repr() const { return "axis=" + std::to_string(axis_); }
Tensor Hardsigmoid::forward(const Tensor& x) { return hard_sigmoid(x, slope_, offset_); }
std::string Hardsigmoid::extra_repr() const {
  return "slope=" + number_text(slope_) + ", offset=" + number_text(offset_);
}
Tensor Hardtanh::forward(const Tensor& x) { return hard_tanh(x, min_, max_); }
std::string Hardtanh::extra_repr() const { return "min=" + number_text(min_) + ", max=" + number_text(max_); }
Tensor SELU::forward(const Tensor& x) { return selu(x, alpha_, scale_); }
std::string SELU::extra_repr() const { return "scale=" + number_text(scale_) + ", alpha=" + number_text(alpha_); }

static int64_t checked(int64_t n) {
  check_positive("PReLU", "num_parameters", n);
  return n;
}
PReLU::PReLU(int64_t n, double init, ParamAttr attr)
    : weight(add_made(*this, "weight", {checked(n)}, attr, initializer::Constant{init}, false)) {}
Tensor PReLU::forward(const Tensor& x) {
  int64_t n = weight.size(0);
  if (n == 1) return prelu(x, weight);
  if (x.rank() < 2 || x.size(1) != n)
    throw Error(Code::invalid_argument, "PReLU: num_parameters is " + std::to_string(n) + ", x has shape " +
                                            oarlock::to_string(x.shape()) + ". Axis 1 has to be of that size.");
  Shape along{n};
  while (along.rank < x.rank() - 1) along.push(1);
  return prelu(x, reshape(weight, along));
}
std::string PReLU::extra_repr() const { return "num_parameters=" + std::to_string(weight.size(0)); }

}  // namespace oarlock::nn
