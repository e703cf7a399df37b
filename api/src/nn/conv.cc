#include <oarlock/nn/conv.h>

#include <oarlock/nn/padding.h>

#include "api/src/nn/made.h"
#include "api/src/nn/tuple.h"

namespace oarlock::nn {
namespace {

void check_groups(const char* who, int64_t in, int64_t out, int64_t groups) {
  check_positive(who, "in_channels", in);
  check_positive(who, "out_channels", out);
  check_positive(who, "groups", groups);
  if (in % groups || out % groups)
    throw Error(Code::invalid_argument, std::string(who) + ": in_channels is " + std::to_string(in) +
                                            ", out_channels " + std::to_string(out) + ", groups " +
                                            std::to_string(groups) + ". Groups have to divide both.");
}
double elements(const std::vector<int64_t>& kernel) {
  double n = 1;
  for (int64_t k : kernel) n *= double(k);
  return n;
}
Shape weight_shape(int64_t first, int64_t second, const std::vector<int64_t>& kernel) {
  Shape s{first, second};
  for (int64_t k : kernel) s.push(k);
  return s;
}
void check_channels(const char* who, const Tensor& x, int64_t in) {
  if (x.size(1) != in)
    throw Error(Code::invalid_argument, std::string(who) + ": in_channels is " + std::to_string(in) + ", x has shape " +
                                            to_string(x.shape()) + ".");
}

}  // namespace

// ---- Conv -------------------------------------------------------------------------------------------------------------
struct Conv::Plan {
  const char* name;
  int axes;
  int64_t in, out, groups;
  std::vector<int64_t> kernel, stride, dilation, padding;  // padding: as the op has it; zeros where another mode pads
  Padding::Ends ends;
  std::string mode;
};
Conv::Conv(int axes, const char* name, int64_t in, int64_t out, const Sizes& kernel, const ConvOptions& o)
    : Conv(
          name,
          [&] {
            check_groups(name, in, out, o.groups);
            Plan p{name,
                   axes,
                   in,
                   out,
                   o.groups,
                   kernel.of(axes, name, "kernel_size", 1),
                   o.stride.of(axes, name, "stride", 1),
                   o.dilation.of(axes, name, "dilation", 1),
                   {},
                   {},
                   o.padding_mode};
            if (p.mode != "zeros" && p.mode != "reflect" && p.mode != "replicate" && p.mode != "circular")
              throw Error(Code::invalid_argument, std::string(name) + ": padding_mode is \"" + p.mode +
                                                      "\"; there are zeros, reflect, replicate and circular.");
            p.ends = o.padding.ends(p.kernel, p.stride, p.dilation, name);
            if (p.mode == "zeros") p.padding = p.ends.even() ? p.ends.begin : p.ends.all();
            else p.padding = std::vector<int64_t>(size_t(axes), 0);
            return p;
          }(),
          o) {}
Conv::Conv(const char* name, Plan p, const ConvOptions& o)
    : weight(add_parameter("weight",
                           make_parameter(name, "weight", weight_shape(p.out, p.in / p.groups, p.kernel), o.weight_attr,
                                          usual(double(p.in / p.groups) * elements(p.kernel)), false),
                           o.weight_attr.trainable)),
      bias(add_parameter(
          "bias",
          make_parameter(name, "bias", {p.out}, o.bias_attr, usual(double(p.in / p.groups) * elements(p.kernel))),
          o.bias_attr.trainable)),
      plan_(std::make_shared<const Plan>(std::move(p))) {}
Tensor Conv::forward(const Tensor& x) {
  const Plan& p = *plan_;
  return batched(x, p.axes, p.name, [&](const Tensor& b) {
    check_channels(p.name, b, p.in);
    const Tensor& in = p.mode == "zeros" ? b : pad_axes(b, p.ends.begin, p.ends.end, p.mode, 0, p.name);
    return conv(in, weight, bias, p.stride, p.padding, p.dilation, p.groups);
  });
}
std::string Conv::extra_repr() const {
  const Plan& p = *plan_;
  std::string s = std::to_string(p.in) + ", " + std::to_string(p.out) + ", kernel_size=" + tuple(p.kernel) +
                  ", stride=" + tuple(p.stride);
  if (p.ends.any()) s += ", padding=" + tuple(p.ends.even() ? p.ends.begin : p.ends.all());
  if (!all_are(p.dilation, 1)) s += ", dilation=" + tuple(p.dilation);
  if (p.groups != 1) s += ", groups=" + std::to_string(p.groups);
  if (!bias.defined()) s += ", bias=False";
  if (p.mode != "zeros") s += ", padding_mode=" + p.mode;
  return s;
}
double Conv::multiply_adds(std::span<const Tensor>, std::span<const Tensor> outputs) const {
  return double(outputs[0].element_count()) * double(plan_->in / plan_->groups) * elements(plan_->kernel);
}

// ---- transposed -------------------------------------------------------------------------------------------------------
struct ConvTranspose::Plan {
  const char* name;
  int axes;
  int64_t in, out, groups;
  std::vector<int64_t> kernel, stride, dilation, extra, padding;
  Padding::Ends ends;
};
ConvTranspose::ConvTranspose(int axes, const char* name, int64_t in, int64_t out, const Sizes& kernel,
                             const ConvTransposeOptions& o)
    : ConvTranspose(
          name,
          [&] {
            check_groups(name, in, out, o.groups);
            Plan p{name,
                   axes,
                   in,
                   out,
                   o.groups,
                   kernel.of(axes, name, "kernel_size", 1),
                   o.stride.of(axes, name, "stride", 1),
                   o.dilation.of(axes, name, "dilation", 1),
                   o.output_padding.of(axes, name, "output_padding", 0),
                   {},
                   {}};
            p.ends = o.padding.ends(p.kernel, p.stride, p.dilation, name);
            p.padding = p.ends.even() ? p.ends.begin : p.ends.all();
            for (size_t i = 0; i < p.extra.size(); ++i)
              if (p.extra[i] >= std::max(p.stride[i], p.dilation[i]))
                throw Error(Code::invalid_argument,
                            std::string(name) + ": output_padding is " + std::to_string(p.extra[i]) + ", stride " +
                                std::to_string(p.stride[i]) + ", dilation " + std::to_string(p.dilation[i]) +
                                ". It has to be less than one of these.");
            return p;
          }(),
          o) {}
ConvTranspose::ConvTranspose(const char* name, Plan p, const ConvTransposeOptions& o)
    : weight(add_parameter("weight",
                           make_parameter(name, "weight", weight_shape(p.in, p.out / p.groups, p.kernel), o.weight_attr,
                                          usual(double(p.out / p.groups) * elements(p.kernel)), false),
                           o.weight_attr.trainable)),
      bias(add_parameter(
          "bias",
          make_parameter(name, "bias", {p.out}, o.bias_attr, usual(double(p.out / p.groups) * elements(p.kernel))),
          o.bias_attr.trainable)),
      plan_(std::make_shared<const Plan>(std::move(p))) {}
Tensor ConvTranspose::forward(const Tensor& x) {
  const Plan& p = *plan_;
  return batched(x, p.axes, p.name, [&](const Tensor& b) {
    check_channels(p.name, b, p.in);
    return conv_transpose(b, weight, bias, p.stride, p.padding, p.dilation, p.groups, p.extra);
  });
}
std::string ConvTranspose::extra_repr() const {
  const Plan& p = *plan_;
  std::string s = std::to_string(p.in) + ", " + std::to_string(p.out) + ", kernel_size=" + tuple(p.kernel) +
                  ", stride=" + tuple(p.stride);
  if (p.ends.any()) s += ", padding=" + tuple(p.ends.even() ? p.ends.begin : p.ends.all());
  if (!all_are(p.dilation, 1)) s += ", dilation=" + tuple(p.dilation);
  if (!all_are(p.extra, 0)) s += ", output_padding=" + tuple(p.extra);
  if (p.groups != 1) s += ", groups=" + std::to_string(p.groups);
  if (!bias.defined()) s += ", bias=False";
  return s;
}
double ConvTranspose::multiply_adds(std::span<const Tensor> inputs, std::span<const Tensor>) const {
  return double(inputs[0].element_count()) * double(plan_->out / plan_->groups) * elements(plan_->kernel);
}

}  // namespace oarlock::nn
