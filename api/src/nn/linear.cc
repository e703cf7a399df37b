#include <oarlock/nn/linear.h>

#include <oarlock/base/ops.h>
#include <oarlock/base/operators.h>

#include "api/src/nn/made.h"

namespace oarlock::nn {

// ---- Linear -----------------------------------------------------------------------------------------------------------
static int64_t checked(const char* layer, const char* what, int64_t n) {
  check_positive(layer, what, n);
  return n;
}
Linear::Linear(int64_t in, int64_t out, ParamAttr weight_attr, ParamAttr bias_attr)
    : weight(add_made(*this, "weight", {checked("Linear", "out_features", out), checked("Linear", "in_features", in)},
                      weight_attr, usual(double(in)), false)),
      bias(add_made(*this, "bias", {out}, bias_attr, usual(double(in)))),
      in_(in),
      out_(out) {}
Tensor Linear::forward(const Tensor& x) {
  if (x.rank() < 1 || x.size(-1) != in_)
    throw Error(Code::invalid_argument, "Linear: in_features is " + std::to_string(in_) + ", x has shape " +
                                            oarlock::to_string(x.shape()) + ". Its last size has to be in_features.");
  bool row = x.rank() == 1;
  Tensor y = matmul(row ? unsqueeze(x, {0}) : x, matrix_transpose(weight));
  if (row) y = squeeze(y, {0});
  return bias.defined() ? add(y, bias) : y;
}
std::string Linear::extra_repr() const {
  return "in_features=" + std::to_string(in_) + ", out_features=" + std::to_string(out_) +
         ", bias=" + (bias.defined() ? "True" : "False");
}
double Linear::multiply_adds(std::span<const Tensor>, std::span<const Tensor> outputs) const {
  return double(outputs[0].element_count()) * double(in_);
}

// ---- Embedding --------------------------------------------------------------------------------------------------------
Embedding::Embedding(int64_t n, int64_t width, std::optional<int64_t> padding, ParamAttr attr)
    : weight(add_made(*this, "weight",
                      {checked("Embedding", "num_embeddings", n), checked("Embedding", "embedding_dim", width)}, attr,
                      initializer::Normal{}, false)),
      count_(n),
      width_(width),
      padding_(padding ? *padding : -1) {
  if (!padding) return;
  if (*padding < -n || *padding >= n)
    throw Error(Code::invalid_argument, "Embedding: padding_idx is " + std::to_string(*padding) + ", num_embeddings " +
                                            std::to_string(n) + ". It names a row.");
  if (padding_ < 0) padding_ += n;
  assign(slice(weight.detach(), {padding_, 0}, {1, width}), full({1, width}, 0, weight.dtype()).to(weight.device()));
}
Tensor Embedding::forward(const Tensor& index) {
  return embedding(index, weight, padding_ < 0 ? std::optional<int64_t>() : padding_);
}
std::string Embedding::extra_repr() const {
  std::string text = std::to_string(count_) + ", " + std::to_string(width_);
  return padding_ < 0 ? text : text + ", padding_idx=" + std::to_string(padding_);
}

// ---- shapes -----------------------------------------------------------------------------------------------------------
static int axis_of(const char* layer, int axis, const Tensor& x) {
  int a = axis < 0 ? axis + x.rank() : axis;
  if (a < 0 || a >= x.rank())
    throw Error(Code::invalid_argument, std::string(layer) + ": axis " + std::to_string(axis) +
                                            " is out of range for shape " + oarlock::to_string(x.shape()) + ".");
  return a;
}
Tensor Flatten::forward(const Tensor& x) {
  if (x.rank() == 0) return reshape(x, {1});
  int from = axis_of("Flatten", start_, x), to = axis_of("Flatten", stop_, x);
  if (from > to)
    throw Error(Code::invalid_argument, "Flatten: start_axis " + std::to_string(start_) + " comes after stop_axis " +
                                            std::to_string(stop_) + " for shape " + oarlock::to_string(x.shape()) +
                                            ".");
  Shape s;
  Dim all = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < from || i > to) s.push(x.shape()[i]);
    else all = all * x.shape()[i];
    if (i == to) s.push(all);
  }
  return reshape(x, s);
}
std::string Flatten::extra_repr() const {
  return "start_axis=" + std::to_string(start_) + ", stop_axis=" + std::to_string(stop_);
}
Tensor Unflatten::forward(const Tensor& x) {
  int at = axis_of("Unflatten", axis_, x);
  int64_t known = 1, rest = -1;
  for (size_t i = 0; i < shape_.size(); ++i) {
    if (shape_[i] >= 0) known *= shape_[i];
    else if (rest < 0) rest = int64_t(i);
    else throw Error(Code::invalid_argument, "Unflatten: shape has two sizes of -1; one may be left open.");
  }
  int64_t n = x.size(at);
  if (rest < 0 ? known != n : known == 0 || n % known)
    throw Error(Code::invalid_argument, "Unflatten: axis " + std::to_string(axis_) + " has size " + std::to_string(n) +
                                            ", shape has " + std::to_string(known) + " elements.");
  Shape s;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != at) s.push(x.shape()[i]);
    else
      for (int64_t d : shape_) s.push(d >= 0 ? d : n / known);
  }
  return reshape(x, s);
}
std::string Unflatten::extra_repr() const {
  return "axis=" + std::to_string(axis_) + ", shape=" + oarlock::to_string(Shape(shape_));
}

// ---- dropout ----------------------------------------------------------------------------------------------------------
Dropout::Dropout(double p, Generator* generator) : p_(p), generator_(generator) {
  if (!(p >= 0 && p <= 1))
    throw Error(Code::invalid_argument, "Dropout: p is " + number_text(p) + ", a probability is from 0 to 1.");
}
Tensor Dropout::forward(const Tensor& x) {
  if (!training() || p_ == 0) return x;
  return dropout(x, (generator_ ? *generator_ : default_generator()).next(), p_);
}
std::string Dropout::extra_repr() const { return "p=" + number_text(p_); }
Tensor Dropout2D::forward(const Tensor& x) {
  if (!training() || p_ == 0) return x;
  if (x.rank() < 3)
    throw Error(Code::invalid_argument,
                "Dropout2D: x has shape " + oarlock::to_string(x.shape()) + ", wants [N, C, ...]. Use Dropout.");
  Shape channels{x.shape()[0], x.shape()[1]};
  while (channels.rank < x.rank()) channels.push(1);
  Tensor ones = full(channels, 1, x.dtype()).to(x.device());
  return multiply(x, dropout(ones, (generator_ ? *generator_ : default_generator()).next(), p_));
}

}  // namespace oarlock::nn
