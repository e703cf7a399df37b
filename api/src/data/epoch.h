// One epoch of a loader, from some batch on: makes batches on worker threads, or on the caller's, and hands them out in
// order.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <oarlock/data/loader.h>

namespace oarlock::data {

struct EpochSource {
  std::shared_ptr<const Dataset> dataset;  // one of the two
  std::shared_ptr<const IterableDataset> stream;
  int64_t size = 0;  // samples, as the loader was told
  Collate collate;
  uint64_t seed = 0;
  int64_t batch_size = 1;  // of a stream
  bool drop_last = false;  // of a stream
  int workers = 0, prefetch = 2;
};

class Epoch {
 public:
  Epoch(const EpochSource& source, Batches batches, int64_t epoch, int64_t first_batch);
  ~Epoch();
  std::optional<Batch> next();
  // In a child of fork(): the workers stayed in the parent, perhaps with a lock held.
  bool forked() const;

 private:
  struct Slot {
    bool ready = false;
    std::optional<Batch> batch;  // none: the end
    std::exception_ptr error;
  };
  void work();
  bool take(int64_t& out_b);
  void deliver(int64_t b, Slot slot);
  Slot attempt(int64_t b);
  Slot attempt_stream(int64_t b, std::unique_lock<std::mutex>& reading);
  Batch make(int64_t b) const;
  Batch make_one_by_one(std::span<const int64_t> indices, std::vector<Random>& random, int64_t b) const;
  std::vector<Sample> read(int64_t b);
  void skip_to(int64_t b);
  Batch collate(const std::vector<Sample>& samples, int64_t b) const;

  EpochSource source_;
  Batches batches_;
  int64_t epoch_;

  std::mutex lock_;
  std::condition_variable room_, filled_;
  std::vector<Slot> ring_;  // batch b lies in slot b % size
  int64_t taken_, given_;   // batches begun by workers, handed out
  int64_t end_;             // batches in all, as far as known
  bool stop_ = false;

  std::mutex reading_;  // of the stream
  std::unique_ptr<SampleStream> stream_;
  std::atomic<bool> ended_{false};
  int64_t read_ = 0;  // samples

  std::vector<std::thread> workers_;
  pid_t process_;
};

// A child of fork() leaves the epoch where it lies: there is nothing to join, and destroying what a lost thread waits on
// would wait for it.
struct EpochEnd {
  void operator()(Epoch* e) const {
    if (!e->forked()) delete e;
  }
};
using EpochPtr = std::unique_ptr<Epoch, EpochEnd>;

}  // namespace oarlock::data
