// Optimisers: change parameters by their gradients.
//
//   optim::AdamW opt(net.parameters(), {.learning_rate = 1e-3});
//   loss.backward();  opt.step();  opt.clear_grad();
//
// A step writes into the parameters, so their handles stay valid; a parameter without a gradient is passed over. Nothing
// waits for a device, and equal inputs give equal bits. Parameters of f16 or bf16 are updated through an f32 copy, their
// master, unless multi_precision is off. One thread at a time. A step can be captured in a program once one has been taken
// eagerly; each run then asks for the rate as it is by that time, and counts as a step.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <oarlock/named_tensors.h>
#include <oarlock/optim/clip.h>
#include <oarlock/optim/lr.h>

namespace oarlock::optim {

// Parameters that share settings.
struct Group {
  std::vector<Tensor> parameters;
  double learning_rate_scale = 1;        // times the optimiser's rate
  std::optional<double> weight_decay{};  // instead of the optimiser's
};

// A number, or a schedule that is asked at every step.
class Rate {
 public:
  Rate(double value) : value_(value) {}
  template <class S>
  requires std::is_convertible_v<S, lr::SchedulerPtr> Rate(S schedule) : schedule_(std::move(schedule)) {}
  double value() const { return schedule_ ? schedule_->get_lr() : value_; }
  const lr::SchedulerPtr& schedule() const { return schedule_; }

 private:
  double value_ = 0;
  lr::SchedulerPtr schedule_;
};

class OAR_EXPORT Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void step();
  // Forgets the gradients of all parameters.
  void clear_grad();
  void zero_grad() { clear_grad(); }

  double get_lr() const;
  void set_lr(double rate);  // takes a schedule's place
  void set_lr_scheduler(lr::SchedulerPtr schedule);
  lr::SchedulerPtr lr_scheduler() const;
  void set_grad_clip(ClipPtr clip) { clip_ = std::move(clip); }

  // A parameter belongs to one group. Settings of a group may be changed between steps.
  void add_group(Group group);
  std::vector<Group>& groups() { return groups_; }
  std::vector<Tensor> parameters() const;

  // Everything a step reads beside parameters and gradients: "learning_rate", "groups.0.weight_decay", "lr.last_epoch" of a
  // schedule, and for parameter i (counted through all groups) "state.i.step" and what the optimiser keeps, under torch's
  // names: "state.i.exp_avg". Tensors are shared with the optimiser: save or clone them before the next step.
  NamedTensors state_dict() const;
  // The parameters have to be those of the saved optimiser, in the same order. All or nothing; throws Error on shapes that
  // disagree, names that are missing or unknown.
  void set_state_dict(const NamedTensors& state);

 protected:
  struct Entry {
    Tensor parameter;
    size_t group;
    int64_t steps = 0;
    Tensor master;                // f32; no value: the parameter itself is updated
    std::vector<Tensor> state{};  // one per slot; empty before the first step
  };
  // What one update is given: target is the parameter or its master, g of its dtype and device.
  struct Update {
    Entry& entry;
    size_t index;  // of the entry
    const Tensor &target, &g;
    double weight_decay;
    Tensor rate;  // f64[] on the host
    bool first;   // nothing was kept of this parameter before
  };
  Optimizer(Rate rate, double weight_decay, ClipPtr clip, bool multi_precision);
  virtual std::vector<std::string> slots() const = 0;  // names of what is kept per parameter, of its shape
  virtual double first_value(size_t slot) const;       // 0
  virtual void update(Update& u) = 0;
  // A number on the host that an update reads: what `now` says; in a captured step, what it says at each run.
  static Tensor fed(DType dtype, std::function<Tensor()> now);
  int64_t steps_of(size_t entry) const { return entries_[entry].steps; }

 private:
  void prepare(Entry& e);
  const Tensor& rate_tensor(double rate);
  Tensor rate_of(size_t group, const std::vector<size_t>& due);

  Rate rate_;
  double weight_decay_;
  ClipPtr clip_;
  bool multi_precision_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;
  std::vector<std::pair<double, Tensor>> rate_tensors_;
};

struct SGDOptions {
  Rate learning_rate = 1e-3;
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  ClipPtr grad_clip{};
  bool multi_precision = true;
};
// g += weight_decay * p; buffer = momentum * buffer + (1 - dampening) * g, the first time g; g = buffer (nesterov:
// g + momentum * buffer); p -= rate * g. Sutskever et al. 2013, On the importance of initialization and momentum.
class OAR_EXPORT SGD : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, SGDOptions options = {});
  explicit SGD(std::vector<Group> groups, SGDOptions options = {});

 protected:
  std::vector<std::string> slots() const override;
  void update(Update& u) override;

 private:
  SGDOptions o_;
};

struct AdamOptions {
  Rate learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool amsgrad = false;
  ClipPtr grad_clip{};
  bool multi_precision = true;
};
// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g g; p -= rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) +
// epsilon). weight_decay is added to g. amsgrad: the greatest v so far takes v's place. Kingma and Ba 2015, Adam; Reddi et
// al. 2018, On the convergence of Adam and beyond.
class OAR_EXPORT Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {});
  explicit Adam(std::vector<Group> groups, AdamOptions options = {});

 protected:
  Adam(AdamOptions options, bool decoupled);
  std::vector<std::string> slots() const override;
  void update(Update& u) override;

 private:
  AdamOptions o_;
  bool decoupled_ = false;
};
// Adam, but p is first multiplied by 1 - rate * weight_decay instead. Loshchilov and Hutter 2019, Decoupled weight decay.
// weight_decay is 0.01 unless given.
class OAR_EXPORT AdamW : public Adam {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamOptions options = {.weight_decay = 0.01});
  explicit AdamW(std::vector<Group> groups, AdamOptions options = {.weight_decay = 0.01});
};

struct RMSPropOptions {
  Rate learning_rate = 1e-2;
  double rho = 0.99, epsilon = 1e-8, momentum = 0, weight_decay = 0;
  bool centered = false;
  ClipPtr grad_clip{};
  bool multi_precision = true;
};
// v = rho v + (1 - rho) g g; p -= rate * g / (sqrt(v) + epsilon). centered: v less the square of g's mean; momentum: of the
// quotient. Hinton 2012, Neural networks for machine learning, lecture 6e; as torch computes it.
class OAR_EXPORT RMSProp : public Optimizer {
 public:
  explicit RMSProp(std::vector<Tensor> parameters, RMSPropOptions options = {});
  explicit RMSProp(std::vector<Group> groups, RMSPropOptions options = {});

 protected:
  std::vector<std::string> slots() const override;
  void update(Update& u) override;

 private:
  RMSPropOptions o_;
};

struct AdagradOptions {
  Rate learning_rate = 1e-2;
  double lr_decay = 0, epsilon = 1e-10, initial_accumulator_value = 0, weight_decay = 0;
  ClipPtr grad_clip{};
  bool multi_precision = true;
};
// s += g g; p -= rate / (1 + (t - 1) lr_decay) * g / (sqrt(s) + epsilon). Duchi et al. 2011, Adaptive subgradient methods.
class OAR_EXPORT Adagrad : public Optimizer {
 public:
  explicit Adagrad(std::vector<Tensor> parameters, AdagradOptions options = {});
  explicit Adagrad(std::vector<Group> groups, AdagradOptions options = {});

 protected:
  std::vector<std::string> slots() const override;
  double first_value(size_t slot) const override;
  void update(Update& u) override;

 private:
  AdagradOptions o_;
};

}  // namespace oarlock::optim
