// Learning rates that change from step to step; names and arguments are those of paddle.optimizer.lr.
//
// A schedule counts calls of step(), from 0, and every rate but ReduceOnPlateau's is a closed form of that count, so a
// schedule that was saved and loaded goes on with the same bits. "Epoch" is whatever step() is called for. One thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <oarlock/named_tensors.h>

namespace oarlock::optim::lr {

class OAR_EXPORT LRScheduler {
 public:
  explicit LRScheduler(double learning_rate);
  virtual ~LRScheduler();
  virtual double get_lr() const = 0;  // at last_epoch()
  void step() { step_to(last_epoch_ + 1); }
  virtual void step_to(int64_t epoch);  // also back
  int64_t last_epoch() const { return last_epoch_; }
  double base_lr() const { return base_lr_; }
  // Scalars on the host: "last_epoch" and what a schedule has beside it.
  virtual NamedTensors state_dict() const;
  // Throws Error where a name is missing.
  virtual void set_state_dict(const NamedTensors& state);

 protected:
  double base_lr_;
  int64_t last_epoch_ = 0;
};
using SchedulerPtr = std::shared_ptr<LRScheduler>;

// base * (1 + cos(pi * epoch / T_max)) / 2, between base and eta_min. Loshchilov and Hutter 2017, SGDR.
class OAR_EXPORT CosineAnnealingDecay : public LRScheduler {
 public:
  CosineAnnealingDecay(double learning_rate, int64_t T_max, double eta_min = 0);
  double get_lr() const override;

 private:
  int64_t period_;
  double low_;
};
// The same, starting anew after T_0, then T_0 * T_mult, ... epochs.
class OAR_EXPORT CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(double learning_rate, int64_t T_0, int64_t T_mult = 1, double eta_min = 0);
  double get_lr() const override;

 private:
  int64_t first_, factor_;
  double low_;
};
// Times gamma every step_size epochs.
class OAR_EXPORT StepDecay : public LRScheduler {
 public:
  StepDecay(double learning_rate, int64_t step_size, double gamma = 0.1);
  double get_lr() const override;

 private:
  int64_t size_;
  double gamma_;
};
// Times gamma at each of the milestones, which rise.
class OAR_EXPORT MultiStepDecay : public LRScheduler {
 public:
  MultiStepDecay(double learning_rate, std::vector<int64_t> milestones, double gamma = 0.1);
  double get_lr() const override;

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};
// values[i] before boundaries[i], the last value behind all of them.
class OAR_EXPORT PiecewiseDecay : public LRScheduler {
 public:
  PiecewiseDecay(std::vector<int64_t> boundaries, std::vector<double> values);
  double get_lr() const override;

 private:
  std::vector<int64_t> boundaries_;
  std::vector<double> values_;
};
class OAR_EXPORT ExponentialDecay : public LRScheduler {  // base * gamma^epoch
 public:
  ExponentialDecay(double learning_rate, double gamma);
  double get_lr() const override;

 private:
  double gamma_;
};
class OAR_EXPORT NaturalExpDecay : public LRScheduler {  // base * exp(-gamma * epoch)
 public:
  NaturalExpDecay(double learning_rate, double gamma);
  double get_lr() const override;

 private:
  double gamma_;
};
class OAR_EXPORT InverseTimeDecay : public LRScheduler {  // base / (1 + gamma * epoch)
 public:
  InverseTimeDecay(double learning_rate, double gamma);
  double get_lr() const override;

 private:
  double gamma_;
};
// (base - end) * (1 - epoch / decay_steps)^power + end; then end. cycle: decay_steps grows to its next multiple instead.
class OAR_EXPORT PolynomialDecay : public LRScheduler {
 public:
  PolynomialDecay(double learning_rate, int64_t decay_steps, double end_lr = 0.0001, double power = 1,
                  bool cycle = false);
  double get_lr() const override;

 private:
  int64_t steps_;
  double end_, power_;
  bool cycle_;
};
// base * d_model^-1/2 * min(epoch^-1/2, epoch * warmup_steps^-3/2). Vaswani et al. 2017, Attention is all you need.
class OAR_EXPORT NoamDecay : public LRScheduler {
 public:
  NoamDecay(double d_model, int64_t warmup_steps, double learning_rate = 1);
  double get_lr() const override;

 private:
  double width_;
  int64_t warmup_;
};
class OAR_EXPORT LambdaDecay : public LRScheduler {  // base * f(epoch)
 public:
  LambdaDecay(double learning_rate, std::function<double(int64_t)> f);
  double get_lr() const override;

 private:
  std::function<double(int64_t)> f_;
};
// From start_lr to end_lr in equal steps over warmup_steps epochs; behind them a fixed rate, or another schedule from its
// beginning.
class OAR_EXPORT LinearWarmup : public LRScheduler {
 public:
  LinearWarmup(double learning_rate, int64_t warmup_steps, double start_lr, double end_lr);
  LinearWarmup(SchedulerPtr after, int64_t warmup_steps, double start_lr, double end_lr);
  double get_lr() const override;
  void step_to(int64_t epoch) override;
  NamedTensors state_dict() const override;  // with that of the other schedule under "after."
  void set_state_dict(const NamedTensors& state) override;

 private:
  SchedulerPtr after_;
  int64_t steps_;
  double start_, end_;
};
// Up from max/divide_factor to max_learning_rate over phase_pct of total_steps, then down to end_learning_rate; three_phase:
// down to where it began over as many steps, then to the end. anneal_strategy: "cos" or "linear". Smith and Topin 2018,
// Super-convergence. Past total_steps - 1 it stays at the end.
class OAR_EXPORT OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(double max_learning_rate, int64_t total_steps, double divide_factor = 25,
             double end_learning_rate = 0.0001, double phase_pct = 0.3, const std::string& anneal_strategy = "cos",
             bool three_phase = false);
  double get_lr() const override;

 private:
  std::vector<double> at_, rates_;  // the corners
  bool linear_;
};
// Times factor when the metric has not become better for more than `patience` calls of step(metric). mode: "min" or "max";
// better means by more than threshold, "rel"ative to the best or "abs"olute. Counting rests for `cooldown` calls after a cut.
class OAR_EXPORT ReduceOnPlateau : public LRScheduler {
 public:
  explicit ReduceOnPlateau(double learning_rate, const std::string& mode = "min", double factor = 0.1,
                           int64_t patience = 10, double threshold = 1e-4, const std::string& threshold_mode = "rel",
                           int64_t cooldown = 0, double min_lr = 0, double epsilon = 1e-8);
  double get_lr() const override { return rate_; }
  void step(double metric);
  NamedTensors state_dict() const override;
  void set_state_dict(const NamedTensors& state) override;

 private:
  bool better(double metric) const;
  bool max_, relative_, any_ = false;
  double factor_, threshold_, min_lr_, epsilon_, rate_, best_ = 0;
  int64_t patience_, cooldown_, bad_ = 0, resting_ = 0;
};

}  // namespace oarlock::optim::lr
