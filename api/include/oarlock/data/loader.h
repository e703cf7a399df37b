// The loader: batches of a dataset, made ahead by worker threads, delivered in order.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <oarlock/base/device.h>
#include <oarlock/data/dataset.h>
#include <oarlock/data/sampler.h>

namespace oarlock::data {

// A sample that could not be had. what() names it: "DataLoader: sample 17 (batch 3): ...".
class OAR_EXPORT SampleError : public Error {
 public:
  SampleError(Code code, const std::string& text, int64_t index, std::exception_ptr cause)
      : Error(code, text), index_(index), cause_(std::move(cause)) {}
  int64_t index() const { return index_; }                    // of the sample; -1: of the batch as a whole
  const std::exception_ptr& cause() const { return cause_; }  // what the dataset threw

 private:
  int64_t index_;
  std::exception_ptr cause_;
};

using Collate = std::function<Batch(const std::vector<Sample>& samples)>;

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;
  int num_workers = 0;  // threads; 0: batches are made in next(), on the caller's thread
  int prefetch = 2;     // batches per worker that may be ready or in the making
  Collate collate;      // empty: default_collate, or the dataset's own get_batch. Called on worker threads.
  // Order and transforms depend on it. Not given: drawn from the library's generator when the loader is made, so that
  // set_seed decides it.
  std::optional<uint64_t> seed;
  Device device;  // where batches are put, by the thread that calls next()
  // Instead of batch_size, shuffle and drop_last.
  std::shared_ptr<BatchSampler> batch_sampler;
};

// Where a loader is: enough to deliver the rest of the epoch, and all later ones, bit for bit.
struct LoaderState {
  uint64_t seed = 0;
  uint64_t sampler_seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;  // batches of this epoch delivered
};

// Use from one thread. To loop over an epoch: `for (const Batch& batch : loader)`; begin() goes on where state() is.
// Destroying a loader, or leaving a loop, in the middle of an epoch stops the workers after the sample they are at. After
// fork() in the middle of an epoch the parent goes on; in the child next() is an Error.
class OAR_EXPORT DataLoader {
 public:
  // Throws Error: options that disagree or are out of bounds.
  DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  // Samples come in the stream's order; shuffle and a batch sampler are errors. Workers read in turn and collate at once.
  DataLoader(std::shared_ptr<const IterableDataset> dataset, LoaderOptions options);
  ~DataLoader();
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;

  int64_t size() const;          // batches per epoch; -1: a stream of unknown length
  int64_t sample_count() const;  // samples in the dataset; -1: not known
  // The next batch of the current epoch; none at its end, once: then the next epoch begins. Throws SampleError for a
  // sample or batch that could not be made, Error for a dataset that changed its size. After an error the epoch is over
  // for the workers; the next call begins again at the batch that failed.
  std::optional<Batch> next();
  // What a loop over the loader begins with: in the middle of an epoch that nobody resumed, the next epoch; otherwise
  // nothing.
  void begin_epoch();
  // Starts `epoch` at its first batch. Without it epochs count up from 0.
  void set_epoch(int64_t epoch);
  LoaderState state() const;
  void set_state(const LoaderState& state);

  // Input iterator over the rest of the current epoch.
  class OAR_EXPORT Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    const Batch& operator*() const { return *batch_; }
    const Batch* operator->() const { return &*batch_; }
    Iterator& operator++();
    bool operator==(const Iterator& o) const { return batch_.has_value() == o.batch_.has_value(); }

   private:
    friend class DataLoader;
    DataLoader* loader_ = nullptr;
    std::optional<Batch> batch_;
  };
  Iterator begin();
  Iterator end() const { return {}; }

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace oarlock::data
