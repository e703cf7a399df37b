// The update rules: a fused op for each parameter.
#include <oarlock/optim/optimizer.h>

#include <oarlock/base/ops.h>

namespace oarlock::optim {
namespace {

void check(bool good, const std::string& text) {
  if (!good) throw Error(Code::invalid_argument, text);
}
void check_part(const char* who, const char* what, double v) {
  check(v >= 0 && v < 1, std::string(who) + ": " + what + " is " + std::to_string(v) + ", it has to be in [0, 1).");
}
void check_not_negative(const char* who, const char* what, double v) {
  check(v >= 0, std::string(who) + ": " + what + " is " + std::to_string(v) + ", it has to be 0 or more.");
}
std::vector<Group> one_group(std::vector<Tensor> parameters) {
  std::vector<Group> groups;
  groups.push_back({std::move(parameters)});
  return groups;
}

}  // namespace

// ---- SGD --------------------------------------------------------------------------------------------------------------
SGD::SGD(std::vector<Tensor> parameters, SGDOptions options) : SGD(one_group(std::move(parameters)), options) {}
SGD::SGD(std::vector<Group> groups, SGDOptions o)
    : Optimizer(o.learning_rate, o.weight_decay, o.grad_clip, o.multi_precision), o_(o) {
  check_not_negative("SGD", "momentum", o.momentum);
  check(!o.nesterov || (o.momentum > 0 && o.dampening == 0),
        "SGD: nesterov needs a momentum above 0 and a dampening of 0, given " + std::to_string(o.momentum) + " and " +
            std::to_string(o.dampening) + ".");
  for (Group& g : groups) add_group(std::move(g));
}
std::vector<std::string> SGD::slots() const {
  return o_.momentum != 0 ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{};
}
void SGD::update(Update& u) {
  if (o_.momentum == 0) return sgd_update(u.target, u.g, u.rate, {}, 0, u.weight_decay);
  double dampening = u.first ? 0 : o_.dampening;  // the first buffer is g
  sgd_update(u.target, u.g, u.rate, u.entry.state[0], o_.momentum, u.weight_decay, o_.nesterov, dampening);
}

// ---- Adam and AdamW ---------------------------------------------------------------------------------------------------
Adam::Adam(AdamOptions o, bool decoupled)
    : Optimizer(o.learning_rate, o.weight_decay, o.grad_clip, o.multi_precision), o_(o), decoupled_(decoupled) {
  check_part("Adam", "beta1", o.beta1);
  check_part("Adam", "beta2", o.beta2);
  check_not_negative("Adam", "epsilon", o.epsilon);
}
Adam::Adam(std::vector<Tensor> parameters, AdamOptions o) : Adam(one_group(std::move(parameters)), o) {}
Adam::Adam(std::vector<Group> groups, AdamOptions o) : Adam(o, false) {
  for (Group& g : groups) add_group(std::move(g));
}
AdamW::AdamW(std::vector<Tensor> parameters, AdamOptions o) : AdamW(one_group(std::move(parameters)), o) {}
AdamW::AdamW(std::vector<Group> groups, AdamOptions o) : Adam(o, true) {
  for (Group& g : groups) add_group(std::move(g));
}
std::vector<std::string> Adam::slots() const {
  std::vector<std::string> names{"exp_avg", "exp_avg_sq"};
  if (o_.amsgrad) names.push_back("max_exp_avg_sq");
  return names;
}
void Adam::update(Update& u) {
  Tensor step = fed(DType::i64, [this, i = u.index] { return Tensor::of<int64_t>({steps_of(i)}, {}); });
  auto& state = u.entry.state;
  (decoupled_ ? adamw_update : adam_update)(u.target, u.g, state[0], state[1], u.rate, step,
                                            o_.amsgrad ? state[2] : Tensor(), o_.beta1, o_.beta2, o_.epsilon,
                                            u.weight_decay);
}

// ---- RMSProp ----------------------------------------------------------------------------------------------------------
RMSProp::RMSProp(std::vector<Tensor> parameters, RMSPropOptions o) : RMSProp(one_group(std::move(parameters)), o) {}
RMSProp::RMSProp(std::vector<Group> groups, RMSPropOptions o)
    : Optimizer(o.learning_rate, o.weight_decay, o.grad_clip, o.multi_precision), o_(o) {
  check_part("RMSProp", "rho", o.rho);
  check_not_negative("RMSProp", "epsilon", o.epsilon);
  check_not_negative("RMSProp", "momentum", o.momentum);
  for (Group& g : groups) add_group(std::move(g));
}
std::vector<std::string> RMSProp::slots() const {
  std::vector<std::string> names{"square_avg"};
  if (o_.centered) names.push_back("grad_avg");
  if (o_.momentum != 0) names.push_back("momentum_buffer");
  return names;
}
void RMSProp::update(Update& u) {
  auto& state = u.entry.state;
  rmsprop_update(u.target, u.g, state[0], u.rate, o_.centered ? state[1] : Tensor(),
                 o_.momentum != 0 ? state.back() : Tensor(), o_.rho, o_.epsilon, u.weight_decay, o_.momentum);
}

// ---- Adagrad ----------------------------------------------------------------------------------------------------------
Adagrad::Adagrad(std::vector<Tensor> parameters, AdagradOptions o) : Adagrad(one_group(std::move(parameters)), o) {}
Adagrad::Adagrad(std::vector<Group> groups, AdagradOptions o)
    : Optimizer(o.learning_rate, o.weight_decay, o.grad_clip, o.multi_precision), o_(o) {
  check_not_negative("Adagrad", "lr_decay", o.lr_decay);
  check_not_negative("Adagrad", "epsilon", o.epsilon);
  check_not_negative("Adagrad", "initial_accumulator_value", o.initial_accumulator_value);
  for (Group& g : groups) add_group(std::move(g));
}
std::vector<std::string> Adagrad::slots() const { return {"sum"}; }
double Adagrad::first_value(size_t) const { return o_.initial_accumulator_value; }
void Adagrad::update(Update& u) {
  Tensor rate = u.rate;
  if (o_.lr_decay != 0) {
    Tensor decay = fed(DType::f64, [this, i = u.index] {
      return Tensor::scalar(1 + double(steps_of(i) - 1) * o_.lr_decay, DType::f64);
    });
    rate = divide(rate, decay);
  }
  adagrad_update(u.target, u.g, u.entry.state[0], rate, o_.epsilon, u.weight_decay);
}

}  // namespace oarlock::optim
