// Datasets: where samples come from. A sample is a list of tensors, such as {image, label}.
//
// A dataset is shared by pointer and read by several threads at once: get is const and must be safe to call so.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <oarlock/base/tensor.h>
#include <oarlock/data/random.h>
#include <oarlock/data/transform.h>

namespace oarlock::data {

using Sample = std::vector<Tensor>;
// The same fields, each with a batch axis in front.
using Batch = std::vector<Tensor>;

// Samples by number. Derive from it: size and get are enough.
class OAR_EXPORT Dataset {
 public:
  virtual ~Dataset() = default;
  // How many samples there are. A loader asks at the start of every epoch and refuses a size that has changed.
  virtual int64_t size() const = 0;
  // Sample `index`, 0 <= index < size(). Every sample has the same number of fields. Throws what it likes: a loader
  // reports it with the sample's number. Called from any thread, from several at once.
  virtual Sample get(int64_t index) const = 0;
  // A whole batch in one go, as if get and default_collate had made it; none: this dataset makes no batches, and the
  // loader asks for samples one by one. random: one stream per index, for whoever alters samples.
  virtual std::optional<Batch> get_batch(std::span<const int64_t> indices, std::span<Random> random) const;
};

// Samples in a row, of unknown or declared number: files that are read from front to back, sockets.
class OAR_EXPORT SampleStream {
 public:
  virtual ~SampleStream() = default;
  // The next sample, or none at the end. One thread at a time, but not always the same one.
  virtual std::optional<Sample> next() = 0;
};
class OAR_EXPORT IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  // Starts an epoch from its first sample.
  virtual std::unique_ptr<SampleStream> open(int64_t epoch) const = 0;
  // How many samples a stream gives; -1: not known. A stream that gives another number is an error.
  virtual int64_t size() const { return -1; }
};

// Rows of tensors: sample i is row i of each. A batch of it is one gather per tensor.
class OAR_EXPORT TensorDataset : public Dataset {
 public:
  // Throws Error: no tensors, a rank of 0, sizes of the first axis that differ. The tensors are not copied; those that
  // are not row-major host memory are made so.
  explicit TensorDataset(std::vector<Tensor> tensors);
  int64_t size() const override { return size_; }
  Sample get(int64_t index) const override;
  std::optional<Batch> get_batch(std::span<const int64_t> indices, std::span<Random> random) const override;
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
  int64_t size_;
};

// Some samples of another, in the order given.
class OAR_EXPORT Subset : public Dataset {
 public:
  // Throws Error: an index outside the dataset.
  Subset(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices);
  int64_t size() const override { return int64_t(indices_.size()); }
  Sample get(int64_t index) const override;
  std::optional<Batch> get_batch(std::span<const int64_t> indices, std::span<Random> random) const override;
  const std::vector<int64_t>& indices() const { return indices_; }

 private:
  std::vector<int64_t> checked(std::span<const int64_t> indices) const;
  std::shared_ptr<const Dataset> dataset_;
  std::vector<int64_t> indices_;
};

// One after the other.
class OAR_EXPORT ConcatDataset : public Dataset {
 public:
  // Throws Error: an empty list, a part without a value.
  explicit ConcatDataset(std::vector<std::shared_ptr<const Dataset>> parts);
  int64_t size() const override { return ends_.back(); }
  Sample get(int64_t index) const override;

 private:
  std::vector<std::shared_ptr<const Dataset>> parts_;
  std::vector<int64_t> ends_;  // of each part, in samples
};

// Another dataset with a transform on one field of each sample, usually the image at 0. The transform draws from
// sample_random().
class OAR_EXPORT TransformedDataset : public Dataset {
 public:
  TransformedDataset(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const vision::Transform> transform,
                     int field = 0);
  int64_t size() const override { return dataset_->size(); }
  Sample get(int64_t index) const override;
  std::optional<Batch> get_batch(std::span<const int64_t> indices, std::span<Random> random) const override;

 private:
  Tensor& field_of(std::vector<Tensor>& fields) const;
  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const vision::Transform> transform_;
  int field_;
};

// Splits a dataset at random into parts of the given sizes, or, if they are fractions that sum to 1, into those shares:
// each part gets floor(share * size), and what is left goes to the parts in turn, one each. Equal seeds give equal splits.
// Throws Error: sizes that do not sum to the dataset's.
OAR_EXPORT std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                             const std::vector<int64_t>& sizes, uint64_t seed);
OAR_EXPORT std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                             const std::vector<double>& fractions, uint64_t seed);

// Field by field, samples stacked along a new first axis. Throws Error where samples disagree in the number of fields, in
// shape or in dtype; the text says which.
OAR_EXPORT Batch default_collate(const std::vector<Sample>& samples);

}  // namespace oarlock::data
