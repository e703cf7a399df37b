#include <oarlock/optim/lr.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace oarlock::optim::lr {
namespace {

void check(bool good, const std::string& text) {
  if (!good) throw Error(Code::invalid_argument, text);
}
void check_steps(const char* who, const char* what, int64_t n) {
  check(n >= 1, std::string(who) + ": " + what + " is " + std::to_string(n) + ", it has to be 1 or more.");
}
Tensor wanted(const NamedTensors& state, const char* name) {
  Tensor t = find(state, name);
  check(t.defined(), std::string("set_state_dict of a schedule: there is no \"") + name + "\" in the state.");
  return t;
}
NamedTensors::value_type entry(const char* name, int64_t v) { return {name, Tensor::of<int64_t>({v}, {})}; }
NamedTensors::value_type entry(const char* name, double v) { return {name, Tensor::scalar(v, DType::f64)}; }
double cosine(double from, double to, double part) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * part));
}

}  // namespace

LRScheduler::LRScheduler(double rate) : base_lr_(rate) {
  check(rate >= 0 && std::isfinite(rate),
        "LRScheduler: the learning rate is " + std::to_string(rate) + ", it has to be 0 or more.");
}
LRScheduler::~LRScheduler() = default;
void LRScheduler::step_to(int64_t epoch) {
  check(epoch >= 0, "LRScheduler: epoch is " + std::to_string(epoch) + ", it has to be 0 or more.");
  last_epoch_ = epoch;
}
NamedTensors LRScheduler::state_dict() const { return {entry("last_epoch", last_epoch_)}; }
void LRScheduler::set_state_dict(const NamedTensors& state) { step_to(wanted(state, "last_epoch").item_int()); }

CosineAnnealingDecay::CosineAnnealingDecay(double rate, int64_t period, double low)
    : LRScheduler(rate), period_(period), low_(low) {
  check_steps("CosineAnnealingDecay", "T_max", period);
}
double CosineAnnealingDecay::get_lr() const { return cosine(base_lr_, low_, double(last_epoch_) / double(period_)); }

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(double rate, int64_t first, int64_t factor, double low)
    : LRScheduler(rate), first_(first), factor_(factor), low_(low) {
  check_steps("CosineAnnealingWarmRestarts", "T_0", first);
  check_steps("CosineAnnealingWarmRestarts", "T_mult", factor);
}
double CosineAnnealingWarmRestarts::get_lr() const {
  int64_t at = last_epoch_, period = first_;
  if (factor_ == 1) at %= period;
  else
    for (; at >= period; period *= factor_) at -= period;
  return cosine(base_lr_, low_, double(at) / double(period));
}

StepDecay::StepDecay(double rate, int64_t size, double gamma) : LRScheduler(rate), size_(size), gamma_(gamma) {
  check_steps("StepDecay", "step_size", size);
}
double StepDecay::get_lr() const { return base_lr_ * std::pow(gamma_, double(last_epoch_ / size_)); }

MultiStepDecay::MultiStepDecay(double rate, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(rate), milestones_(std::move(milestones)), gamma_(gamma) {
  check(std::adjacent_find(milestones_.begin(), milestones_.end(), std::greater_equal<>()) == milestones_.end(),
        "MultiStepDecay: milestones have to rise.");
}
double MultiStepDecay::get_lr() const {
  auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin();
  return base_lr_ * std::pow(gamma_, double(passed));
}

PiecewiseDecay::PiecewiseDecay(std::vector<int64_t> boundaries, std::vector<double> values)
    : LRScheduler(values.empty() ? 0 : values[0]), boundaries_(std::move(boundaries)), values_(std::move(values)) {
  check(values_.size() == boundaries_.size() + 1, "PiecewiseDecay: " + std::to_string(boundaries_.size()) +
                                                      " boundaries and " + std::to_string(values_.size()) +
                                                      " values. There is one value more than boundaries.");
  check(std::adjacent_find(boundaries_.begin(), boundaries_.end(), std::greater_equal<>()) == boundaries_.end(),
        "PiecewiseDecay: boundaries have to rise.");
}
double PiecewiseDecay::get_lr() const {
  return values_[size_t(std::upper_bound(boundaries_.begin(), boundaries_.end(), last_epoch_) - boundaries_.begin())];
}

ExponentialDecay::ExponentialDecay(double rate, double gamma) : LRScheduler(rate), gamma_(gamma) {}
double ExponentialDecay::get_lr() const { return base_lr_ * std::pow(gamma_, double(last_epoch_)); }
NaturalExpDecay::NaturalExpDecay(double rate, double gamma) : LRScheduler(rate), gamma_(gamma) {}
double NaturalExpDecay::get_lr() const { return base_lr_ * std::exp(-gamma_ * double(last_epoch_)); }
InverseTimeDecay::InverseTimeDecay(double rate, double gamma) : LRScheduler(rate), gamma_(gamma) {}
double InverseTimeDecay::get_lr() const { return base_lr_ / (1 + gamma_ * double(last_epoch_)); }

PolynomialDecay::PolynomialDecay(double rate, int64_t steps, double end, double power, bool cycle)
    : LRScheduler(rate), steps_(steps), end_(end), power_(power), cycle_(cycle) {
  check_steps("PolynomialDecay", "decay_steps", steps);
  check(power > 0, "PolynomialDecay: power is " + std::to_string(power) + ", it has to be above 0.");
}
double PolynomialDecay::get_lr() const {
  double at = double(last_epoch_), all = double(steps_);
  if (cycle_) all *= std::max(1.0, std::ceil(at / all));
  else at = std::min(at, all);
  return (base_lr_ - end_) * std::pow(1 - at / all, power_) + end_;
}

NoamDecay::NoamDecay(double width, int64_t warmup, double rate) : LRScheduler(rate), width_(width), warmup_(warmup) {
  check(width > 0, "NoamDecay: d_model is " + std::to_string(width) + ", it has to be above 0.");
  check_steps("NoamDecay", "warmup_steps", warmup);
}
double NoamDecay::get_lr() const {
  double falling = last_epoch_ == 0 ? 1 : std::pow(double(last_epoch_), -0.5);
  double rising = std::pow(double(warmup_), -1.5) * double(last_epoch_);
  return base_lr_ * std::pow(width_, -0.5) * std::min(falling, rising);
}

LambdaDecay::LambdaDecay(double rate, std::function<double(int64_t)> f) : LRScheduler(rate), f_(std::move(f)) {
  check(bool(f_), "LambdaDecay: the function is empty.");
}
double LambdaDecay::get_lr() const { return base_lr_ * f_(last_epoch_); }

LinearWarmup::LinearWarmup(double rate, int64_t steps, double start, double end)
    : LRScheduler(rate), steps_(steps), start_(start), end_(end) {
  check_steps("LinearWarmup", "warmup_steps", steps);
  check(start <= end,
        "LinearWarmup: start_lr " + std::to_string(start) + " is above end_lr " + std::to_string(end) + ".");
}
LinearWarmup::LinearWarmup(SchedulerPtr after, int64_t steps, double start, double end)
    : LinearWarmup(after ? after->base_lr() : 0, steps, start, end) {
  check(after != nullptr, "LinearWarmup: the schedule behind it is null.");
  after_ = std::move(after);
}
double LinearWarmup::get_lr() const {
  if (last_epoch_ < steps_) return (end_ - start_) * double(last_epoch_) / double(steps_) + start_;
  return after_ ? after_->get_lr() : base_lr_;
}
void LinearWarmup::step_to(int64_t epoch) {
  LRScheduler::step_to(epoch);
  if (after_) after_->step_to(std::max<int64_t>(0, epoch - steps_));
}
NamedTensors LinearWarmup::state_dict() const {
  NamedTensors state = LRScheduler::state_dict();
  if (after_)
    for (auto& [name, tensor] : after_->state_dict()) state.emplace_back("after." + name, tensor);
  return state;
}
void LinearWarmup::set_state_dict(const NamedTensors& state) {
  LRScheduler::set_state_dict(state);
  if (!after_) return;
  NamedTensors inner;
  for (auto& [name, tensor] : state)
    if (name.rfind("after.", 0) == 0) inner.emplace_back(name.substr(6), tensor);
  after_->set_state_dict(inner);
}

OneCycleLR::OneCycleLR(double top, int64_t total, double divide, double end, double part, const std::string& strategy,
                       bool three_phase)
    : LRScheduler(top), linear_(strategy == "linear") {
  check_steps("OneCycleLR", "total_steps", total);
  check(strategy == "cos" || strategy == "linear",
        "OneCycleLR: anneal_strategy is \"" + strategy + "\"; there are cos and linear.");
  check(divide > 0, "OneCycleLR: divide_factor is " + std::to_string(divide) + ", it has to be above 0.");
  check(part >= 0 && part <= (three_phase ? 0.5 : 1), "OneCycleLR: phase_pct is " + std::to_string(part) +
                                                          ", it has to be from 0 to " + (three_phase ? "0.5" : "1") +
                                                          ".");
  double n = double(total);
  if (three_phase) {
    at_ = {0, part * n - 1, 2 * part * n - 2, n - 1};
    rates_ = {top / divide, top, top / divide, end};
  } else {
    at_ = {0, part * n - 1, n - 1};
    rates_ = {top / divide, top, end};
  }
}
double OneCycleLR::get_lr() const {
  double at = double(last_epoch_);
  for (size_t i = 0; i + 1 < at_.size(); ++i) {
    if (at > at_[i + 1]) continue;
    double length = at_[i + 1] - at_[i], part = length > 0 ? (at - at_[i]) / length : 1;
    return linear_ ? rates_[i] + (rates_[i + 1] - rates_[i]) * part : cosine(rates_[i], rates_[i + 1], part);
  }
  return rates_.back();
}

ReduceOnPlateau::ReduceOnPlateau(double rate, const std::string& mode, double factor, int64_t patience,
                                 double threshold, const std::string& threshold_mode, int64_t cooldown, double min_lr,
                                 double epsilon)
    : LRScheduler(rate),
      max_(mode == "max"),
      relative_(threshold_mode == "rel"),
      factor_(factor),
      threshold_(threshold),
      min_lr_(min_lr),
      epsilon_(epsilon),
      rate_(rate),
      patience_(patience),
      cooldown_(cooldown) {
  check(mode == "min" || mode == "max", "ReduceOnPlateau: mode is \"" + mode + "\"; there are min and max.");
  check(threshold_mode == "rel" || threshold_mode == "abs",
        "ReduceOnPlateau: threshold_mode is \"" + threshold_mode + "\"; there are rel and abs.");
  check(factor > 0 && factor < 1,
        "ReduceOnPlateau: factor is " + std::to_string(factor) + ", it has to be between 0 and 1.");
}
bool ReduceOnPlateau::better(double m) const {
  if (!any_) return true;
  if (max_) return m > (relative_ ? best_ + std::abs(best_) * threshold_ : best_ + threshold_);
  return m < (relative_ ? best_ - std::abs(best_) * threshold_ : best_ - threshold_);
}
void ReduceOnPlateau::step(double metric) {
  ++last_epoch_;
  if (resting_ > 0) {
    --resting_;
    return;
  }
  if (better(metric)) {
    best_ = metric;
    any_ = true;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (bad_ <= patience_) return;
  resting_ = cooldown_;
  bad_ = 0;
  double next = std::max(rate_ * factor_, min_lr_);
  if (rate_ - next > epsilon_) rate_ = next;
}
NamedTensors ReduceOnPlateau::state_dict() const {
  return {entry("last_epoch", last_epoch_), entry("rate", rate_), entry("best", best_),
          entry("any", int64_t(any_)),      entry("bad", bad_),   entry("resting", resting_)};
}
void ReduceOnPlateau::set_state_dict(const NamedTensors& state) {
  double rate = wanted(state, "rate").item(), best = wanted(state, "best").item();
  int64_t any = wanted(state, "any").item_int(), bad = wanted(state, "bad").item_int();
  int64_t resting = wanted(state, "resting").item_int();
  LRScheduler::set_state_dict(state);
  rate_ = rate;
  best_ = best;
  any_ = any != 0;
  bad_ = bad;
  resting_ = resting;
}

}  // namespace oarlock::optim::lr
