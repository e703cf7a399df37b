#include <oarlock/metric.h>

#include <algorithm>
#include <cmath>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

namespace oarlock::metric {
namespace {

[[noreturn]] void fail(const std::string& who, const std::string& text) {
  throw Error(Code::invalid_argument, who + ": " + text);
}

std::vector<double> numbers(const char* who, const Tensor& t) {
  if (!t) fail(who, "an operand has no value.");
  NoGrad off;
  std::vector<double> all(static_cast<size_t>(t.element_count()));
  if (all.empty()) return all;
  (t.dtype() == DType::f64 ? t : cast(t.to(Device()), DType::f64)).copy_to_host(all.data());
  return all;
}

void check_state(const char* who, const std::vector<double>& state, size_t size) {
  if (state.size() != size)
    fail(who, "a state of " + std::to_string(state.size()) + " numbers, its own has " + std::to_string(size) + ".");
}

struct Binary {
  std::vector<double> prediction, label;
};
Binary binary(const char* who, const Tensor& prediction, const Tensor& label) {
  Binary b{numbers(who, prediction), numbers(who, label)};
  if (prediction.rank() == 2 && prediction.size(1) == 2 && b.label.size() * 2 == b.prediction.size()) {
    for (size_t i = 0; i < b.label.size(); ++i) b.prediction[i] = b.prediction[2 * i + 1];
    b.prediction.resize(b.label.size());
  }
  if (b.prediction.size() != b.label.size())
    fail(who, "predictions " + to_string(prediction.shape()) + " with labels " + to_string(label.shape()) +
                  "; expects one each.");
  for (double l : b.label)
    if (l != 0 && l != 1) fail(who, "label " + std::to_string(l) + " is neither 0 nor 1.");
  return b;
}

}  // namespace

Accuracy::Accuracy(std::vector<int> topk, const std::string& name) : topk_(std::move(topk)) {
  if (topk_.empty()) fail("Accuracy", "topk is empty. Pass at least one k.");
  for (int k : topk_) {
    if (k < 1) fail("Accuracy", "k is " + std::to_string(k) + "; it must be 1 or more.");
    names_.push_back(topk_.size() == 1 && k == 1 ? name : name + "_top" + std::to_string(k));
  }
  reset();
}
void Accuracy::reset() {
  hits_.assign(topk_.size(), 0);
  count_ = 0;
}
void Accuracy::update(const Tensor& prediction, const Tensor& label) {
  if (!prediction || prediction.rank() < 1) fail("Accuracy", "the prediction needs an axis of classes, [..., C].");
  int64_t classes = prediction.size(-1), rows = classes ? prediction.element_count() / classes : 0;
  std::vector<double> scores = numbers("Accuracy", prediction), labels = numbers("Accuracy", label);
  std::vector<int64_t> right(static_cast<size_t>(rows));
  if (int64_t(labels.size()) == rows) {
    for (int64_t i = 0; i < rows; ++i) {
      double l = labels[size_t(i)];
      if (!(l >= 0 && l < double(classes)) || l != std::floor(l))
        fail("Accuracy", "label " + std::to_string(l) + " is no class of 0.." + std::to_string(classes - 1) + ".");
      right[size_t(i)] = int64_t(l);
    }
  } else if (labels.size() == scores.size()) {
    for (int64_t i = 0; i < rows; ++i)
      right[size_t(i)] = std::max_element(labels.begin() + i * classes, labels.begin() + (i + 1) * classes) -
                         (labels.begin() + i * classes);
  } else {
    fail("Accuracy", "predictions " + to_string(prediction.shape()) + " with labels " + to_string(label.shape()) +
                         "; expects one class per row, or one-hot rows.");
  }
  for (int64_t i = 0; i < rows; ++i) {
    const double* row = scores.data() + i * classes;
    int64_t r = right[size_t(i)], before = 0;
    if (std::isnan(row[r])) continue;
    for (int64_t c = 0; c < classes; ++c)
      before += row[c] > row[r] || std::isnan(row[c]) || (row[c] == row[r] && c < r);
    for (size_t k = 0; k < topk_.size(); ++k) hits_[k] += before < topk_[k];
  }
  count_ += double(rows);
}
std::vector<double> Accuracy::accumulate() const {
  std::vector<double> values;
  for (double h : hits_) values.push_back(count_ ? h / count_ : 0);
  return values;
}
std::vector<double> Accuracy::state() const {
  std::vector<double> s = hits_;
  s.push_back(count_);
  return s;
}
void Accuracy::set_state(const std::vector<double>& state) {
  check_state("Accuracy", state, hits_.size() + 1);
  hits_.assign(state.begin(), state.end() - 1);
  count_ = state.back();
}

void Precision::update(const Tensor& prediction, const Tensor& label) {
  Binary b = binary("Precision", prediction, label);
  for (size_t i = 0; i < b.label.size(); ++i)
    if (b.prediction[i] >= 0.5) ++(b.label[i] == 1 ? right_ : wrong_);
}
std::vector<double> Precision::accumulate() const { return {right_ + wrong_ > 0 ? right_ / (right_ + wrong_) : 0}; }
void Precision::set_state(const std::vector<double>& state) {
  check_state("Precision", state, 2);
  right_ = state[0], wrong_ = state[1];
}

void Recall::update(const Tensor& prediction, const Tensor& label) {
  Binary b = binary("Recall", prediction, label);
  for (size_t i = 0; i < b.label.size(); ++i)
    if (b.label[i] == 1) ++(b.prediction[i] >= 0.5 ? found_ : missed_);
}
std::vector<double> Recall::accumulate() const { return {found_ + missed_ > 0 ? found_ / (found_ + missed_) : 0}; }
void Recall::set_state(const std::vector<double>& state) {
  check_state("Recall", state, 2);
  found_ = state[0], missed_ = state[1];
}

Auc::Auc(int thresholds, std::string name) : name_(std::move(name)), thresholds_(thresholds) {
  if (thresholds < 1 || thresholds > 1 << 24)
    fail("Auc", std::to_string(thresholds) + " thresholds; expects 1 to 16777216.");
  reset();
}
void Auc::reset() {
  positive_.assign(size_t(thresholds_) + 1, 0);
  negative_.assign(size_t(thresholds_) + 1, 0);
}
void Auc::update(const Tensor& prediction, const Tensor& label) {
  Binary b = binary("Auc", prediction, label);
  for (double p : b.prediction)
    if (!(p >= 0 && p <= 1)) fail("Auc", "prediction " + std::to_string(p) + " is no probability.");
  for (size_t i = 0; i < b.label.size(); ++i)
    ++(b.label[i] == 1 ? positive_ : negative_)[size_t(b.prediction[i] * thresholds_)];
}
std::vector<double> Auc::accumulate() const {
  double area = 0, found = 0, false_alarms = 0;
  for (size_t i = positive_.size(); i-- > 0;) {
    area += negative_[i] * (found + positive_[i] / 2);
    found += positive_[i];
    false_alarms += negative_[i];
  }
  return {found > 0 && false_alarms > 0 ? area / (found * false_alarms) : 0};
}
std::vector<double> Auc::state() const {
  std::vector<double> s = positive_;
  s.insert(s.end(), negative_.begin(), negative_.end());
  return s;
}
void Auc::set_state(const std::vector<double>& state) {
  check_state("Auc", state, 2 * positive_.size());
  positive_.assign(state.begin(), state.begin() + int64_t(positive_.size()));
  negative_.assign(state.begin() + int64_t(positive_.size()), state.end());
}

void Mean::update(const Tensor& values, const Tensor&) {
  for (double v : numbers("Mean", values)) add(v);
}
void Mean::add(double value, double weight) {
  if (!(weight >= 0)) fail("Mean", "weight " + std::to_string(weight) + " is negative.");
  sum_ += value * weight;
  weight_ += weight;
}
std::vector<double> Mean::accumulate() const { return {weight_ > 0 ? sum_ / weight_ : 0}; }
void Mean::set_state(const std::vector<double>& state) {
  check_state("Mean", state, 2);
  sum_ = state[0], weight_ = state[1];
}

}  // namespace oarlock::metric
