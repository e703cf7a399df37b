// First values of parameters. Each makes a tensor on the host from a shape, a dtype and a generator; a function of your own
// with that signature will do as well.
//
// fan_in and fan_out of weights laid out [out, in, ...kernel], as all of nn are: in and out times the kernel's elements.
#pragma once
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <oarlock/base/tensor.h>
#include <oarlock/random.h>

namespace oarlock::nn {

using Initializer = std::function<Tensor(const Shape& shape, DType dtype, Generator& generator)>;

namespace initializer {

struct OAR_EXPORT Constant {
  double value = 0;
  Tensor operator()(const Shape& shape, DType dtype, Generator&) const;
};
// A copy of this tensor, whose shape has to be the parameter's.
struct OAR_EXPORT Assign {
  Tensor value;
  Tensor operator()(const Shape& shape, DType dtype, Generator&) const;
};
struct OAR_EXPORT Uniform {  // [low, high)
  double low = -1, high = 1;
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
// Box and Muller 1958, A note on the generation of random normal deviates, computed in f64.
struct OAR_EXPORT Normal {
  double mean = 0, std = 1;
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
// Normal numbers, those outside of mean + std * [a, b] drawn anew, by inverting the distribution function.
struct OAR_EXPORT TruncatedNormal {
  double mean = 0, std = 1, a = -2, b = 2;
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
// Glorot and Bengio 2010, Understanding the difficulty of training deep feedforward neural networks. A fan of 0: from the
// shape.
struct OAR_EXPORT XavierUniform {
  double fan_in = 0, fan_out = 0, gain = 1;
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
struct OAR_EXPORT XavierNormal {
  double fan_in = 0, fan_out = 0, gain = 1;
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
// He et al. 2015, Delving deep into rectifiers. negative_slope and nonlinearity give the gain; see calculate_gain.
struct OAR_EXPORT KaimingUniform {
  double fan_in = 0, negative_slope = 0;
  std::string_view nonlinearity = "relu";
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
struct OAR_EXPORT KaimingNormal {
  double fan_in = 0, negative_slope = 0;
  std::string_view nonlinearity = "relu";
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};
// Rows (or columns, whichever are fewer) of the matrix [shape[0], rest] are orthonormal, times gain. Saxe et al. 2013, Exact
// solutions to the nonlinear dynamics of learning in deep linear neural networks.
struct OAR_EXPORT Orthogonal {
  double gain = 1;
  Tensor operator()(const Shape& shape, DType dtype, Generator& generator) const;
};

// "linear", "conv1d", ..., "sigmoid": 1; "tanh": 5/3; "relu": sqrt(2); "leaky_relu": sqrt(2 / (1 + param^2)); "selu": 3/4.
OAR_EXPORT double calculate_gain(std::string_view nonlinearity, double param = 0.01);

}  // namespace initializer

// How a layer makes one of its parameters: weight_attr and bias_attr of paddle.nn.
//   nn::Linear(8, 4, {}, false)                                  no bias
//   nn::Linear(8, 4, nn::initializer::XavierNormal{})            another first value
struct ParamAttr {
  Initializer initializer;  // empty: the layer's own choice, that of torch.nn
  bool trainable = true;
  bool present = true;

  ParamAttr() = default;
  ParamAttr(bool given) : present(given) {}
  template <class F>
  requires(!std::is_arithmetic_v<F> && std::is_invocable_r_v<Tensor, F&, const Shape&, DType, Generator&>)
      ParamAttr(F f)
      : initializer(std::move(f)) {}
};

}  // namespace oarlock::nn
