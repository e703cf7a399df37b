#include <oarlock/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

#include "core/dispatch/recorder.h"

namespace oarlock::optim {
namespace {

bool narrow(DType t) { return t == DType::f16 || t == DType::bf16; }
void check_rate(double rate) {
  if (!(rate >= 0) || !std::isfinite(rate))
    throw Error(Code::invalid_argument,
                "optimizer: the learning rate is " + std::to_string(rate) + ", it has to be 0 or more.");
}
void settle(Tensor& t, DType dtype, Device device) {
  if (t.dtype() != dtype) t = cast(t, dtype);
  if (!(t.device() == device)) t = t.to(device);
}

}  // namespace

Optimizer::Optimizer(Rate rate, double weight_decay, ClipPtr clip, bool multi_precision)
    : rate_(std::move(rate)), weight_decay_(weight_decay), clip_(std::move(clip)), multi_precision_(multi_precision) {
  check_rate(rate_.value());
  if (!(weight_decay >= 0))
    throw Error(Code::invalid_argument,
                "optimizer: weight_decay is " + std::to_string(weight_decay) + ", it has to be 0 or more.");
}
Optimizer::~Optimizer() = default;

double Optimizer::get_lr() const { return rate_.value(); }
void Optimizer::set_lr(double rate) {
  check_rate(rate);
  rate_ = rate;
}
void Optimizer::set_lr_scheduler(lr::SchedulerPtr schedule) {
  if (!schedule) throw Error(Code::invalid_argument, "optimizer: the schedule is null. Use set_lr for a fixed rate.");
  rate_ = std::move(schedule);
}
lr::SchedulerPtr Optimizer::lr_scheduler() const { return rate_.schedule(); }

void Optimizer::add_group(Group group) {
  std::unordered_set<const TensorImpl*> known;
  for (Entry& e : entries_) known.insert(e.parameter.impl());
  for (const Tensor& p : group.parameters) {
    if (!p.defined()) throw Error(Code::invalid_argument, "optimizer: a parameter has no value.");
    if (!(set_of(p.dtype()) & kFloat))
      throw Error(Code::invalid_argument, "optimizer: a parameter has dtype " + std::string(to_string(p.dtype())) +
                                              "; only floats can be stepped. Leave it out.");
    if (!known.insert(p.impl()).second)
      throw Error(Code::invalid_argument, "optimizer: a parameter of shape " + to_string(p.shape()) +
                                              " is there twice. Give each once, in one group.");
  }
  for (const Tensor& p : group.parameters) entries_.push_back({p, groups_.size(), 0, {}, {}});
  groups_.push_back(std::move(group));
}
std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> out;
  for (const Entry& e : entries_) out.push_back(e.parameter);
  return out;
}
void Optimizer::clear_grad() {
  for (Entry& e : entries_) e.parameter.set_grad({});
}
double Optimizer::first_value(size_t) const { return 0; }

// State as the parameter is now: it may have moved or changed its dtype since the last step.
void Optimizer::prepare(Entry& e) {
  const Tensor& p = e.parameter;
  DType dtype = p.dtype();
  if (narrow(dtype) && multi_precision_) {
    dtype = DType::f32;
    if (!e.master.defined()) e.master = cast(p.detach(), dtype);
    settle(e.master, dtype, p.device());
  } else {
    e.master = Tensor();
  }
  if (e.state.empty()) {
    size_t n = slots().size();
    const Tensor& like = e.master.defined() ? e.master : p;
    for (size_t i = 0; i < n; ++i) e.state.push_back(full_like(like.detach(), first_value(i)));
  } else {
    for (Tensor& t : e.state) settle(t, dtype, p.device());
  }
}
// A host value of an update: in a captured step, what each run asks for.
Tensor Optimizer::fed(DType dtype, std::function<Tensor()> now) {
  dispatch::Recorder* recorder = dispatch::recorder();
  return recorder ? recorder->feed(dtype, {}, false, std::move(now)) : now();
}
const Tensor& Optimizer::rate_tensor(double rate) {
  for (auto& [have, tensor] : rate_tensors_)
    if (have == rate) return tensor;
  if (rate_tensors_.size() >= 8) rate_tensors_.clear();  // a schedule makes new ones for ever
  return rate_tensors_.emplace_back(rate, Tensor::scalar(rate, DType::f64)).second;
}

// The group's rate for an update of those entries, which counts as their next step.
Tensor Optimizer::rate_of(size_t group, const std::vector<size_t>& due) {
  auto next = [this, group, due] {
    for (size_t i : due) ++entries_[i].steps;
    double rate = rate_.value();
    check_rate(rate);
    return rate_tensor(rate * groups_[group].learning_rate_scale);
  };
  return fed(DType::f64, next);
}

void Optimizer::step() {
  NoGrad off;
  check_rate(rate_.value());
  std::vector<size_t> due;
  std::vector<Tensor> gradients;
  std::vector<std::vector<size_t>> of_group(groups_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    Tensor g = entries_[i].parameter.grad();
    if (!g.defined()) continue;
    due.push_back(i);
    of_group[entries_[i].group].push_back(i);
    gradients.push_back(std::move(g));
  }
  if (clip_) clip_->clip(gradients);
  bool captured = dispatch::recorder() != nullptr;
  for (size_t i : due) {
    Entry& e = entries_[i];
    if (captured && !dispatch::recorder()->owns(*e.parameter.grad().impl()))
      throw Error(Code::invalid_argument,
                  "optimizer: the gradient of a parameter of shape " + to_string(e.parameter.shape()) +
                      " was made outside of what is captured, and would be stepped with again at each run. Capture "
                      "backward together with step.");
    if (captured && e.steps == 0) {
      dispatch::recorder()->needs_a_run = true;
      throw Error(Code::not_ready,
                  "optimizer: the first step makes what is kept per parameter, so it can't be captured. Run one step "
                  "before capturing.");
    }
    dispatch::RecorderPause pause;
    prepare(e);
  }
  std::vector<Tensor> rates(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g)
    if (!of_group[g].empty()) rates[g] = rate_of(g, of_group[g]);
  for (size_t i = 0; i < due.size(); ++i) {
    Entry& e = entries_[due[i]];
    const Tensor& target = e.master.defined() ? e.master : e.parameter;
    Tensor& g = gradients[i];
    settle(g, target.dtype(), target.device());
    Update u{e,
             due[i],
             target,
             g,
             groups_[e.group].weight_decay.value_or(weight_decay_),
             rates[e.group],
             !captured && e.steps == 1};
    update(u);
    if (e.master.defined()) assign(e.parameter, cast(e.master, e.parameter.dtype()));
  }
}

// ---- state ------------------------------------------------------------------------------------------------------------
static NamedTensors::value_type number(std::string name, double v) {
  return {std::move(name), Tensor::scalar(v, DType::f64)};
}
NamedTensors Optimizer::state_dict() const {
  NamedTensors out{number("learning_rate", rate_.value())};
  if (rate_.schedule())
    for (auto& [name, tensor] : rate_.schedule()->state_dict()) out.emplace_back("lr." + name, tensor);
  for (size_t i = 0; i < groups_.size(); ++i) {
    std::string at = "groups." + std::to_string(i) + ".";
    out.push_back(number(at + "learning_rate_scale", groups_[i].learning_rate_scale));
    out.push_back(number(at + "weight_decay", groups_[i].weight_decay.value_or(weight_decay_)));
  }
  std::vector<std::string> names = slots();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    if (e.steps == 0) continue;
    std::string at = "state." + std::to_string(i) + ".";
    out.emplace_back(at + "step", Tensor::of<int64_t>({e.steps}, {}));
    for (size_t k = 0; k < e.state.size(); ++k) out.emplace_back(at + names[k], e.state[k]);
    if (e.master.defined()) out.emplace_back(at + "master", e.master);
  }
  return out;
}

void Optimizer::set_state_dict(const NamedTensors& state) {
  NoGrad off;
  std::unordered_map<std::string_view, const Tensor*> given;
  for (auto& [name, tensor] : state)
    if (!given.emplace(name, &tensor).second)
      throw Error(Code::invalid_argument, "set_state_dict: \"" + name + "\" is there twice. Keep one.");
  size_t used = 0;
  auto get = [&](const std::string& name) -> const Tensor& {
    auto it = given.find(name);
    if (it == given.end() || !it->second->defined())
      throw Error(Code::invalid_argument, "set_state_dict of an optimizer: there is no \"" + name +
                                              "\" in the state. It has to come from the same optimizer.");
    ++used;
    return *it->second;
  };
  auto of_shape = [&](const std::string& name, const Tensor& p, Device device) {
    const Tensor& t = get(name);
    if (!(t.shape() == p.shape()))
      throw Error(Code::invalid_argument, "set_state_dict of an optimizer: " + name + " is " + to_string(t.shape()) +
                                              ", its parameter " + to_string(p.shape()) +
                                              ". Give the parameters in the order they were saved in.");
    Tensor own = t.detach().to(device);
    return own.impl() == t.impl() || device == t.device() ? own.clone() : own;
  };
  double rate = get("learning_rate").item();
  check_rate(rate);
  std::vector<Group> groups = groups_;
  for (size_t i = 0; i < groups.size(); ++i) {
    std::string at = "groups." + std::to_string(i) + ".";
    groups[i].learning_rate_scale = get(at + "learning_rate_scale").item();
    double decay = get(at + "weight_decay").item();
    if (groups[i].weight_decay || decay != weight_decay_) groups[i].weight_decay = decay;
  }
  std::vector<std::string> names = slots();
  std::vector<Entry> entries;
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry e{entries_[i].parameter, entries_[i].group, 0, {}, {}};
    std::string at = "state." + std::to_string(i) + ".";
    if (given.contains(at + "step")) {
      e.steps = get(at + "step").item_int();
      for (auto& slot : names) e.state.push_back(of_shape(at + slot, e.parameter, e.parameter.device()));
      if (given.contains(at + "master")) e.master = of_shape(at + "master", e.parameter, e.parameter.device());
    }
    entries.push_back(std::move(e));
  }
  NamedTensors schedule;
  for (auto& [name, tensor] : state)
    if (name.rfind("lr.", 0) == 0) schedule.emplace_back(name.substr(3), tensor);
  if (used + schedule.size() != state.size())
    for (auto& [name, tensor] : state) {
      bool known = name == "learning_rate" || name.rfind("lr.", 0) == 0 || name.rfind("groups.", 0) == 0;
      for (size_t i = 0; i < entries.size() && !known; ++i) {
        std::string at = "state." + std::to_string(i) + ".";
        known = name == at + "step" || name == at + "master";
        for (auto& slot : names) known |= name == at + slot;
      }
      if (!known)
        throw Error(Code::invalid_argument, "set_state_dict of an optimizer: \"" + name +
                                                "\" is unknown here; there are " + std::to_string(entries.size()) +
                                                " parameters. It has to come from the same optimizer.");
    }
  if (rate_.schedule()) rate_.schedule()->set_state_dict(schedule);
  else rate_ = rate;
  groups_ = std::move(groups);
  entries_ = std::move(entries);
}

}  // namespace oarlock::optim
