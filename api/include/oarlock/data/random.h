// Random numbers for data: what order samples come in and how each is altered.
//
// Every stream is a pure function of where it is used: (seed, epoch) for an order, (seed, epoch, sample) for what alters
// a sample. So a run repeats bit for bit whatever the number of worker threads, and resumes in the middle of an epoch
// without any stored generator.
#pragma once
#include <cstdint>

#include <oarlock/types.h>

namespace oarlock::data {

// A stream of Philox4x32-10 words (Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3): key, and a counter of
// (block, a, b). A value; copying it forks the stream. Not for several threads at once.
class OAR_EXPORT Random {
 public:
  Random(uint64_t key, uint32_t a, uint64_t b) : key_(key), b_(b), a_(a) {}
  // The stream that alters sample `index` in `epoch` of a loader with that seed. Its key is not the seed itself, so that
  // it shares no number with the tensors that random ops draw from the same seed.
  static Random of_sample(uint64_t seed, int64_t epoch, int64_t index);
  // The stream that orders the samples of an epoch.
  static Random of_order(uint64_t seed, int64_t epoch);

  uint32_t word() {
    if (at_ == 4) refill();
    return block_[at_++];
  }
  uint64_t wide();   // 64 bits
  double uniform();  // [0, 1), a multiple of 2^-53
  bool coin(double probability) { return uniform() < probability; }
  // 0..n-1, each equally likely (Lemire 2019, Fast random integer generation in an interval); n of 1 or less: 0.
  int64_t below(int64_t n);

 private:
  void refill();
  uint64_t key_, b_;
  uint32_t a_, block_number_ = 0;
  uint32_t block_[4] = {};
  int at_ = 4;
};

// The stream of the sample that this thread is making: a loader sets it before it asks a dataset for a sample, so that
// random transforms called inside Dataset::get need no argument. Outside a loader every call takes one draw of the
// library's generator and starts a stream from it.
OAR_EXPORT Random& sample_random();

// While one lives, sample_random() on this thread is `random`. Nests.
class OAR_EXPORT SampleScope {
 public:
  explicit SampleScope(Random& random);
  ~SampleScope();
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;

 private:
  Random* before_;
};

}  // namespace oarlock::data
