// Activations and normalisations.
#include <oarlock/nn/activation.h>
#include <oarlock/nn/norm.h>

#include "bind.h"
#include "nn.h"

namespace oarlock::python {
namespace {
using nb::arg;

template <class L>
void plain(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc).def("__init__", [](nb::pointer_and_handle<L> self) { make_layer<L>(self); });
}
template <class L, class T>
void of(nb::module_& m, const char* name, const char* argument, T otherwise, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__", [](nb::pointer_and_handle<L> self, T value) { make_layer<L>(self, value); },
          arg(argument) = otherwise);
}
template <class L>
void of_two(nb::module_& m, const char* name, const char* first, double a, const char* second, double b,
            const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__", [](nb::pointer_and_handle<L> self, double x, double y) { make_layer<L>(self, x, y); },
          arg(first) = a, arg(second) = b);
}
template <class L>
void instance_norm(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [](nb::pointer_and_handle<L> self, int64_t features, double epsilon, nb::handle weight_attr,
             nb::handle bias_attr) {
            make_layer<L>(self, features, nn::NormOptions{epsilon, attr_from(weight_attr), attr_from(bias_attr)});
          },
          arg("num_features"), arg("epsilon") = 1e-5, arg("weight_attr") = nb::none(), arg("bias_attr") = nb::none());
}

}  // namespace

void bind_activations(nb::module_& m) {
  plain<nn::ReLU>(m, "ReLU", "ReLU()\n\nmax(x, 0).");
  plain<nn::ReLU6>(m, "ReLU6", "ReLU6()\n\nmin(max(x, 0), 6).");
  plain<nn::Sigmoid>(m, "Sigmoid", "Sigmoid()\n\n1 / (1 + exp(-x)).");
  plain<nn::LogSigmoid>(m, "LogSigmoid", "LogSigmoid()\n\nThe logarithm of the sigmoid.");
  plain<nn::Tanh>(m, "Tanh", "Tanh()\n\nThe hyperbolic tangent.");
  plain<nn::Silu>(m, "Silu", "Silu()\n\nx * sigmoid(x).");
  plain<nn::Swish>(m, "Swish", "Swish()\n\nx * sigmoid(x).");
  plain<nn::Mish>(m, "Mish", "Mish()\n\nx * tanh(softplus(x)).");
  plain<nn::Hardswish>(m, "Hardswish", "Hardswish()\n\nx * min(max(x + 3, 0), 6) / 6.");
  plain<nn::Softsign>(m, "Softsign", "Softsign()\n\nx / (1 + |x|).");
  plain<nn::Tanhshrink>(m, "Tanhshrink", "Tanhshrink()\n\nx - tanh(x).");
  of<nn::LeakyReLU>(m, "LeakyReLU", "negative_slope", 0.01,
                    "LeakyReLU(negative_slope=0.01)\n\nx above 0, x * negative_slope below.");
  of<nn::ELU>(m, "ELU", "alpha", 1.0, "ELU(alpha=1)\n\nx above 0, alpha * (exp(x) - 1) below.");
  of<nn::CELU>(m, "CELU", "alpha", 1.0, "CELU(alpha=1)\n\nx above 0, alpha * (exp(x / alpha) - 1) below.");
  of<nn::GELU>(m, "GELU", "approximate", false,
               "GELU(approximate=False)\n\nx times the normal distribution function; approximate: by tanh.");
  of<nn::Softplus>(m, "Softplus", "beta", 1.0, "Softplus(beta=1)\n\nlog(1 + exp(beta x)) / beta.");
  of<nn::Softshrink>(m, "Softshrink", "threshold", 0.5,
                     "Softshrink(threshold=0.5)\n\nx less or plus threshold outside of it, 0 within.");
  of<nn::Hardshrink>(m, "Hardshrink", "threshold", 0.5,
                     "Hardshrink(threshold=0.5)\n\nx outside of threshold, 0 within.");
  of<nn::ThresholdedReLU>(m, "ThresholdedReLU", "threshold", 1.0,
                          "ThresholdedReLU(threshold=1)\n\nx above threshold, else 0.");
  of<nn::Softmax>(m, "Softmax", "axis", -1, "Softmax(axis=-1)\n\nexp(x) over its sum along an axis.");
  of<nn::LogSoftmax>(m, "LogSoftmax", "axis", -1, "LogSoftmax(axis=-1)\n\nThe logarithm of softmax.");
  of_two<nn::Hardsigmoid>(m, "Hardsigmoid", "slope", 1.0 / 6, "offset", 0.5,
                          "Hardsigmoid(slope=1/6, offset=0.5)\n\nslope * x + offset, cut to 0 and 1.");
  of_two<nn::Hardtanh>(m, "Hardtanh", "min", -1, "max", 1, "Hardtanh(min=-1, max=1)\n\nx cut to min and max.");
  of_two<nn::SELU>(m, "SELU", "scale", 1.0507009873554805, "alpha", 1.6732632423543772,
                   "SELU()\n\nThe self-normalising unit.");
  layer_class<nn::PReLU>(m, "PReLU",
                         "PReLU(num_parameters=1, init=0.25)\n\nx where it is positive, else a learned weight times x.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::PReLU> self, int64_t n, double init, nb::handle weight_attr) {
            make_layer<nn::PReLU>(self, n, init, attr_from(weight_attr));
          },
          arg("num_parameters") = 1, arg("init") = 0.25, arg("weight_attr") = nb::none());

  layer_class<nn::LayerNorm>(m, "LayerNorm",
                             "LayerNorm(normalized_shape, epsilon=1e-5)\n\nOver the last axes, of these sizes.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::LayerNorm> self, nb::handle shape, double epsilon, nb::handle weight_attr,
             nb::handle bias_attr) {
            make_layer<nn::LayerNorm>(self, sizes_from(shape, "LayerNorm", "normalized_shape"),
                                      nn::NormOptions{epsilon, attr_from(weight_attr), attr_from(bias_attr)});
          },
          arg("normalized_shape"), arg("epsilon") = 1e-5, arg("weight_attr") = nb::none(),
          arg("bias_attr") = nb::none());
  layer_class<nn::RMSNorm>(
      m, "RMSNorm", "RMSNorm(normalized_shape, epsilon=1e-5)\n\nx over the root of its mean square, times weight.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::RMSNorm> self, nb::handle shape, double epsilon, nb::handle weight_attr) {
            make_layer<nn::RMSNorm>(self, sizes_from(shape, "RMSNorm", "normalized_shape"), epsilon,
                                    attr_from(weight_attr));
          },
          arg("normalized_shape"), arg("epsilon") = 1e-5, arg("weight_attr") = nb::none());
  layer_class<nn::GroupNorm>(m, "GroupNorm",
                             "GroupNorm(num_groups, num_channels, epsilon=1e-5)\n\nOver the channels of each group.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::GroupNorm> self, int64_t groups, int64_t channels, double epsilon,
             nb::handle weight_attr, nb::handle bias_attr) {
            make_layer<nn::GroupNorm>(self, groups, channels,
                                      nn::NormOptions{epsilon, attr_from(weight_attr), attr_from(bias_attr)});
          },
          arg("num_groups"), arg("num_channels"), arg("epsilon") = 1e-5, arg("weight_attr") = nb::none(),
          arg("bias_attr") = nb::none());
  instance_norm<nn::InstanceNorm1D>(
      m, "InstanceNorm1D", "InstanceNorm1D(num_features, epsilon=1e-5)\n\nOf x [N, C, L], each channel by itself.");
  instance_norm<nn::InstanceNorm2D>(
      m, "InstanceNorm2D", "InstanceNorm2D(num_features, epsilon=1e-5)\n\nOf x [N, C, H, W], each channel by itself.");
  instance_norm<nn::InstanceNorm3D>(
      m, "InstanceNorm3D",
      "InstanceNorm3D(num_features, epsilon=1e-5)\n\nOf x [N, C, D, H, W], each channel by itself.");
}

}  // namespace oarlock::python
