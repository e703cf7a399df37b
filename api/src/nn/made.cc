#include "api/src/nn/made.h"

#include <cmath>
#include <cstdio>

namespace oarlock::nn {

Tensor make_parameter(const std::string& layer, const char* name, const Shape& shape, const ParamAttr& attr,
                      const Initializer& otherwise, bool may_be_absent) {
  if (!attr.present) {
    if (may_be_absent) return {};
    throw Error(Code::invalid_argument, layer + ": " + name + "_attr is false, but this layer needs its " + name +
                                            ". To leave out the bias, give bias_attr = false.");
  }
  Tensor t = (attr.initializer ? attr.initializer : otherwise)(shape, DType::f32, default_generator());
  if (!t.defined() || !(t.shape() == shape))
    throw Error(Code::invalid_argument, layer + ": the initializer of " + name + " gave " +
                                            (t.defined() ? to_string(t.shape()) : "no value") + ", " +
                                            to_string(shape) + " is wanted.");
  return t;
}
Tensor& add_made(Layer& layer, const char* name, const Shape& shape, const ParamAttr& attr,
                 const Initializer& otherwise, bool may_be_absent) {
  return layer.add_parameter(name, make_parameter(layer.type_name(), name, shape, attr, otherwise, may_be_absent),
                             attr.trainable);
}
Initializer usual(double fan) {
  double limit = fan > 0 ? 1 / std::sqrt(fan) : 0;
  return initializer::Uniform{-limit, limit};
}
void check_positive(const char* layer, const char* what, int64_t value) {
  if (value < 1)
    throw Error(Code::invalid_argument,
                std::string(layer) + ": " + what + " is " + std::to_string(value) + ", it has to be 1 or more.");
}
std::string number_text(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}

}  // namespace oarlock::nn
