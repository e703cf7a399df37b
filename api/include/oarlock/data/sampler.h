// Samplers: in which order a loader asks for samples, and how it groups them.
//
// An epoch's order is a function of the sampler and the epoch's number, nothing else: a loader that resumes asks for the
// same epoch again and skips what it has delivered. Samplers are const while a loader uses them; any thread.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <oarlock/types.h>

namespace oarlock::data {

class OAR_EXPORT Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;  // indices per epoch
  virtual std::vector<int64_t> indices(int64_t epoch) const = 0;
  // What the order depends on beside the epoch; kept in a loader's state so that it resumes the same order.
  virtual uint64_t seed() const { return 0; }
  virtual void set_seed(uint64_t) {}
};

// 0, 1, ... size-1.
class OAR_EXPORT SequenceSampler : public Sampler {
 public:
  explicit SequenceSampler(int64_t size);
  int64_t size() const override { return size_; }
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  int64_t size_;
};

// A new permutation of 0..size-1 every epoch (Fisher-Yates); with replacement, independent draws.
class OAR_EXPORT RandomSampler : public Sampler {
 public:
  // count: indices per epoch; -1: size. Above size it wants replacement. Throws Error: negative sizes, replacement from
  // nothing.
  RandomSampler(int64_t size, uint64_t seed, bool replacement = false, int64_t count = -1);
  int64_t size() const override { return count_; }
  std::vector<int64_t> indices(int64_t epoch) const override;
  uint64_t seed() const override { return seed_; }
  void set_seed(uint64_t seed) override { seed_ = seed; }

 private:
  int64_t range_, count_;
  uint64_t seed_;
  bool replacement_;
};

// Index i with probability weights[i] / sum. Without replacement, each next draw is among those left (Efraimidis and
// Spirakis 2006); weights of zero are never drawn.
class OAR_EXPORT WeightedRandomSampler : public Sampler {
 public:
  // Throws Error: a weight that is negative or not finite, a sum of zero, more draws without replacement than there are
  // weights above zero.
  WeightedRandomSampler(std::vector<double> weights, int64_t count, uint64_t seed, bool replacement = true);
  int64_t size() const override { return count_; }
  std::vector<int64_t> indices(int64_t epoch) const override;
  uint64_t seed() const override { return seed_; }
  void set_seed(uint64_t seed) override { seed_ = seed; }

 private:
  std::vector<double> weights_;
  int64_t count_;
  uint64_t seed_;
  bool replacement_;
};

// An epoch's indices, cut into batches: batch b is indices[ends[b-1]..ends[b]).
struct Batches {
  std::vector<int64_t> indices, ends;
  int64_t count() const { return int64_t(ends.size()); }
  std::span<const int64_t> operator[](int64_t b) const {
    size_t from = b ? size_t(ends[size_t(b) - 1]) : 0;
    return {indices.data() + from, size_t(ends[size_t(b)]) - from};
  }
};

// Groups the indices of a sampler. Derive from it for batches of unequal sizes.
class OAR_EXPORT BatchSampler {
 public:
  // Throws Error: no sampler, a batch size below 1. drop_last: an incomplete last batch is left out.
  BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last = false);
  virtual ~BatchSampler() = default;
  virtual int64_t size() const;  // batches per epoch
  virtual Batches batches(int64_t epoch) const;
  virtual uint64_t seed() const { return sampler_ ? sampler_->seed() : 0; }
  virtual void set_seed(uint64_t seed) {
    if (sampler_) sampler_->set_seed(seed);
  }
  int64_t batch_size() const { return batch_size_; }
  bool drop_last() const { return drop_last_; }

 protected:
  BatchSampler(int64_t batch_size, bool drop_last);  // for those without a Sampler behind
  Batches cut(std::vector<int64_t> indices) const;
  int64_t batches_of(int64_t indices) const;

 private:
  std::shared_ptr<Sampler> sampler_;
  int64_t batch_size_;
  bool drop_last_;
};

// The share of one of `replicas` processes: of the (shuffled) indices i, replica r gets those at places r, r + replicas,
// ... All replicas get equally many: the order is extended from its start (drop_last: cut) to a multiple of `replicas`.
// drop_last also leaves out an incomplete last batch.
class OAR_EXPORT DistributedBatchSampler : public BatchSampler {
 public:
  // size: of the dataset. Every replica must pass the same seed. Throws Error: rank outside 0..replicas-1.
  DistributedBatchSampler(int64_t size, int64_t batch_size, int replicas, int rank, bool shuffle = false,
                          bool drop_last = false, uint64_t seed = 0);
  int64_t size() const override;
  Batches batches(int64_t epoch) const override;
  uint64_t seed() const override { return seed_; }
  void set_seed(uint64_t seed) override { seed_ = seed; }

 private:
  int64_t share() const;
  int64_t range_;
  int replicas_, rank_;
  bool shuffle_;
  uint64_t seed_;
};

}  // namespace oarlock::data
