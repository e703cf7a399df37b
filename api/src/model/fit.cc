#include <algorithm>

#include <oarlock/base/autograd.h>
#include <oarlock/base/operators.h>
#include <oarlock/model.h>

#include "api/src/model/run.h"

namespace oarlock {
namespace {

void check(const FitOptions& o) {
  auto at_least = [](const char* name, int64_t value, int64_t low) {
    if (value < low)
      throw Error(Code::invalid_argument, "Model.fit: " + std::string(name) + " is " + std::to_string(value) +
                                              "; it must be " + std::to_string(low) + " or more.");
  };
  at_least("epochs", o.epochs, 0);
  at_least("eval_freq", o.eval_freq, 1);
  at_least("log_freq", o.log_freq, 1);
  at_least("save_freq", o.save_freq, 1);
  at_least("accumulate_grad_batches", o.accumulate_grad_batches, 1);
}

std::vector<CallbackPtr> callbacks_of(const FitOptions& o) {
  std::vector<CallbackPtr> all = o.callbacks;
  auto has = [&]<class T>(T*) {
    return std::any_of(all.begin(), all.end(),
                       [](const CallbackPtr& c) { return dynamic_cast<T*>(c.get()) != nullptr; });
  };
  for (const CallbackPtr& c : all)
    if (!c) throw Error(Code::invalid_argument, "Model.fit: a callback has no value.");
  if (o.verbose && !has(static_cast<callbacks::ProgBarLogger*>(nullptr)))
    all.push_back(std::make_shared<callbacks::ProgBarLogger>(o.verbose));
  if (!has(static_cast<callbacks::LRScheduler*>(nullptr))) all.push_back(std::make_shared<callbacks::LRScheduler>());
  if (!o.save_dir.empty())
    all.push_back(std::make_shared<callbacks::ModelCheckpoint>(
        o.save_dir, callbacks::ModelCheckpointOptions{.every_epochs = o.save_freq}));
  std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a->order() < b->order(); });
  return all;
}

}  // namespace

History Model::fit(data::DataLoader& train, FitOptions o) {
  check_prepared("fit");
  check(o);
  if (run_) throw Error(Code::invalid_argument, "Model.fit: it runs already. Wait for its end.");
  Run run;
  run.train = &train;
  run.callbacks = callbacks_of(o);
  run.totals.stop_on_nan = o.stop_on_nan;
  for (const CallbackPtr& c : run.callbacks) c->set_model(this);
  history_.clear();
  progress_ = {.epochs = o.epochs, .log_freq = o.log_freq};
  stop_ = false;
  pending_ = 0;
  optimizer_->clear_grad();
  for (const MetricPtr& m : metrics_) m->reset();
  bool resumed = !o.resume.empty();
  if (resumed) resume(o.resume, train, run);
  struct Running {  // also when something is thrown
    Model& model;
    bool failed = true;
    ~Running() {
      if (failed)
        for (const CallbackPtr& c : model.run_->callbacks) c->on_train_failed();
      model.run_ = nullptr;
    }
  } running{*this};
  run_ = &run;
  for (const CallbackPtr& c : run.callbacks) c->on_train_begin();
  for (int64_t epoch = run.first_epoch; epoch < o.epochs && !stop_; ++epoch) {
    if (o.max_steps >= 0 && progress_.total_steps >= o.max_steps) break;
    progress_.epoch = epoch;
    progress_.steps = train.size();
    if (!resumed) {
      train.begin_epoch();
      progress_.step = progress_.samples = 0;
      run.totals.sum = run.totals.samples = 0;
      for (const MetricPtr& m : metrics_) m->reset();
    }
    resumed = false;
    run.epoch_done = false;
    for (const CallbackPtr& c : run.callbacks) c->on_epoch_begin(epoch);
    train_epoch(train, o, run);
    end_epoch(o, run);
  }
  Logs last;
  for (auto& [name, values] : history_)
    if (!values.empty()) last.emplace_back(name, values.back());
  for (const CallbackPtr& c : run.callbacks) c->on_train_end(last);
  running.failed = false;
  return history_;
}

void Model::train_epoch(data::DataLoader& train, const FitOptions& o, Run& run) {
  network_->train();
  Logs logs;
  run.whole = false;
  for (;;) {
    // Looked at before the next batch is asked for: asking at the end of the data begins the loader's next epoch.
    bool enough = stop_ || (o.max_steps >= 0 && progress_.total_steps >= o.max_steps);
    if (enough && progress_.step != progress_.steps) break;
    std::optional<data::Batch> batch = train.next();
    if (!batch) {
      run.whole = true;
      break;
    }
    ++progress_.step;
    ++progress_.total_steps;
    for (const CallbackPtr& c : run.callbacks) c->on_train_batch_begin(progress_.step);
    auto [inputs, labels] = split(*batch, true);
    double samples = inputs[0].rank() ? double(inputs[0].size(0)) : 1;
    std::vector<Tensor> outputs = network_->call(inputs);
    Tensor loss = loss_of(outputs, labels);
    run.totals.add(loss, samples, progress_.epoch, progress_.step);
    if (o.accumulate_grad_batches == 1) loss.backward();
    else (loss * (1.0 / double(o.accumulate_grad_batches))).backward();
    if (++pending_ == o.accumulate_grad_batches || progress_.step == progress_.steps) apply_gradients();
    update_metrics(outputs, labels);
    progress_.samples += int64_t(samples);
    if (loss.device().is_host() || progress_.step % o.log_freq == 0) {
      run.totals.settle();
      logs = {{"loss", run.totals.mean()}};
      append_metrics(logs);
    }
    for (const CallbackPtr& c : run.callbacks) c->on_train_batch_end(progress_.step, logs);
  }
  if (pending_ && run.whole) apply_gradients();  // of a stream, whose end is known only now
}

// The epoch's values, evaluation and callbacks. An epoch that was cut short has none of the last: resumed, it goes on.
void Model::end_epoch(const FitOptions& o, Run& run) {
  run.totals.settle();
  Logs logs{{"loss", run.totals.mean()}};
  append_metrics(logs);
  logs.emplace_back("lr", optimizer_->get_lr());
  int64_t epoch = progress_.epoch;
  if (o.eval && run.whole && ((epoch + 1) % o.eval_freq == 0 || epoch + 1 == o.epochs))
    for (auto& [name, value] : evaluate_with(*o.eval, {.log_freq = o.log_freq}, run.callbacks))
      logs.emplace_back("val_" + name, value);
  network_->train();
  for (auto& [name, value] : logs) history_[name].push_back(value);
  if (!run.whole) {
    for (auto& [name, value] : logs) run.cut.insert(name);
    return;
  }
  run.epoch_done = true;
  for (const CallbackPtr& c : run.callbacks) c->on_epoch_end(epoch, logs);
}

}  // namespace oarlock
