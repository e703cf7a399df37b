#include <oarlock/nn/norm.h>

#include <oarlock/base/autograd.h>
#include <oarlock/base/operators.h>

#include "api/src/nn/made.h"

namespace oarlock::nn {

static Tensor& norm_parameter(Layer& l, const char* who, const char* name, int64_t n, const ParamAttr& attr, double v) {
  return l.add_parameter(name, make_parameter(who, name, {n}, attr, initializer::Constant{v}), attr.trainable);
}
static int64_t checked(const char* who, int64_t features) {
  check_positive(who, "num_features", features);
  return features;
}
BatchNorm::BatchNorm(int least, int most, const char* name, int64_t n, const BatchNormOptions& o)
    : weight(norm_parameter(*this, name, "weight", checked(name, n), o.weight_attr, 1)),
      bias(norm_parameter(*this, name, "bias", n, o.bias_attr, 0)),
      running_mean(add_buffer("running_mean", full({n}, 0))),
      running_var(add_buffer("running_var", full({n}, 1))),
      num_batches_tracked(add_buffer("num_batches_tracked", full({}, 0, DType::i64), {.may_be_missing = true})),
      least_(least),
      most_(most),
      name_(name),
      features_(n),
      options_(o) {
  if (!(o.momentum >= 0 && o.momentum <= 1))
    throw Error(Code::invalid_argument,
                std::string(name) + ": momentum is " + number_text(o.momentum) + ", it has to be from 0 to 1.");
}
Tensor BatchNorm::forward(const Tensor& x) {
  if (x.rank() < least_ || x.rank() > most_ || x.size(1) != features_)
    throw Error(Code::invalid_argument, std::string(name_) + ": x has shape " + oarlock::to_string(x.shape()) +
                                            ", wants [N, " + std::to_string(features_) + ", ...] with " +
                                            std::to_string(least_) +
                                            (least_ == most_ ? "" : " or " + std::to_string(most_)) + " axes.");
  bool own = training() && !options_.use_global_stats;
  BatchNormResult r = batch_norm(x, running_mean, running_var, weight, bias, own, options_.momentum, options_.epsilon);
  if (own) {
    NoGrad off;
    running_mean.set_data(r.new_mean);
    running_var.set_data(r.new_var);
    num_batches_tracked.set_data(num_batches_tracked + 1.0);
  }
  return r.out;
}
std::string BatchNorm::extra_repr() const {
  return "num_features=" + std::to_string(features_) + ", momentum=" + number_text(options_.momentum) +
         ", epsilon=" + number_text(options_.epsilon);
}

}  // namespace oarlock::nn
