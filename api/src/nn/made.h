// Parameters as layers make them.
#pragma once
#include <string>

#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>

namespace oarlock::nn {

// A parameter of that shape; absent where attr says so and `may_be_absent`.
Tensor make_parameter(const std::string& layer, const char* name, const Shape& shape, const ParamAttr& attr,
                      const Initializer& otherwise, bool may_be_absent = true);
// Adds it to the layer with what attr says of training.
Tensor& add_made(Layer& layer, const char* name, const Shape& shape, const ParamAttr& attr,
                 const Initializer& otherwise, bool may_be_absent = true);
// U(-1/sqrt(fan), 1/sqrt(fan)): torch.nn's first values of weights and biases.
Initializer usual(double fan);
// Throws unless value is at least 1.
void check_positive(const char* layer, const char* what, int64_t value);
// Numbers for people: 0.1, 1e-05.
std::string number_text(double v);

}  // namespace oarlock::nn
