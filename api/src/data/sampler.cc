#include <oarlock/data/sampler.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <oarlock/base/status.h>

#include "api/src/data/rows.h"

namespace oarlock::data {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(Code::invalid_argument, text); }

void check_size(const char* who, int64_t size) {
  if (size < 0) fail(std::string(who) + ": the size is " + std::to_string(size) + "; it must be 0 or more.");
}

}  // namespace

SequenceSampler::SequenceSampler(int64_t size) : size_(size) { check_size("SequenceSampler", size); }
std::vector<int64_t> SequenceSampler::indices(int64_t) const {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

RandomSampler::RandomSampler(int64_t size, uint64_t seed, bool replacement, int64_t count)
    : range_(size), count_(count == -1 ? size : count), seed_(seed), replacement_(replacement) {
  check_size("RandomSampler", size);
  check_size("RandomSampler", count_);
  if (!replacement && count_ > size)
    fail("RandomSampler: " + std::to_string(count_) + " indices of " + std::to_string(size) +
         " without replacement. Ask for fewer, or set replacement.");
  if (count_ > 0 && size == 0) fail("RandomSampler: " + std::to_string(count_) + " indices of an empty dataset.");
}
std::vector<int64_t> RandomSampler::indices(int64_t epoch) const {
  Random random = Random::of_order(seed_, epoch);
  if (!replacement_) {
    std::vector<int64_t> order = permutation(range_, random);
    order.resize(size_t(count_));
    return order;
  }
  std::vector<int64_t> drawn(static_cast<size_t>(count_));
  for (int64_t& i : drawn) i = random.below(range_);
  return drawn;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, int64_t count, uint64_t seed,
                                             bool replacement)
    : weights_(std::move(weights)), count_(count), seed_(seed), replacement_(replacement) {
  check_size("WeightedRandomSampler", count);
  double sum = 0;
  int64_t positive = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!(weights_[i] >= 0) || !std::isfinite(weights_[i]))
      fail("WeightedRandomSampler: weight " + std::to_string(i) + " is " + std::to_string(weights_[i]) +
           "; weights are finite and not negative.");
    sum += weights_[i];
    positive += weights_[i] > 0;
  }
  if (count && !(sum > 0 && std::isfinite(sum)))
    fail("WeightedRandomSampler: the weights sum to " + std::to_string(sum) + "; they need a finite sum above zero.");
  if (!replacement && count > positive)
    fail("WeightedRandomSampler: " + std::to_string(count) + " draws without replacement of " +
         std::to_string(positive) + " weights above zero.");
}
std::vector<int64_t> WeightedRandomSampler::indices(int64_t epoch) const {
  Random random = Random::of_order(seed_, epoch);
  std::vector<int64_t> drawn;
  drawn.reserve(size_t(count_));
  if (replacement_) {
    std::vector<double> ends(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), ends.begin());
    for (int64_t i = 0; i < count_; ++i) {
      double u = random.uniform() * ends.back();
      auto at = std::upper_bound(ends.begin(), ends.end(), u);
      if (at == ends.end()) at = std::lower_bound(ends.begin(), ends.end(), ends.back());  // u rounded up to the sum
      drawn.push_back(at - ends.begin());
    }
    return drawn;
  }
  std::vector<std::pair<double, int64_t>> keys;  // exponential with rate w: the smallest come first
  for (size_t i = 0; i < weights_.size(); ++i) {
    double u = random.uniform();
    if (weights_[i] > 0) keys.emplace_back(-std::log1p(-u) / weights_[i], int64_t(i));
  }
  std::sort(keys.begin(), keys.end());
  for (int64_t i = 0; i < count_; ++i) drawn.push_back(keys[size_t(i)].second);
  return drawn;
}

BatchSampler::BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last)
    : BatchSampler(batch_size, drop_last) {
  if (!sampler) fail("BatchSampler: no sampler.");
  sampler_ = std::move(sampler);
}
BatchSampler::BatchSampler(int64_t batch_size, bool drop_last) : batch_size_(batch_size), drop_last_(drop_last) {
  if (batch_size < 1) fail("BatchSampler: batch_size is " + std::to_string(batch_size) + "; it must be 1 or more.");
}
int64_t BatchSampler::batches_of(int64_t indices) const {
  return indices / batch_size_ + (!drop_last_ && indices % batch_size_ ? 1 : 0);
}
Batches BatchSampler::cut(std::vector<int64_t> indices) const {
  Batches b;
  int64_t n = int64_t(indices.size()), count = batches_of(n);
  b.indices = std::move(indices);
  for (int64_t i = 1; i <= count; ++i) b.ends.push_back(std::min(n, i * batch_size_));
  return b;
}
int64_t BatchSampler::size() const { return batches_of(sampler_->size()); }
Batches BatchSampler::batches(int64_t epoch) const {
  std::vector<int64_t> all = sampler_->indices(epoch);
  if (int64_t(all.size()) != sampler_->size())
    throw Error(Code::bad_data, "BatchSampler: the sampler gave " + std::to_string(all.size()) +
                                    " indices, its size is " + std::to_string(sampler_->size()) + ".");
  return cut(std::move(all));
}

DistributedBatchSampler::DistributedBatchSampler(int64_t size, int64_t batch_size, int replicas, int rank, bool shuffle,
                                                 bool drop_last, uint64_t seed)
    : BatchSampler(batch_size, drop_last),
      range_(size),
      replicas_(replicas),
      rank_(rank),
      shuffle_(shuffle),
      seed_(seed) {
  check_size("DistributedBatchSampler", size);
  if (replicas < 1) fail("DistributedBatchSampler: " + std::to_string(replicas) + " replicas; there is at least one.");
  if (rank < 0 || rank >= replicas)
    fail("DistributedBatchSampler: rank " + std::to_string(rank) + " is outside 0.." + std::to_string(replicas - 1) +
         ".");
}
int64_t DistributedBatchSampler::share() const {
  return range_ / replicas_ + (!drop_last() && range_ % replicas_ ? 1 : 0);
}
int64_t DistributedBatchSampler::size() const { return batches_of(share()); }
Batches DistributedBatchSampler::batches(int64_t epoch) const {
  std::vector<int64_t> all =
      shuffle_ ? permutation(range_, Random::of_order(seed_, epoch)) : SequenceSampler(range_).indices(epoch);
  std::vector<int64_t> mine;
  int64_t n = share();
  for (int64_t i = 0; i < n; ++i) mine.push_back(all[size_t((i * replicas_ + rank_) % range_)]);
  return cut(std::move(mine));
}

}  // namespace oarlock::data
