// A run in one file: weights, optimiser, and under "fit" what the loop itself needs.
#include <cstring>

#include <oarlock/model.h>
#include <oarlock/random.h>
#include <oarlock/save.h>

#include "api/src/model/run.h"

namespace oarlock {
namespace {

Tensor numbers(const std::vector<double>& v) { return Tensor::from_host(v.data(), {int64_t(v.size())}, DType::f64); }
Tensor integers(const std::vector<int64_t>& v) { return Tensor::from_host(v.data(), {int64_t(v.size())}, DType::i64); }

template <class T>
std::vector<T> values(const NamedTensors& part, const std::string& name, DType dtype, int64_t count) {
  Tensor t = find(part, name);
  if (!t || t.dtype() != dtype || t.rank() != 1 || (count >= 0 && t.size(0) != count))
    throw Error(Code::bad_data, "Model.fit: the checkpoint's \"fit/" + name + "\" is missing or of another form.");
  std::vector<T> v(static_cast<size_t>(t.size(0)));
  if (!v.empty()) t.copy_to_host(v.data());
  return v;
}

bool is_checkpoint(const std::string& path) { return TensorFile(path).metadata().count("oarlock.checkpoint") != 0; }

}  // namespace

void Model::save(const std::string& path, bool training) const {
  if (!training) return ::oarlock::save(path, network_->state_dict());
  Checkpoint c;
  c.parts.emplace_back("model", network_->state_dict());
  if (optimizer_) c.parts.emplace_back("optimizer", optimizer_->state_dict());
  if (run_) {
    run_->totals.settle();
    bool next = run_->epoch_done;
    data::LoaderState at = run_->train->state();
    NamedTensors fit{{"loader", integers({int64_t(at.seed), int64_t(at.sampler_seed), at.epoch, at.position})},
                     {"progress", integers({progress_.epoch + (next ? 1 : 0), next ? 0 : progress_.step,
                                            progress_.total_steps, next ? 0 : progress_.samples})},
                     {"loss", numbers({next ? 0 : run_->totals.sum, next ? 0 : run_->totals.samples})}};
    if (!next)
      for (size_t i = 0; i < metrics_.size(); ++i)
        fit.emplace_back("metric." + std::to_string(i), numbers(metrics_[i]->state()));
    for (size_t i = 0; i < run_->callbacks.size(); ++i)
      if (std::vector<double> state = run_->callbacks[i]->state(); !state.empty())
        fit.emplace_back("callback." + std::to_string(i), numbers(state));
    for (auto& [name, series] : history_) {
      std::vector<double> v = series;
      if (run_->cut.count(name)) v.pop_back();  // the rest of that epoch is still to come
      if (!v.empty()) fit.emplace_back("history." + name, numbers(v));
    }
    c.parts.emplace_back("fit", std::move(fit));
  }
  save_checkpoint(path, c);
}

void Model::load(const std::string& path, bool reset_optimizer) {
  if (!is_checkpoint(path)) {
    network_->set_state_dict(::oarlock::load(path));
    return;
  }
  RandomState random = default_generator().state();
  NamedTensors before;
  for (auto& [name, tensor] : network_->state_dict()) before.emplace_back(name, tensor.detach().clone());
  bool changed = false;
  try {
    Checkpoint c = load_checkpoint(path);
    network_->set_state_dict(c.part("model"));
    changed = true;
    if (optimizer_ && !reset_optimizer) optimizer_->set_state_dict(c.part("optimizer"));
  } catch (...) {
    default_generator().set_state(random);
    if (changed) network_->set_state_dict(before);
    throw;
  }
  if (reset_optimizer) default_generator().set_state(random);
}

void Model::resume(const std::string& path, data::DataLoader& train, Run& run) {
  if (!is_checkpoint(path))
    throw Error(Code::invalid_argument, "Model.fit: " + path + " holds weights alone. Read it with load.");
  Checkpoint c = load_checkpoint(path, {.map = false}, false);
  bool has_fit = false;
  for (auto& [name, tensors] : c.parts) has_fit |= name == "fit";
  if (!has_fit)
    throw Error(
        Code::invalid_argument,
        "Model.fit: " + path + " was not saved while fit ran, so there is nothing to resume. Read it with load.");
  const NamedTensors& fit = c.part("fit");
  std::vector<int64_t> at = values<int64_t>(fit, "loader", DType::i64, 4);
  std::vector<int64_t> progress = values<int64_t>(fit, "progress", DType::i64, 4);
  std::vector<double> loss = values<double>(fit, "loss", DType::f64, 2);
  load(path);
  train.set_state({uint64_t(at[0]), uint64_t(at[1]), at[2], at[3]});
  run.first_epoch = progress_.epoch = progress[0];
  progress_.step = progress[1], progress_.total_steps = progress[2], progress_.samples = progress[3];
  run.totals.sum = loss[0], run.totals.samples = loss[1];
  for (size_t i = 0; i < metrics_.size(); ++i)
    if (std::string name = "metric." + std::to_string(i); find(fit, name))
      metrics_[i]->set_state(values<double>(fit, name, DType::f64, -1));
  for (size_t i = 0; i < run.callbacks.size(); ++i)
    if (std::string name = "callback." + std::to_string(i); find(fit, name))
      run.callbacks[i]->set_state(values<double>(fit, name, DType::f64, -1));
  for (auto& [name, tensor] : fit)
    if (name.starts_with("history.")) history_[name.substr(8)] = values<double>(fit, name, DType::f64, -1);
}

}  // namespace oarlock
