#include <oarlock/nn/loss.h>

#include <oarlock/base/operators.h>

#include "api/src/nn/made.h"

namespace oarlock::nn {
namespace {

std::string checked(std::string reduction, bool batchmean = false) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none" && !(batchmean && reduction == "batchmean"))
    throw Error(Code::invalid_argument, "loss: reduction is \"" + reduction + "\"; there are mean, sum" +
                                            (batchmean ? ", batchmean" : "") + " and none.");
  return reduction;
}
// Not part of the state, but it moves with the layer.
BufferOptions fixed() { return {.persistable = false}; }

}  // namespace

Loss::Loss(std::string reduction) : reduction_(std::move(reduction)) {}
std::vector<Tensor> Loss::forward_all(std::span<const Tensor> in) {
  if (in.size() != 2)
    throw Error(Code::invalid_argument,
                type_name() + ": takes input and label, given " + std::to_string(in.size()) + " tensors.");
  return {loss(in[0], in[1])};
}
std::string Loss::extra_repr() const { return reduction_ == "mean" ? "" : "reduction=" + reduction_; }
Tensor Loss::reduce(const Tensor& each) const {
  return reduction_ == "mean" ? mean(each) : reduction_ == "sum" ? sum(each) : each;
}

CrossEntropyLoss::CrossEntropyLoss(CrossEntropyOptions o)
    : Loss(checked(o.reduction)), o_(std::move(o)), weight_(add_buffer("weight", o_.weight, fixed())) {
  if (!(o_.label_smoothing >= 0 && o_.label_smoothing <= 1))
    throw Error(Code::invalid_argument, "CrossEntropyLoss: label_smoothing is " + number_text(o_.label_smoothing) +
                                            ", it has to be from 0 to 1.");
}
Tensor CrossEntropyLoss::loss(const Tensor& x, const Tensor& given) {
  int axis = o_.axis < 0 ? o_.axis + x.rank() : o_.axis;
  if (axis < 0 || axis >= x.rank())
    throw Error(Code::invalid_argument, "CrossEntropyLoss: axis " + std::to_string(o_.axis) +
                                            " is out of range for input of shape " + oarlock::to_string(x.shape()) +
                                            ".");
  if (!o_.soft_label) {
    bool extra = given.rank() == x.rank() && given.size(axis) == 1;
    return cross_entropy_loss(x, extra ? squeeze(given, {axis}) : given, weight_, axis, o_.ignore_index,
                              o_.label_smoothing, reduction_);
  }
  if (!(given.shape() == x.shape()))
    throw Error(Code::invalid_argument, "CrossEntropyLoss: soft labels have shape " +
                                            oarlock::to_string(given.shape()) + ", the input " +
                                            oarlock::to_string(x.shape()) + ". They have to agree.");
  Tensor label = given;
  if (o_.label_smoothing != 0) label = label * (1 - o_.label_smoothing) + o_.label_smoothing / double(x.size(axis));
  if (weight_.defined()) {
    Shape along = Shape{weight_.shape()[0]};
    for (int i = axis + 1; i < x.rank(); ++i) along.push(1);
    label = label * reshape(weight_, along);
  }
  return reduce(-sum(label * log_softmax(x, axis), {axis}));
}

NLLLoss::NLLLoss(Tensor weight, int64_t ignore, std::string reduction)
    : Loss(checked(std::move(reduction))), ignore_(ignore), weight_(add_buffer("weight", std::move(weight), fixed())) {}
Tensor NLLLoss::loss(const Tensor& x, const Tensor& label) {
  return nll_loss(x, label, weight_, x.rank() > 1 ? 1 : 0, ignore_, reduction_);
}
MSELoss::MSELoss(std::string reduction) : Loss(checked(std::move(reduction))) {}
Tensor MSELoss::loss(const Tensor& x, const Tensor& label) { return mse_loss(x, label, reduction_); }
L1Loss::L1Loss(std::string reduction) : Loss(checked(std::move(reduction))) {}
Tensor L1Loss::loss(const Tensor& x, const Tensor& label) { return l1_loss(x, label, reduction_); }
SmoothL1Loss::SmoothL1Loss(std::string reduction, double delta) : Loss(checked(std::move(reduction))), delta_(delta) {
  if (!(delta > 0))
    throw Error(Code::invalid_argument, "SmoothL1Loss: delta is " + number_text(delta) + ", it has to be above 0.");
}
Tensor SmoothL1Loss::loss(const Tensor& x, const Tensor& label) { return huber_loss(x, label, delta_, reduction_); }

BCELoss::BCELoss(Tensor weight, std::string reduction)
    : Loss(checked(std::move(reduction))), weight_(add_buffer("weight", std::move(weight), fixed())) {}
Tensor BCELoss::loss(const Tensor& x, const Tensor& label) {
  if (!weight_.defined()) return binary_cross_entropy(x, label, reduction_);
  return reduce(binary_cross_entropy(x, label, "none") * weight_);
}
BCEWithLogitsLoss::BCEWithLogitsLoss(Tensor weight, std::string reduction, Tensor pos_weight)
    : Loss(checked(std::move(reduction))),
      weight_(add_buffer("weight", std::move(weight), fixed())),
      pos_weight_(add_buffer("pos_weight", std::move(pos_weight), fixed())) {}
Tensor BCEWithLogitsLoss::loss(const Tensor& x, const Tensor& label) {
  if (!weight_.defined()) return binary_cross_entropy_with_logits(x, label, pos_weight_, reduction_);
  return reduce(binary_cross_entropy_with_logits(x, label, pos_weight_, "none") * weight_);
}
KLDivLoss::KLDivLoss(std::string reduction, bool log_target)
    : Loss(checked(std::move(reduction), true)), log_target_(log_target) {}
Tensor KLDivLoss::loss(const Tensor& x, const Tensor& label) { return kl_div(x, label, log_target_, reduction_); }

}  // namespace oarlock::nn
