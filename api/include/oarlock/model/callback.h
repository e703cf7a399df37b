// Callbacks: what fit and evaluate tell others, and those that ship. Names are paddle.callbacks'.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <oarlock/types.h>

namespace oarlock {

class Model;

// Values by name, in the order they are shown.
using Logs = std::vector<std::pair<std::string, double>>;
// Null where there is none of that name.
inline const double* find(const Logs& logs, const std::string& name) {
  for (auto& [key, value] : logs)
    if (key == name) return &value;
  return nullptr;
}

// Where a run is.
struct Progress {
  int64_t epoch = 0, epochs = 0;  // current, from 0; in all
  int64_t step = 0, steps = -1;   // batches of this epoch done; in all, -1: not known
  int64_t total_steps = 0;        // batches since the run began, over all epochs
  int64_t samples = 0;            // of this epoch done
  int64_t log_freq = 10;
};

// Derive from it; every function may be left out. Throwing ends the run. logs hold means over the epoch's samples so far;
// off the host they are those of the last look at the device, every log_freq steps.
class OAR_EXPORT Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin() {}
  virtual void on_train_end(const Logs&) {}
  virtual void on_train_failed() {}  // something was thrown; called while it is on its way
  virtual void on_epoch_begin(int64_t /*epoch*/) {}
  virtual void on_epoch_end(int64_t /*epoch*/, const Logs&) {}  // with val_... values where there was an evaluation
  virtual void on_train_batch_begin(int64_t /*step*/) {}
  virtual void on_train_batch_end(int64_t /*step*/, const Logs&) {}
  virtual void on_eval_begin(int64_t /*steps, -1: not known*/) {}
  virtual void on_eval_batch_end(int64_t /*step*/, const Logs&) {}
  virtual void on_eval_end(const Logs&) {}
  // What it needs to go on after a resume; kept in checkpoints by the callback's place in the list.
  virtual std::vector<double> state() const { return {}; }
  virtual void set_state(const std::vector<double>&) {}
  // Called in rising order: schedules first (-10), checkpoints last (10).
  virtual int order() const { return 0; }

  void set_model(Model* model) { model_ = model; }
  Model& model() const { return *model_; }

 private:
  Model* model_ = nullptr;
};
using CallbackPtr = std::shared_ptr<Callback>;

class EventWriter;

namespace callbacks {

// Shows how far training is. verbose 1: on a terminal a bar that is redrawn, elsewhere a plain line at most ten times an
// epoch; 2: a line per epoch.
class OAR_EXPORT ProgBarLogger : public Callback {
 public:
  // out is not closed. terminal: -1 asks the system.
  explicit ProgBarLogger(int verbose = 1, std::FILE* out = nullptr, int terminal = -1);
  void on_train_begin() override;
  void on_train_end(const Logs&) override;
  void on_train_failed() override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_batch_end(int64_t step, const Logs& logs) override;
  void on_eval_begin(int64_t steps) override;
  void on_eval_batch_end(int64_t step, const Logs& logs) override;
  void on_eval_end(const Logs& logs) override;

 private:
  void draw(const std::string& text, bool last);
  std::string line(const char* what, int64_t step, int64_t steps, const Logs& logs, bool bar) const;
  std::FILE* out_;
  int verbose_;
  bool terminal_, dirty_ = false, training_ = false;
  int64_t eval_steps_ = -1, skipped_ = 0;
  std::chrono::steady_clock::time_point begin_{}, drawn_{};
};

// Checkpoints in a folder, which is made if it isn't there: "EPOCH.safetensors" after every `every_epochs` epochs,
// "last.safetensors" after every `every_steps` batches (0: never), "final.safetensors" at the end, and with monitor set
// "best.safetensors" whenever that value is the best so far. Each is written beside its target and renamed over it.
struct ModelCheckpointOptions {
  int64_t every_epochs = 1, every_steps = 0;
  int64_t keep = -1;      // of the numbered files only the newest so many; -1: all
  std::string monitor;    // "val_acc"
  std::string mode = "";  // "min", "max"; empty: max for accuracies, precision, recall, auc; else min
};
class OAR_EXPORT ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(std::string folder, ModelCheckpointOptions options = {});
  void on_train_begin() override;
  void on_train_batch_end(int64_t step, const Logs&) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_end(const Logs&) override;
  std::vector<double> state() const override { return {double(any_), best_}; }
  void set_state(const std::vector<double>& state) override;
  int order() const override { return 10; }

 private:
  std::string path(const std::string& name) const;
  std::string folder_;
  ModelCheckpointOptions options_;
  bool any_ = false, due_ = false;
  double best_ = 0;
  int64_t since_ = 0;
};

// Ends training when a value has not become better by more than min_delta for more than `patience` epochs in a row.
// best_path: where to keep the best weights (training = false); empty: nowhere.
struct EarlyStoppingOptions {
  std::string monitor = "val_loss", mode = "";  // mode as in ModelCheckpointOptions
  int64_t patience = 0;
  double min_delta = 0;
  std::string best_path;
};
class OAR_EXPORT EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  std::vector<double> state() const override { return {double(any_), best_, double(bad_)}; }
  void set_state(const std::vector<double>& state) override;
  int order() const override { return 5; }
  double best() const { return best_; }

 private:
  EarlyStoppingOptions options_;
  bool any_ = false;
  double best_ = 0;
  int64_t bad_ = 0;
};

// A row per epoch: epoch, then the logs by name. append: goes on behind what is there, if its header is the same. Rows are
// flushed, so a killed run keeps them; values read back as the same bits.
class OAR_EXPORT CSVLogger : public Callback {
 public:
  explicit CSVLogger(std::string path, bool append = false);
  ~CSVLogger() override;
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;

 private:
  std::string path_;
  bool append_;
  std::FILE* file_ = nullptr;
  std::vector<std::string> columns_;
};

// Steps the optimiser's schedule after every batch that changed the weights, or after every epoch. A ReduceOnPlateau is
// stepped after every epoch with the value of `monitor`. fit adds one by step if there is none in its list.
class OAR_EXPORT LRScheduler : public Callback {
 public:
  explicit LRScheduler(bool by_step = true, bool by_epoch = false, std::string monitor = "loss");
  void on_train_batch_end(int64_t step, const Logs&) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  int order() const override { return -10; }

 private:
  bool by_step_, by_epoch_;
  std::string monitor_;
};

// Event files that TensorBoard reads: train/... every log_freq batches, epoch/... after every epoch.
class OAR_EXPORT TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::string log_dir);
  ~TensorBoard() override;
  void on_train_begin() override;
  void on_train_batch_end(int64_t step, const Logs& logs) override;
  void on_epoch_end(int64_t epoch, const Logs& logs) override;
  void on_train_end(const Logs&) override;
  void on_train_failed() override;

 private:
  std::string folder_;
  std::unique_ptr<EventWriter> writer_;
};

}  // namespace callbacks
}  // namespace oarlock
