// Norms without running statistics.
#include <oarlock/nn/norm.h>

#include "api/src/nn/made.h"
#include "api/src/nn/tuple.h"

namespace oarlock::nn {
namespace {

Shape shape_of(const Sizes& sizes, const char* who) {
  Shape s;
  for (int64_t n : sizes.of(int(sizes.list().size()), who, "normalized_shape", 1)) s.push(n);
  if (s.rank == 0 || sizes.list().size() > size_t(kMaxRank))
    throw Error(Code::invalid_argument, std::string(who) + ": normalized_shape has " +
                                            std::to_string(sizes.list().size()) + " sizes; 1 to 16 are wanted.");
  return s;
}
// x with its normalised axes as one, f of it, and back.
template <class F>
Tensor over_last(const Tensor& x, const std::vector<int64_t>& shape, const char* who, const F& f) {
  int n = int(shape.size()), before = x.rank() - n;
  bool fits = before >= 0;
  for (int i = 0; fits && i < n; ++i) fits = x.size(before + i) == shape[size_t(i)];
  if (!fits)
    throw Error(Code::invalid_argument, std::string(who) + ": normalized_shape is " + to_string(Shape(shape)) +
                                            ", x has shape " + to_string(x.shape()) +
                                            ". Its last axes have to be that.");
  if (n == 1) return f(x);
  Shape flat;
  flat.push(x.shape().d, before);
  flat.push(count(Shape(shape)));
  return reshape(f(reshape(x, flat)), x.shape());
}
Tensor flat(const Tensor& w) { return w.defined() && w.rank() > 1 ? reshape(w, {w.element_count()}) : w; }
Tensor& parameter_of(Layer& l, const char* who, const char* name, const Shape& shape, const ParamAttr& attr, double v) {
  return l.add_parameter(name, make_parameter(who, name, shape, attr, initializer::Constant{v}), attr.trainable);
}
int64_t checked(const char* who, const char* what, int64_t n) {
  check_positive(who, what, n);
  return n;
}

}  // namespace

LayerNorm::LayerNorm(Sizes shape, NormOptions o)
    : weight(parameter_of(*this, "LayerNorm", "weight", shape_of(shape, "LayerNorm"), o.weight_attr, 1)),
      bias(parameter_of(*this, "LayerNorm", "bias", shape_of(shape, "LayerNorm"), o.bias_attr, 0)),
      shape_(shape.list()),
      epsilon_(o.epsilon) {}
Tensor LayerNorm::forward(const Tensor& x) {
  return over_last(x, shape_, "LayerNorm",
                   [&](const Tensor& t) { return layer_norm(t, flat(weight), flat(bias), epsilon_); });
}
std::string LayerNorm::extra_repr() const {
  return "normalized_shape=" + tuple(shape_) + ", epsilon=" + number_text(epsilon_);
}

RMSNorm::RMSNorm(Sizes shape, double epsilon, ParamAttr attr)
    : weight(parameter_of(*this, "RMSNorm", "weight", shape_of(shape, "RMSNorm"), attr, 1)),
      shape_(shape.list()),
      epsilon_(epsilon) {}
Tensor RMSNorm::forward(const Tensor& x) {
  return over_last(x, shape_, "RMSNorm", [&](const Tensor& t) { return rms_norm(t, flat(weight), epsilon_); });
}
std::string RMSNorm::extra_repr() const {
  return "normalized_shape=" + tuple(shape_) + ", epsilon=" + number_text(epsilon_);
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, NormOptions o)
    : weight(parameter_of(*this, "GroupNorm", "weight", {checked("GroupNorm", "num_channels", channels)}, o.weight_attr,
                          1)),
      bias(parameter_of(*this, "GroupNorm", "bias", {channels}, o.bias_attr, 0)),
      groups_(checked("GroupNorm", "num_groups", groups)),
      channels_(channels),
      epsilon_(o.epsilon) {
  if (channels % groups)
    throw Error(Code::invalid_argument, "GroupNorm: num_channels is " + std::to_string(channels) + ", num_groups " +
                                            std::to_string(groups) + ". Groups have to divide the channels.");
}
Tensor GroupNorm::forward(const Tensor& x) {
  if (x.rank() < 2 || x.size(1) != channels_)
    throw Error(Code::invalid_argument, "GroupNorm: num_channels is " + std::to_string(channels_) + ", x has shape " +
                                            oarlock::to_string(x.shape()) + ". Axis 1 has to be of that size.");
  return group_norm(x, groups_, weight, bias, epsilon_);
}
std::string GroupNorm::extra_repr() const {
  return "num_groups=" + std::to_string(groups_) + ", num_channels=" + std::to_string(channels_) +
         ", epsilon=" + number_text(epsilon_);
}

InstanceNorm::InstanceNorm(int axes, const char* name, int64_t n, const NormOptions& o)
    : weight(parameter_of(*this, name, "weight", {checked(name, "num_features", n)}, o.weight_attr, 1)),
      bias(parameter_of(*this, name, "bias", {n}, o.bias_attr, 0)),
      axes_(axes),
      name_(name),
      features_(n),
      epsilon_(o.epsilon) {}
Tensor InstanceNorm::forward(const Tensor& x) {
  return batched(x, axes_, name_, [&](const Tensor& b) {
    if (b.size(1) != features_)
      throw Error(Code::invalid_argument, std::string(name_) + ": num_features is " + std::to_string(features_) +
                                              ", x has shape " + oarlock::to_string(x.shape()) + ".");
    return instance_norm(b, weight, bias, epsilon_);
  });
}
std::string InstanceNorm::extra_repr() const {
  return "num_features=" + std::to_string(features_) + ", epsilon=" + number_text(epsilon_);
}

}  // namespace oarlock::nn
