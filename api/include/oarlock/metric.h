// Metrics: numbers about predictions that add up over batches. Names are paddle.metric's.
//
// Operands may live on any device and in any real dtype; they are copied to the host. Not for several threads at once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <oarlock/base/tensor.h>

namespace oarlock::metric {

class OAR_EXPORT Metric {
 public:
  virtual ~Metric() = default;
  // One name per value that accumulate gives: {"acc_top1", "acc_top5"}.
  virtual std::vector<std::string> names() const = 0;
  virtual void reset() = 0;
  // Adds a batch. Throws Error where shapes or labels don't fit; then nothing was added.
  virtual void update(const Tensor& prediction, const Tensor& label) = 0;
  // The values over all batches since reset; of none, 0.
  virtual std::vector<double> accumulate() const = 0;
  // What reset and update change; set again, everything goes on as before.
  virtual std::vector<double> state() const = 0;
  virtual void set_state(const std::vector<double>& state) = 0;
};

// How often the right class is among the k with the highest scores. Prediction [..., C], label [...] or [..., 1] with
// classes 0..C-1, or one-hot [..., C]. Of equal scores the lower class comes first; NaN counts as the highest score, and a
// right class whose own score is NaN as missed.
class OAR_EXPORT Accuracy : public Metric {
 public:
  explicit Accuracy(std::vector<int> topk = {1}, const std::string& name = "acc");
  std::vector<std::string> names() const override { return names_; }
  void reset() override;
  void update(const Tensor& prediction, const Tensor& label) override;
  std::vector<double> accumulate() const override;
  std::vector<double> state() const override;
  void set_state(const std::vector<double>& state) override;

 private:
  std::vector<int> topk_;
  std::vector<std::string> names_;
  std::vector<double> hits_;
  double count_ = 0;
};

// Of what was called positive, the share that is. Prediction: probabilities of the positive class, [N] or [N, 1], positive
// from 0.5 up; label 0 or 1, of as many elements.
class OAR_EXPORT Precision : public Metric {
 public:
  explicit Precision(std::string name = "precision") : name_(std::move(name)) {}
  std::vector<std::string> names() const override { return {name_}; }
  void reset() override { right_ = wrong_ = 0; }
  void update(const Tensor& prediction, const Tensor& label) override;
  std::vector<double> accumulate() const override;
  std::vector<double> state() const override { return {right_, wrong_}; }
  void set_state(const std::vector<double>& state) override;

 private:
  std::string name_;
  double right_ = 0, wrong_ = 0;
};

// Of what is positive, the share that was called so. Operands as for Precision.
class OAR_EXPORT Recall : public Metric {
 public:
  explicit Recall(std::string name = "recall") : name_(std::move(name)) {}
  std::vector<std::string> names() const override { return {name_}; }
  void reset() override { found_ = missed_ = 0; }
  void update(const Tensor& prediction, const Tensor& label) override;
  std::vector<double> accumulate() const override;
  std::vector<double> state() const override { return {found_, missed_}; }
  void set_state(const std::vector<double>& state) override;

 private:
  std::string name_;
  double found_ = 0, missed_ = 0;
};

// Area under the ROC curve, by the trapezoid rule over `thresholds` + 1 equal bins of probability. Prediction [N, 2]
// (column 1 is the positive class), [N] or [N, 1], within 0..1; label 0 or 1. Of one class only: 0.
class OAR_EXPORT Auc : public Metric {
 public:
  explicit Auc(int thresholds = 4095, std::string name = "auc");
  std::vector<std::string> names() const override { return {name_}; }
  void reset() override;
  void update(const Tensor& prediction, const Tensor& label) override;
  std::vector<double> accumulate() const override;
  std::vector<double> state() const override;
  void set_state(const std::vector<double>& state) override;

 private:
  std::string name_;
  int thresholds_;
  std::vector<double> positive_, negative_;  // per bin
};

// The mean of all elements of all predictions; the label plays no part and may be absent.
class OAR_EXPORT Mean : public Metric {
 public:
  explicit Mean(std::string name = "mean") : name_(std::move(name)) {}
  std::vector<std::string> names() const override { return {name_}; }
  void reset() override { sum_ = weight_ = 0; }
  void update(const Tensor& values, const Tensor& label = {}) override;
  void add(double value, double weight = 1);
  std::vector<double> accumulate() const override;
  std::vector<double> state() const override { return {sum_, weight_}; }
  void set_state(const std::vector<double>& state) override;

 private:
  std::string name_;
  double sum_ = 0, weight_ = 0;
};

}  // namespace oarlock::metric
