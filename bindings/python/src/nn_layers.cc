// The built-in layers, with paddle.nn's names and arguments.
#include <nanobind/stl/optional.h>

#include <oarlock/nn/conv.h>
#include <oarlock/nn/linear.h>
#include <oarlock/nn/norm.h>
#include <oarlock/nn/padding.h>
#include <oarlock/nn/pooling.h>
#include <oarlock/nn/upsample.h>

#include "nn.h"

namespace oarlock::python {
namespace {
using nb::arg;

// torch's bias=False beside paddle's bias_attr=False.
nn::ParamAttr bias_from(nb::handle attr, bool bias) { return bias ? attr_from(attr) : nn::ParamAttr(false); }

// None: none.
template <class T>
std::vector<T> one_or_more(nb::handle o, const char* what) {
  if (o.is_none()) return {};
  T one;
  if (nb::try_cast(o, one)) return {one};
  std::vector<T> many;
  if (nb::try_cast(o, many)) return many;
  throw nb::type_error((std::string("Upsample: ") + what + " is no number and no sequence of numbers.").c_str());
}

template <class L>
void bind_conv(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [name](nb::pointer_and_handle<L> self, int64_t in, int64_t out, nb::handle kernel, nb::handle stride,
                 nb::handle padding, nb::handle dilation, int64_t groups, std::string mode, nb::handle weight_attr,
                 nb::handle bias_attr, bool bias) {
            make_layer<L>(self, in, out, sizes_from(kernel, name, "kernel_size"),
                          nn::ConvOptions{sizes_from(stride, name, "stride"), padding_from(padding, name),
                                          sizes_from(dilation, name, "dilation"), groups, std::move(mode),
                                          attr_from(weight_attr), bias_from(bias_attr, bias)});
          },
          arg("in_channels"), arg("out_channels"), arg("kernel_size"), arg("stride") = 1, arg("padding") = 0,
          arg("dilation") = 1, arg("groups") = 1, arg("padding_mode") = "zeros", arg("weight_attr") = nb::none(),
          arg("bias_attr") = nb::none(), arg("bias") = true);
}
template <class L>
void bind_conv_transpose(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [name](nb::pointer_and_handle<L> self, int64_t in, int64_t out, nb::handle kernel, nb::handle stride,
                 nb::handle padding, nb::handle output_padding, int64_t groups, nb::handle dilation,
                 nb::handle weight_attr, nb::handle bias_attr, bool bias) {
            make_layer<L>(self, in, out, sizes_from(kernel, name, "kernel_size"),
                          nn::ConvTransposeOptions{sizes_from(stride, name, "stride"), padding_from(padding, name),
                                                   sizes_from(output_padding, name, "output_padding"), groups,
                                                   sizes_from(dilation, name, "dilation"), attr_from(weight_attr),
                                                   bias_from(bias_attr, bias)});
          },
          arg("in_channels"), arg("out_channels"), arg("kernel_size"), arg("stride") = 1, arg("padding") = 0,
          arg("output_padding") = 0, arg("groups") = 1, arg("dilation") = 1, arg("weight_attr") = nb::none(),
          arg("bias_attr") = nb::none(), arg("bias") = true);
}
template <class L>
void bind_pool(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [name](nb::pointer_and_handle<L> self, nb::handle kernel, nb::handle stride, nb::handle padding,
                 bool ceil_mode, bool exclusive, nb::handle dilation) {
            nn::PoolOptions o{
                {}, padding_from(padding, name), ceil_mode, exclusive, sizes_from(dilation, name, "dilation")};
            if (!stride.is_none()) o.stride = sizes_from(stride, name, "stride");
            make_layer<L>(self, sizes_from(kernel, name, "kernel_size"), o);
          },
          arg("kernel_size"), arg("stride") = nb::none(), arg("padding") = 0, arg("ceil_mode") = false,
          arg("exclusive") = true, arg("dilation") = 1);
}
template <class L>
void bind_adaptive(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [name](nb::pointer_and_handle<L> self, nb::handle size) {
            make_layer<L>(self, sizes_from(size, name, "output_size"));
          },
          arg("output_size"));
}
template <class L>
void bind_batch_norm(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [](nb::pointer_and_handle<L> self, int64_t features, double momentum, double epsilon, nb::handle weight_attr,
             nb::handle bias_attr, bool use_global_stats) {
            make_layer<L>(self, features,
                          nn::BatchNormOptions{momentum, epsilon, attr_from(weight_attr), attr_from(bias_attr),
                                               use_global_stats});
          },
          arg("num_features"), arg("momentum") = 0.9, arg("epsilon") = 1e-5, arg("weight_attr") = nb::none(),
          arg("bias_attr") = nb::none(), arg("use_global_stats") = false);
}
template <class L>
void bind_pad(nb::module_& m, const char* name, const char* doc) {
  layer_class<L>(m, name, doc)
      .def(
          "__init__",
          [name](nb::pointer_and_handle<L> self, nb::handle padding, std::string mode, double value) {
            make_layer<L>(self, sizes_from(padding, name, "padding"), mode, value);
          },
          arg("padding"), arg("mode") = "constant", arg("value") = 0.0);
}

}  // namespace

nn::Sizes sizes_from(nb::handle o, const char* where, const char* what) {
  std::vector<int64_t> list;
  integers_from(o.ptr(), list, where, what);
  return nn::Sizes(std::move(list));
}
nn::Padding padding_from(nb::handle o, const char* where) {
  if (nb::isinstance<nb::str>(o)) {
    std::string mode = nb::cast<std::string>(o);
    for (char& c : mode) c = char(std::tolower(c));  // paddle writes "SAME"
    return nn::Padding(mode);
  }
  std::vector<int64_t> list;
  integers_from(o.ptr(), list, where, "padding");
  return nn::Padding(std::move(list));
}

void bind_layers(nb::module_& m) {
  layer_class<nn::Linear>(m, "Linear",
                          "Linear(in_features, out_features, weight_attr=None, bias_attr=None)\n\nx [..., in] -> x "
                          "weight^T + bias [..., out].")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Linear> self, int64_t in, int64_t out, nb::handle weight_attr,
             nb::handle bias_attr,
             bool bias) { make_layer<nn::Linear>(self, in, out, attr_from(weight_attr), bias_from(bias_attr, bias)); },
          arg("in_features"), arg("out_features"), arg("weight_attr") = nb::none(), arg("bias_attr") = nb::none(),
          arg("bias") = true);
  layer_class<nn::Embedding>(m, "Embedding",
                             "Embedding(num_embeddings, embedding_dim, padding_idx=None)\n\nRows of its weight by "
                             "index: [*] -> [*, embedding_dim].")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Embedding> self, int64_t count, int64_t width, std::optional<int64_t> padding,
             nb::handle weight_attr) {
            make_layer<nn::Embedding>(self, count, width, padding, attr_from(weight_attr));
          },
          arg("num_embeddings"), arg("embedding_dim"), arg("padding_idx") = nb::none(),
          arg("weight_attr") = nb::none());
  layer_class<nn::Identity>(m, "Identity", "Identity()\n\nx itself.")
      .def("__init__", [](nb::pointer_and_handle<nn::Identity> self) { make_layer<nn::Identity>(self); });
  layer_class<nn::Flatten>(m, "Flatten",
                           "Flatten(start_axis=1, stop_axis=-1)\n\nAxes start_axis to stop_axis become one.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Flatten> self, int start, int stop) {
            make_layer<nn::Flatten>(self, start, stop);
          },
          arg("start_axis") = 1, arg("stop_axis") = -1);
  layer_class<nn::Unflatten>(m, "Unflatten", "Unflatten(axis, shape)\n\nAn axis becomes several of that shape.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Unflatten> self, int axis, std::vector<int64_t> shape) {
            make_layer<nn::Unflatten>(self, axis, std::move(shape));
          },
          arg("axis"), arg("shape"));
  layer_class<nn::Dropout>(
      m, "Dropout",
      "Dropout(p=0.5)\n\nSets elements to 0 with probability p while training, and divides the others by 1 - p.")
      .def(
          "__init__", [](nb::pointer_and_handle<nn::Dropout> self, double p) { make_layer<nn::Dropout>(self, p); },
          arg("p") = 0.5);
  layer_class<nn::Dropout2D, nn::Dropout>(m, "Dropout2D", "Dropout2D(p=0.5)\n\nDropout of whole channels.")
      .def(
          "__init__", [](nb::pointer_and_handle<nn::Dropout2D> self, double p) { make_layer<nn::Dropout2D>(self, p); },
          arg("p") = 0.5);

  bind_conv<nn::Conv1D>(
      m, "Conv1D", "Conv1D(in_channels, out_channels, kernel_size, stride=1, ...)\n\nConvolution of x [N, in, L].");
  bind_conv<nn::Conv2D>(
      m, "Conv2D", "Conv2D(in_channels, out_channels, kernel_size, stride=1, ...)\n\nConvolution of x [N, in, H, W].");
  bind_conv<nn::Conv3D>(
      m, "Conv3D",
      "Conv3D(in_channels, out_channels, kernel_size, stride=1, ...)\n\nConvolution of x [N, in, D, H, W].");
  bind_conv_transpose<nn::Conv1DTranspose>(m, "Conv1DTranspose",
                                           "Conv1DTranspose(in_channels, out_channels, kernel_size, ...)\n\nThe "
                                           "transpose of a convolution of x [N, in, L].");
  bind_conv_transpose<nn::Conv2DTranspose>(m, "Conv2DTranspose",
                                           "Conv2DTranspose(in_channels, out_channels, kernel_size, ...)\n\nThe "
                                           "transpose of a convolution of x [N, in, H, W].");
  bind_conv_transpose<nn::Conv3DTranspose>(m, "Conv3DTranspose",
                                           "Conv3DTranspose(in_channels, out_channels, kernel_size, ...)\n\nThe "
                                           "transpose of a convolution of x [N, in, D, H, W].");
  bind_pool<nn::MaxPool1D>(m, "MaxPool1D",
                           "MaxPool1D(kernel_size, stride=None, ...)\n\nMaxima of windows of x [N, C, L].");
  bind_pool<nn::MaxPool2D>(m, "MaxPool2D",
                           "MaxPool2D(kernel_size, stride=None, ...)\n\nMaxima of windows of x [N, C, H, W].");
  bind_pool<nn::MaxPool3D>(m, "MaxPool3D",
                           "MaxPool3D(kernel_size, stride=None, ...)\n\nMaxima of windows of x [N, C, D, H, W].");
  bind_pool<nn::AvgPool1D>(m, "AvgPool1D",
                           "AvgPool1D(kernel_size, stride=None, ...)\n\nMeans of windows of x [N, C, L].");
  bind_pool<nn::AvgPool2D>(m, "AvgPool2D",
                           "AvgPool2D(kernel_size, stride=None, ...)\n\nMeans of windows of x [N, C, H, W].");
  bind_pool<nn::AvgPool3D>(m, "AvgPool3D",
                           "AvgPool3D(kernel_size, stride=None, ...)\n\nMeans of windows of x [N, C, D, H, W].");
  bind_adaptive<nn::AdaptiveAvgPool1D>(m, "AdaptiveAvgPool1D", "AdaptiveAvgPool1D(output_size)\n\nMeans, to a size.");
  bind_adaptive<nn::AdaptiveAvgPool2D>(m, "AdaptiveAvgPool2D", "AdaptiveAvgPool2D(output_size)\n\nMeans, to a size.");
  bind_adaptive<nn::AdaptiveAvgPool3D>(m, "AdaptiveAvgPool3D", "AdaptiveAvgPool3D(output_size)\n\nMeans, to a size.");
  bind_adaptive<nn::AdaptiveMaxPool1D>(m, "AdaptiveMaxPool1D", "AdaptiveMaxPool1D(output_size)\n\nMaxima, to a size.");
  bind_adaptive<nn::AdaptiveMaxPool2D>(m, "AdaptiveMaxPool2D", "AdaptiveMaxPool2D(output_size)\n\nMaxima, to a size.");
  bind_adaptive<nn::AdaptiveMaxPool3D>(m, "AdaptiveMaxPool3D", "AdaptiveMaxPool3D(output_size)\n\nMaxima, to a size.");
  bind_batch_norm<nn::BatchNorm1D>(
      m, "BatchNorm1D", "BatchNorm1D(num_features, momentum=0.9, epsilon=1e-5, ...)\n\nOf x [N, C] or [N, C, L].");
  bind_batch_norm<nn::BatchNorm2D>(m, "BatchNorm2D",
                                   "BatchNorm2D(num_features, momentum=0.9, epsilon=1e-5, ...)\n\nOf x [N, C, H, W].");
  bind_batch_norm<nn::BatchNorm3D>(
      m, "BatchNorm3D", "BatchNorm3D(num_features, momentum=0.9, epsilon=1e-5, ...)\n\nOf x [N, C, D, H, W].");
  bind_pad<nn::Pad1D>(m, "Pad1D", "Pad1D(padding, mode='constant', value=0)\n\nElements around the last axis.");
  bind_pad<nn::Pad2D>(m, "Pad2D", "Pad2D(padding, mode='constant', value=0)\n\nElements around the last two axes.");
  bind_pad<nn::Pad3D>(m, "Pad3D", "Pad3D(padding, mode='constant', value=0)\n\nElements around the last three axes.");
  layer_class<nn::ZeroPad2D>(m, "ZeroPad2D", "ZeroPad2D(padding)\n\nZeros around the last two axes.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::ZeroPad2D> self, nb::handle padding) {
            make_layer<nn::ZeroPad2D>(self, sizes_from(padding, "ZeroPad2D", "padding"));
          },
          arg("padding"));
  layer_class<nn::Upsample>(
      m, "Upsample",
      "Upsample(size=None, scale_factor=None, mode='nearest', align_corners=False)\n\nx [N, C, ...] of "
      "another size; mode: nearest, linear, bilinear, trilinear or bicubic.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Upsample> self, nb::handle size, nb::handle scale_factor, std::string mode,
             bool align_corners) {
            make_layer<nn::Upsample>(self, nn::UpsampleOptions{one_or_more<int64_t>(size, "size"),
                                                               one_or_more<double>(scale_factor, "scale_factor"),
                                                               std::move(mode), align_corners});
          },
          arg("size") = nb::none(), arg("scale_factor") = nb::none(), arg("mode") = "nearest",
          arg("align_corners") = false);
}

}  // namespace oarlock::python
