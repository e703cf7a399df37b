// Model: a network with its optimiser, loss and metrics, and the loops around them: fit, evaluate, predict.
//
//   Model model(net);
//   model.prepare(std::make_shared<optim::AdamW>(net->parameters()), nn_loss, {std::make_shared<metric::Accuracy>()});
//   History h = model.fit(train, {.epochs = 8, .eval = &test});
//
// Names are paddle.Model's. One thread at a time. Batches are moved to the device of the network's first parameter.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <oarlock/data/loader.h>
#include <oarlock/metric.h>
#include <oarlock/model/callback.h>
#include <oarlock/nn/layer.h>
#include <oarlock/optim/optimizer.h>

namespace oarlock {

using OptimizerPtr = std::shared_ptr<optim::Optimizer>;
using MetricPtr = std::shared_ptr<metric::Metric>;

// What is made small: of the network's outputs and the batch's labels, one number. From a layer (called with outputs, then
// labels), or from a function of one output and one label, or of all.
class OAR_EXPORT Loss {
 public:
  using All = std::function<Tensor(std::span<const Tensor> outputs, std::span<const Tensor> labels)>;
  Loss() = default;  // none: fit and train_batch are errors, evaluate gives metrics alone
  Loss(std::shared_ptr<nn::Layer> layer);
  template <class L>
  requires std::is_base_of_v<nn::Layer, L> Loss(std::shared_ptr<L> layer)
      : Loss(std::shared_ptr<nn::Layer>(std::move(layer))) {}
  Loss(All all) : all_(std::move(all)) {}
  template <class F>
  requires std::is_invocable_r_v<Tensor, F, const Tensor&, const Tensor&> Loss(F f)
      : Loss(of_one(std::function<Tensor(const Tensor&, const Tensor&)>(std::move(f)))) {}
  explicit operator bool() const { return bool(all_); }
  Tensor operator()(std::span<const Tensor> outputs, std::span<const Tensor> labels) const;

 private:
  static All of_one(std::function<Tensor(const Tensor&, const Tensor&)> f);
  All all_;
};

// Per name ("loss", "acc", "val_loss", "lr"), one value an epoch.
using History = std::map<std::string, std::vector<double>>;

struct FitOptions {
  int64_t epochs = 1;                // in all: resumed runs count those done before
  data::DataLoader* eval = nullptr;  // evaluated after every eval_freq epochs; its values are called val_...
  int64_t eval_freq = 1;
  int64_t log_freq = 10;  // steps between lines of the log and, off the host, between looks at the loss
  int verbose = 1;        // 0: silent; 1: a bar on a terminal, lines elsewhere; 2: a line per epoch
  std::string save_dir;   // not empty: a ModelCheckpoint there
  int64_t save_freq = 1;  // epochs
  std::vector<CallbackPtr> callbacks;
  int64_t accumulate_grad_batches = 1;  // batches per step of the optimiser; their gradients are averaged
  int64_t max_steps = -1;               // batches in all; -1: no limit
  std::string resume;                   // a checkpoint to go on from, bit for bit as if it had not been interrupted
  bool stop_on_nan = true;  // a loss that is NaN or infinite is an Error; on the host before it reaches the weights
};

struct EvaluateOptions {
  int64_t log_freq = 10;
  int verbose = 1;
  std::vector<CallbackPtr> callbacks;
  int64_t max_steps = -1;
};

class OAR_EXPORT Model {
 public:
  // inputs: how many fields of a batch go to the network; those behind are labels.
  explicit Model(std::shared_ptr<nn::Layer> network, int inputs = 1);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Any of them may be absent where it isn't needed.
  void prepare(OptimizerPtr optimizer, Loss loss = {}, std::vector<MetricPtr> metrics = {});
  nn::Layer& network() const { return *network_; }
  const OptimizerPtr& optimizer() const { return optimizer_; }
  const std::vector<MetricPtr>& metrics() const { return metrics_; }
  std::vector<Tensor> parameters() const { return network_->parameters(); }

  // One step in training mode. update: false adds gradients and leaves the weights, for accumulation. Gives the loss of
  // this batch and the metrics since their reset. Waits for the device.
  Logs train_batch(std::span<const Tensor> inputs, std::span<const Tensor> labels, bool update = true);
  // The same without gradients, in evaluation mode. The network's mode is put back.
  Logs eval_batch(std::span<const Tensor> inputs, std::span<const Tensor> labels);
  std::vector<Tensor> predict_batch(std::span<const Tensor> inputs);

  // Trains. Every value in logs and history is a mean over the epoch's samples so far. Throws what the loader, the
  // network or a callback throws, and Error when the loss is not finite; the weights are then those of the last step.
  History fit(data::DataLoader& train, FitOptions options = {});
  // Over one pass, from the loader's first batch: "loss" and the metrics.
  Logs evaluate(data::DataLoader& data, const EvaluateOptions& options = {});
  // The outputs for all batches, joined along the first axis, on the host.
  std::vector<Tensor> predict(data::DataLoader& data, const EvaluateOptions& options = {.verbose = 0});

  // training: a checkpoint with weights, optimiser and schedule, random state and, during fit, the loader's place, metrics,
  // callbacks and history: what FitOptions::resume wants. Otherwise the weights alone, as safetensors. Atomic.
  void save(const std::string& path, bool training = true) const;
  // Reads either. reset_optimizer: weights alone. Throws Error where names or shapes disagree; then nothing has changed.
  void load(const std::string& path, bool reset_optimizer = false);

  // For callbacks.
  const Progress& progress() const { return progress_; }
  const History& history() const { return history_; }
  void stop_training() { stop_ = true; }
  bool gradients_pending() const { return pending_ > 0; }

 private:
  struct Run;
  struct Totals;
  std::vector<Tensor> place(std::span<const Tensor> tensors) const;
  std::pair<std::vector<Tensor>, std::vector<Tensor>> split(const data::Batch& batch, bool labels_wanted) const;
  Tensor loss_of(std::span<const Tensor> outputs, std::span<const Tensor> labels) const;
  void update_metrics(std::span<const Tensor> outputs, std::span<const Tensor> labels);
  void append_metrics(Logs& logs) const;
  void apply_gradients();
  void train_epoch(data::DataLoader& train, const FitOptions& o, Run& run);
  void end_epoch(const FitOptions& o, Run& run);
  void resume(const std::string& path, data::DataLoader& train, Run& run);
  void check_prepared(const char* what) const;
  Logs evaluate_with(data::DataLoader& data, const EvaluateOptions& options, std::span<const CallbackPtr> callbacks);

  std::shared_ptr<nn::Layer> network_;
  int inputs_;
  OptimizerPtr optimizer_;
  Loss loss_;
  std::vector<MetricPtr> metrics_;
  Progress progress_;
  History history_;
  Run* run_ = nullptr;   // while fit runs
  int64_t pending_ = 0;  // batches whose gradients wait for a step
  bool stop_ = false;
};

}  // namespace oarlock
