// What a running fit keeps.
#pragma once
#include <set>
#include <string>
#include <vector>

#include <oarlock/model.h>

namespace oarlock {

// A mean of losses weighted by batch size. Off the host a loss is only looked at when somebody asks, in the order they
// came, so the sum has the same bits however often that is.
struct Model::Totals {
  struct Waiting {
    Tensor loss;
    double samples;
    int64_t epoch, step;
  };
  double sum = 0, samples = 0;
  std::vector<Waiting> waiting;
  bool stop_on_nan = true;

  void add(const Tensor& loss, double n, int64_t epoch, int64_t step);
  void settle();
  double mean() const { return samples > 0 ? sum / samples : 0; }
};

struct Model::Run {
  data::DataLoader* train = nullptr;
  std::vector<CallbackPtr> callbacks;  // in calling order
  Totals totals;
  int64_t first_epoch = 0;
  bool epoch_done = false;    // checkpoints stand before the next epoch
  bool whole = false;         // the last epoch was not cut short
  std::set<std::string> cut;  // what the history has of an epoch that was
};

}  // namespace oarlock
