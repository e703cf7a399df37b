#include <oarlock/model/callback.h>

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <oarlock/model.h>
#include <oarlock/model/event_file.h>

#include "api/src/model/monitor.h"

namespace oarlock {

bool wants_max(const char* who, const std::string& mode, const std::string& monitor) {
  if (mode == "min" || mode == "max") return mode == "max";
  if (!mode.empty())
    throw Error(Code::invalid_argument, std::string(who) + ": mode is \"" + mode + "\", expects \"min\" or \"max\".");
  for (const char* high : {"acc", "precision", "recall", "auc"})
    if (monitor.find(high) != std::string::npos) return true;
  return false;
}
double monitored(const char* who, const std::string& monitor, const Logs& logs) {
  if (const double* value = find(logs, monitor)) return *value;
  std::string have;
  for (auto& [name, value] : logs) have += (have.empty() ? "" : ", ") + name;
  throw Error(Code::invalid_argument,
              std::string(who) + ": there is no value \"" + monitor + "\" to watch; there are " + have + ".");
}

namespace callbacks {

ModelCheckpoint::ModelCheckpoint(std::string folder, ModelCheckpointOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (folder_.empty()) throw Error(Code::invalid_argument, "ModelCheckpoint: the folder has no name.");
  if (options_.every_epochs < 0 || options_.every_steps < 0)
    throw Error(Code::invalid_argument, "ModelCheckpoint: every_epochs and every_steps are 0 or more.");
  wants_max("ModelCheckpoint", options_.mode, options_.monitor);
}
std::string ModelCheckpoint::path(const std::string& name) const { return folder_ + "/" + name + ".safetensors"; }
void ModelCheckpoint::on_train_begin() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error)
    throw Error(Code::bad_data, "ModelCheckpoint: the folder " + folder_ + " can't be made: " + error.message() + ".");
  since_ = 0;
}
void ModelCheckpoint::on_train_batch_end(int64_t, const Logs&) {
  if (!options_.every_steps) return;
  if (++since_ < options_.every_steps || model().gradients_pending()) return;  // half a step can't be resumed
  since_ = 0;
  model().save(path("last"));
}
void ModelCheckpoint::on_epoch_end(int64_t epoch, const Logs& logs) {
  if (!options_.monitor.empty()) {
    double value = monitored("ModelCheckpoint", options_.monitor, logs);
    bool max = wants_max("ModelCheckpoint", options_.mode, options_.monitor);
    if (!any_ || (max ? value > best_ : value < best_)) {
      any_ = true;
      best_ = value;
      model().save(path("best"));
    }
  }
  if (!options_.every_epochs || (epoch + 1) % options_.every_epochs) return;
  model().save(path(std::to_string(epoch)));
  if (options_.keep < 0) return;
  std::error_code ignored;
  std::filesystem::remove(path(std::to_string(epoch - options_.keep * options_.every_epochs)), ignored);
}
void ModelCheckpoint::on_train_end(const Logs&) { model().save(path("final")); }
void ModelCheckpoint::set_state(const std::vector<double>& state) {
  if (state.size() != 2) return;
  any_ = state[0] != 0, best_ = state[1];
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {
  wants_max("EarlyStopping", options_.mode, options_.monitor);
  if (options_.patience < 0 || !(options_.min_delta >= 0))
    throw Error(Code::invalid_argument, "EarlyStopping: patience and min_delta are 0 or more.");
}
void EarlyStopping::on_epoch_end(int64_t, const Logs& logs) {
  double value = monitored("EarlyStopping", options_.monitor, logs);
  bool max = wants_max("EarlyStopping", options_.mode, options_.monitor);
  double gain = max ? value - best_ : best_ - value;
  if (!any_ || gain > options_.min_delta) {
    any_ = true;
    best_ = value;
    bad_ = 0;
    if (!options_.best_path.empty()) model().save(options_.best_path, false);
  } else if (++bad_ > options_.patience) {
    model().stop_training();
  }
}
void EarlyStopping::set_state(const std::vector<double>& state) {
  if (state.size() != 3) return;
  any_ = state[0] != 0, best_ = state[1], bad_ = int64_t(state[2]);
}

CSVLogger::CSVLogger(std::string path, bool append) : path_(std::move(path)), append_(append) {}
CSVLogger::~CSVLogger() {
  if (file_) std::fclose(file_);
}
void CSVLogger::on_train_begin() {
  if (file_) return;
  if (append_) {
    std::ifstream old(path_);
    std::string header, name;
    if (std::getline(old, header))
      for (std::istringstream s(header); std::getline(s, name, ',');) columns_.push_back(name);
  }
  file_ = std::fopen(path_.c_str(), append_ ? "ae" : "we");
  if (!file_) throw Error(Code::bad_data, "CSVLogger: " + path_ + " can't be written: " + std::strerror(errno) + ".");
}
void CSVLogger::on_epoch_end(int64_t epoch, const Logs& logs) {
  std::string text;
  if (columns_.empty()) {
    columns_.push_back("epoch");
    for (auto& [name, value] : logs) columns_.push_back(name);
    for (size_t i = 0; i < columns_.size(); ++i) text += (i ? "," : "") + columns_[i];
    text += "\n";
  }
  text += std::to_string(epoch);
  for (size_t i = 1; i < columns_.size(); ++i) {
    text += ",";
    if (const double* value = find(logs, columns_[i])) {  // an epoch without evaluation leaves its places empty
      char digits[32];
      text.append(digits, std::to_chars(digits, digits + sizeof digits, *value).ptr);
    }
  }
  text += "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_))
    throw Error(Code::bad_data, "CSVLogger: " + path_ + " can't be written: " + std::strerror(errno) + ".");
}

LRScheduler::LRScheduler(bool by_step, bool by_epoch, std::string monitor)
    : by_step_(by_step), by_epoch_(by_epoch), monitor_(std::move(monitor)) {
  if (by_step && by_epoch)
    throw Error(Code::invalid_argument, "LRScheduler: by_step and by_epoch are both set. Choose one.");
}
void LRScheduler::on_train_batch_end(int64_t, const Logs&) {
  optim::lr::SchedulerPtr s = model().optimizer()->lr_scheduler();
  if (!s || !by_step_ || model().gradients_pending()) return;
  if (!dynamic_cast<optim::lr::ReduceOnPlateau*>(s.get())) s->step();
}
void LRScheduler::on_epoch_end(int64_t, const Logs& logs) {
  optim::lr::SchedulerPtr s = model().optimizer()->lr_scheduler();
  if (!s) return;
  if (auto* plateau = dynamic_cast<optim::lr::ReduceOnPlateau*>(s.get()))
    plateau->step(monitored("LRScheduler", monitor_, logs));
  else if (by_epoch_) s->step();
}

TensorBoard::TensorBoard(std::string log_dir) : folder_(std::move(log_dir)) {}
TensorBoard::~TensorBoard() = default;
void TensorBoard::on_train_begin() {
  if (!writer_) writer_ = std::make_unique<EventWriter>(folder_);
}
void TensorBoard::on_train_batch_end(int64_t step, const Logs& logs) {
  const Progress& p = model().progress();
  if (step % p.log_freq) return;
  for (auto& [name, value] : logs) writer_->add_scalar("train/" + name, p.total_steps, value);
  writer_->add_scalar("train/lr", p.total_steps, model().optimizer()->get_lr());
}
void TensorBoard::on_epoch_end(int64_t epoch, const Logs& logs) {
  for (auto& [name, value] : logs) writer_->add_scalar("epoch/" + name, epoch, value);
  writer_->flush();
}
void TensorBoard::on_train_end(const Logs&) { writer_->flush(); }
void TensorBoard::on_train_failed() {
  if (!writer_) return;
  try {
    writer_->flush();
  } catch (const Error&) {  // another error is on its way
  }
}

}  // namespace callbacks
}  // namespace oarlock
