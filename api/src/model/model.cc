#include <oarlock/model.h>

#include <algorithm>
#include <cmath>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

#include "api/src/model/run.h"

namespace oarlock {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(Code::invalid_argument, "Model: " + text); }

// Puts a network in a mode and back.
class Mode {
 public:
  Mode(nn::Layer& network, bool training) : network_(network), before_(network.training()) { network.train(training); }
  ~Mode() { network_.train(before_); }

 private:
  nn::Layer& network_;
  bool before_;
};

// Metrics measure something else in between and then go on.
class Aside {
 public:
  explicit Aside(const std::vector<MetricPtr>& metrics) : metrics_(metrics) {
    for (const MetricPtr& m : metrics) states_.push_back(m->state()), m->reset();
  }
  ~Aside() {
    for (size_t i = 0; i < states_.size(); ++i) metrics_[i]->set_state(states_[i]);
  }

 private:
  const std::vector<MetricPtr>& metrics_;
  std::vector<std::vector<double>> states_;
};

// A loader gives its epoch 0, and then begins the epoch it would have begun.
class FirstEpoch {
 public:
  explicit FirstEpoch(data::DataLoader& data) : data_(data), before_(data.state()) { data.set_epoch(0); }
  ~FirstEpoch() { data_.set_epoch(before_.epoch + (before_.position ? 1 : 0)); }

 private:
  data::DataLoader& data_;
  data::LoaderState before_;
};

double sample_count(std::span<const Tensor> inputs) {
  return inputs.empty() || inputs[0].rank() == 0 ? 1 : double(inputs[0].size(0));
}

}  // namespace

Loss::Loss(std::shared_ptr<nn::Layer> layer) {
  if (!layer) return;
  all_ = [layer](std::span<const Tensor> outputs, std::span<const Tensor> labels) {
    std::vector<Tensor> all(outputs.begin(), outputs.end());
    all.insert(all.end(), labels.begin(), labels.end());
    std::vector<Tensor> losses = layer->call(all);
    if (losses.size() != 1) fail("the loss layer gave " + std::to_string(losses.size()) + " tensors, expects 1.");
    return losses[0];
  };
}
Loss::All Loss::of_one(std::function<Tensor(const Tensor&, const Tensor&)> f) {
  return [f = std::move(f)](std::span<const Tensor> outputs, std::span<const Tensor> labels) {
    if (outputs.size() != 1 || labels.size() != 1)
      fail("the loss takes one output and one label, there are " + std::to_string(outputs.size()) + " and " +
           std::to_string(labels.size()) + ". Pass a function of all of them.");
    return f(outputs[0], labels[0]);
  };
}
Tensor Loss::operator()(std::span<const Tensor> outputs, std::span<const Tensor> labels) const {
  return all_(outputs, labels);
}

void Model::Totals::add(const Tensor& loss, double n, int64_t epoch, int64_t step) {
  waiting.push_back({loss.detach(), n, epoch, step});
  if (loss.device().is_host()) settle();
}
void Model::Totals::settle() {
  for (Waiting& w : waiting) {
    double value = w.loss.item();
    if (stop_on_nan && !std::isfinite(value))
      throw Error(Code::bad_data, "Model.fit: the loss is " + std::string(std::isnan(value) ? "NaN" : "infinite") +
                                      " in epoch " + std::to_string(w.epoch + 1) + ", step " + std::to_string(w.step) +
                                      ". Lower the learning rate, clip the gradients, or look for bad samples.");
    sum += value * w.samples;
    samples += w.samples;
  }
  waiting.clear();
}

Model::Model(std::shared_ptr<nn::Layer> network, int inputs) : network_(std::move(network)), inputs_(inputs) {
  if (!network_) fail("no network.");
  if (inputs < 1) fail("inputs is " + std::to_string(inputs) + "; a network takes 1 field of a batch or more.");
}
Model::~Model() = default;

void Model::prepare(OptimizerPtr optimizer, Loss loss, std::vector<MetricPtr> metrics) {
  if (run_) fail("prepare while fit runs.");
  for (const MetricPtr& m : metrics)
    if (!m) fail("a metric has no value.");
  optimizer_ = std::move(optimizer);
  loss_ = std::move(loss);
  metrics_ = std::move(metrics);
  pending_ = 0;
}
void Model::check_prepared(const char* what) const {
  if (!optimizer_ || !loss_)
    fail(std::string(what) + " needs an optimiser and a loss. Call prepare(optimizer, loss) first.");
}

std::vector<Tensor> Model::place(std::span<const Tensor> tensors) const {
  std::vector<Tensor> parameters = network_->parameters(), placed(tensors.begin(), tensors.end());
  if (!parameters.empty())
    for (Tensor& t : placed)
      if (t) t = t.to(parameters[0].device());
  return placed;
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> Model::split(const data::Batch& batch, bool labels_wanted) const {
  if (int(batch.size()) < inputs_)
    fail("a batch has " + std::to_string(batch.size()) + " fields, the network takes " + std::to_string(inputs_) + ".");
  std::span<const Tensor> all(batch);
  std::vector<Tensor> labels;
  if (labels_wanted) labels = place(all.subspan(size_t(inputs_)));
  return {place(all.first(size_t(inputs_))), std::move(labels)};
}

Tensor Model::loss_of(std::span<const Tensor> outputs, std::span<const Tensor> labels) const {
  Tensor loss = loss_(outputs, labels);
  if (!loss || loss.element_count() != 1)
    fail("the loss has shape " + (loss ? to_string(loss.shape()) : std::string("none")) +
         "; it must be one number. Take its mean.");
  return loss;
}

void Model::update_metrics(std::span<const Tensor> outputs, std::span<const Tensor> labels) {
  if (metrics_.empty()) return;
  NoGrad off;
  for (const MetricPtr& m : metrics_)
    m->update(outputs.empty() ? Tensor() : outputs[0].detach(), labels.empty() ? Tensor() : labels[0]);
}
void Model::append_metrics(Logs& logs) const {
  for (const MetricPtr& m : metrics_) {
    std::vector<std::string> names = m->names();
    std::vector<double> values = m->accumulate();
    for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) logs.emplace_back(names[i], values[i]);
  }
}

void Model::apply_gradients() {
  optimizer_->step();
  optimizer_->clear_grad();
  pending_ = 0;
}

Logs Model::train_batch(std::span<const Tensor> inputs, std::span<const Tensor> labels, bool update) {
  check_prepared("train_batch");
  network_->train();
  std::vector<Tensor> placed = place(labels), outputs = network_->call(place(inputs));
  Tensor loss = loss_of(outputs, placed);
  loss.backward();
  ++pending_;
  if (update) apply_gradients();
  update_metrics(outputs, placed);
  Logs logs{{"loss", loss.item()}};
  append_metrics(logs);
  return logs;
}

Logs Model::eval_batch(std::span<const Tensor> inputs, std::span<const Tensor> labels) {
  NoGrad off;
  Mode mode(*network_, false);
  std::vector<Tensor> placed = place(labels), outputs = network_->call(place(inputs));
  Logs logs;
  if (loss_) logs.emplace_back("loss", loss_of(outputs, placed).item());
  update_metrics(outputs, placed);
  append_metrics(logs);
  return logs;
}

std::vector<Tensor> Model::predict_batch(std::span<const Tensor> inputs) {
  NoGrad off;
  Mode mode(*network_, false);
  return network_->call(place(inputs));
}

Logs Model::evaluate_with(data::DataLoader& data, const EvaluateOptions& o, std::span<const CallbackPtr> callbacks) {
  NoGrad off;
  Mode mode(*network_, false);
  Aside aside(metrics_);
  Totals totals;
  totals.stop_on_nan = false;
  FirstEpoch pass(data);
  int64_t steps = data.size(), step = 0;
  if (o.max_steps >= 0) steps = steps < 0 ? o.max_steps : std::min(steps, o.max_steps);
  for (const CallbackPtr& c : callbacks) c->on_eval_begin(steps);
  auto logs_now = [&] {
    Logs logs;
    totals.settle();
    if (loss_) logs.emplace_back("loss", totals.mean());
    append_metrics(logs);
    return logs;
  };
  Logs logs;
  while (step != o.max_steps) {
    std::optional<data::Batch> batch = data.next();
    if (!batch) break;
    auto [inputs, labels] = split(*batch, true);
    std::vector<Tensor> outputs = network_->call(inputs);
    if (loss_) totals.add(loss_of(outputs, labels), sample_count(inputs), 0, step);
    update_metrics(outputs, labels);
    if (++step % std::max<int64_t>(1, o.log_freq) == 0) logs = logs_now();
    for (const CallbackPtr& c : callbacks) c->on_eval_batch_end(step, logs);
  }
  logs = logs_now();
  for (const CallbackPtr& c : callbacks) c->on_eval_end(logs);
  return logs;
}

Logs Model::evaluate(data::DataLoader& data, const EvaluateOptions& options) {
  std::vector<CallbackPtr> callbacks = options.callbacks;
  if (options.verbose) callbacks.push_back(std::make_shared<callbacks::ProgBarLogger>(options.verbose));
  for (const CallbackPtr& c : callbacks) c->set_model(this);
  return evaluate_with(data, options, callbacks);
}

std::vector<Tensor> Model::predict(data::DataLoader& data, const EvaluateOptions& o) {
  NoGrad off;
  Mode mode(*network_, false);
  std::vector<std::vector<Tensor>> parts;
  std::vector<CallbackPtr> callbacks = o.callbacks;
  if (o.verbose) callbacks.push_back(std::make_shared<callbacks::ProgBarLogger>(o.verbose));
  FirstEpoch pass(data);
  for (const CallbackPtr& c : callbacks) c->set_model(this), c->on_eval_begin(data.size());
  for (int64_t step = 0; step != o.max_steps; ++step) {
    std::optional<data::Batch> batch = data.next();
    if (!batch) break;
    std::vector<Tensor> outputs = network_->call(split(*batch, false).first);
    parts.resize(std::max(parts.size(), outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(outputs[i].to(Device()));
    for (const CallbackPtr& c : callbacks) c->on_eval_batch_end(step + 1, {});
  }
  for (const CallbackPtr& c : callbacks) c->on_eval_end({});
  std::vector<Tensor> joined;
  for (auto& p : parts) joined.push_back(p.size() == 1 ? p[0] : concat(p, 0));
  return joined;
}

}  // namespace oarlock
