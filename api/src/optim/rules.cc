// The update rules. Every one is pure arithmetic on a parameter, its gradient and its state.
#include <oarlock/optim/optimizer.h>

#include <cmath>

#include <oarlock/base/operators.h>

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
// target = target - factor * by.
void subtract_from(const Tensor& target, const Tensor& by, double factor) { assign(target, target - by * factor); }

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
  if (o_.momentum == 0) return sgd_update(u.target, u.g, u.rate_tensor, {}, 0, u.weight_decay);
  const Tensor& buffer = u.entry.state[0];
  if (o_.dampening == 0 || u.entry.steps == 1)  // a buffer of zeros makes the first one g
    return sgd_update(u.target, u.g, u.rate_tensor, buffer, o_.momentum, u.weight_decay, o_.nesterov);
  Tensor g = u.weight_decay != 0 ? u.g + u.target * u.weight_decay : u.g;
  assign(buffer, buffer * o_.momentum + g * (1 - o_.dampening));
  subtract_from(u.target, buffer, u.rate);
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
  const Tensor &p = u.target, &m = u.entry.state[0], &v = u.entry.state[1];
  double t = double(u.entry.steps);
  double c1 = 1 - std::pow(o_.beta1, t), c2 = 1 - std::pow(o_.beta2, t);
  Tensor g = u.g;
  if (u.weight_decay != 0) {
    if (decoupled_) assign(p, p * (1 - u.rate * u.weight_decay));
    else g = g + p * u.weight_decay;
  }
  assign(m, m * o_.beta1 + g * (1 - o_.beta1));
  assign(v, v * o_.beta2 + g * g * (1 - o_.beta2));
  Tensor seen = v;
  if (o_.amsgrad) {
    assign(u.entry.state[2], maximum(u.entry.state[2], v));
    seen = u.entry.state[2];
  }
  subtract_from(p, m / (sqrt(seen) / std::sqrt(c2) + o_.epsilon), u.rate / c1);
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
  Tensor g = u.weight_decay != 0 ? u.g + u.target * u.weight_decay : u.g;
  assign(state[0], state[0] * o_.rho + g * g * (1 - o_.rho));
  Tensor v = state[0];
  if (o_.centered) {
    assign(state[1], state[1] * o_.rho + g * (1 - o_.rho));
    v = v - state[1] * state[1];
  }
  Tensor by = g / (sqrt(v) + o_.epsilon);
  if (o_.momentum != 0) {
    assign(state.back(), state.back() * o_.momentum + by);
    by = state.back();
  }
  subtract_from(u.target, by, u.rate);
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
  const Tensor& s = u.entry.state[0];
  Tensor g = u.weight_decay != 0 ? u.g + u.target * u.weight_decay : u.g;
  assign(s, s + g * g);
  subtract_from(u.target, g / (sqrt(s) + o_.epsilon), u.rate / (1 + double(u.entry.steps - 1) * o_.lr_decay));
}

}  // namespace oarlock::optim
