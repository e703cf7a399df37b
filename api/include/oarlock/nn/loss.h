// Losses: called with what a network says and what is true, (*loss)(input, label). reduction: "mean", "sum" or "none".
#pragma once
#include <oarlock/nn/layer.h>

namespace oarlock::nn {

class OAR_EXPORT Loss : public Layer {
 public:
  // Takes the two tensors.
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) final;
  virtual Tensor loss(const Tensor& input, const Tensor& label) = 0;
  std::string extra_repr() const override;

 protected:
  explicit Loss(std::string reduction);
  Tensor reduce(const Tensor& each) const;
  std::string reduction_;
};

struct CrossEntropyOptions {
  Tensor weight{};  // [C], of each class
  int64_t ignore_index = -100;
  std::string reduction = "mean";
  bool soft_label = false;  // labels are probabilities, of the input's shape
  int axis = -1;            // of the classes
  double label_smoothing = 0;
};
// Minus the logarithm of the softmax of input at the label. Labels are class numbers in the shape of input without axis; one of
// size 1 at axis may be there. The mean is over the weights of the labels that are not ignored.
class OAR_EXPORT CrossEntropyLoss : public Loss {
 public:
  explicit CrossEntropyLoss(CrossEntropyOptions options = {});
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "CrossEntropyLoss"; }

 private:
  CrossEntropyOptions o_;
  Tensor& weight_;
};
// The same for logarithms of probabilities [N, C, ...].
class OAR_EXPORT NLLLoss : public Loss {
 public:
  explicit NLLLoss(Tensor weight = {}, int64_t ignore_index = -100, std::string reduction = "mean");
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "NLLLoss"; }

 private:
  int64_t ignore_;
  Tensor& weight_;
};
class OAR_EXPORT MSELoss : public Loss {
 public:
  explicit MSELoss(std::string reduction = "mean");
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "MSELoss"; }
};
class OAR_EXPORT L1Loss : public Loss {
 public:
  explicit L1Loss(std::string reduction = "mean");
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "L1Loss"; }
};
// For a difference d: d d / 2 below delta, else delta (|d| - delta / 2), as paddle has it. Huber 1964, Robust estimation.
class OAR_EXPORT SmoothL1Loss : public Loss {
 public:
  explicit SmoothL1Loss(std::string reduction = "mean", double delta = 1);
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "SmoothL1Loss"; }

 private:
  double delta_;
};
// Of probabilities; every logarithm is at least -100. weight broadcasts to the losses.
class OAR_EXPORT BCELoss : public Loss {
 public:
  explicit BCELoss(Tensor weight = {}, std::string reduction = "mean");
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "BCELoss"; }

 private:
  Tensor& weight_;
};
// Of numbers whose sigmoid is the probability. pos_weight: times the loss of label 1.
class OAR_EXPORT BCEWithLogitsLoss : public Loss {
 public:
  explicit BCEWithLogitsLoss(Tensor weight = {}, std::string reduction = "mean", Tensor pos_weight = {});
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "BCEWithLogitsLoss"; }

 private:
  Tensor &weight_, &pos_weight_;
};
// label (log(label) - input) of probabilities label and logarithms input; log_target: label is a logarithm too. reduction may
// be "batchmean" as well: the sum over the size of axis 0.
class OAR_EXPORT KLDivLoss : public Loss {
 public:
  explicit KLDivLoss(std::string reduction = "mean", bool log_target = false);
  Tensor loss(const Tensor& input, const Tensor& label) override;
  std::string type_name() const override { return "KLDivLoss"; }

 private:
  bool log_target_;
};

}  // namespace oarlock::nn
