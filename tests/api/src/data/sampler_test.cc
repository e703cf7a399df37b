#include <oarlock/data/sampler.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <oarlock/data/random.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::data {
namespace {

using test::error_of;

// Known answers of Philox4x32-10, from the paper's reference implementation (Random123's kat_vectors).
TEST(Random, IsPhilox) {
  Random zero(0, 0, 0);
  EXPECT_EQ(zero.word(), 0x6627e8d5u);
  EXPECT_EQ(zero.word(), 0xe169c58du);
  EXPECT_EQ(zero.word(), 0xbc57ac4cu);
  EXPECT_EQ(zero.word(), 0x9b00dbd8u);
}

TEST(Random, BelowIsInRangeAndEven) {
  Random r(1, 2, 3);
  std::vector<int> seen(7);
  for (int i = 0; i < 70000; ++i) {
    int64_t n = r.below(7);
    ASSERT_TRUE(n >= 0 && n < 7);
    ++seen[size_t(n)];
  }
  double chi = 0;
  for (int n : seen) chi += (n - 10000.0) * (n - 10000.0) / 10000.0;
  EXPECT_LT(chi, 22.5);  // 0.1 % of samples of 6 degrees of freedom
  EXPECT_EQ(r.below(1), 0);
  EXPECT_EQ(r.below(0), 0);
  for (int i = 0; i < 100; ++i) EXPECT_GE(r.below(INT64_MAX), 0);
}

TEST(Random, StreamsOfSamplesDiffer) {
  uint32_t a = Random::of_sample(1, 0, 0).word();
  EXPECT_NE(a, Random::of_sample(2, 0, 0).word());
  EXPECT_NE(a, Random::of_sample(1, 1, 0).word());
  EXPECT_NE(a, Random::of_sample(1, 0, 1).word());
  EXPECT_EQ(a, Random::of_sample(1, 0, 0).word());
}

TEST(Sampler, SequenceAndBatches) {
  BatchSampler keep(std::make_shared<SequenceSampler>(7), 3), drop(std::make_shared<SequenceSampler>(7), 3, true);
  EXPECT_EQ(keep.size(), 3);
  EXPECT_EQ(drop.size(), 2);
  Batches b = keep.batches(0);
  ASSERT_EQ(b.count(), 3);
  EXPECT_EQ(std::vector<int64_t>(b[2].begin(), b[2].end()), std::vector<int64_t>{6});
  EXPECT_EQ(std::vector<int64_t>(b[1].begin(), b[1].end()), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(drop.batches(0).count(), 2);
  EXPECT_EQ(BatchSampler(std::make_shared<SequenceSampler>(0), 3).batches(0).count(), 0);
}

TEST(Sampler, RandomIsAPermutationThatDependsOnSeedAndEpochAlone) {
  RandomSampler a(100, 5), b(100, 5), c(100, 6);
  std::vector<int64_t> first = a.indices(0), sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(sorted[size_t(i)], i);
  EXPECT_EQ(b.indices(0), first);
  EXPECT_NE(a.indices(1), first);
  EXPECT_NE(c.indices(0), first);
  c.set_seed(5);
  EXPECT_EQ(c.indices(0), first);
  EXPECT_EQ(RandomSampler(100, 5, false, 10).indices(0), std::vector<int64_t>(first.begin(), first.begin() + 10));
}

TEST(Sampler, EveryPlaceIsEquallyLikely) {
  std::vector<int> where(5);
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    std::vector<int64_t> order = RandomSampler(5, seed).indices(0);
    ++where[size_t(std::find(order.begin(), order.end(), 0) - order.begin())];
  }
  for (int n : where) EXPECT_NEAR(n, 1000, 4.5 * std::sqrt(800.0));
}

TEST(Sampler, WithReplacementDrawsMoreThanThereAre) {
  RandomSampler r(3, 1, true, 3000);
  std::vector<int> seen(3);
  for (int64_t i : r.indices(0)) ++seen[size_t(i)];
  for (int n : seen) EXPECT_NEAR(n, 1000, 120);
}

TEST(Sampler, WeightsAreShares) {
  WeightedRandomSampler w({1, 0, 3, 6}, 10000, 7);
  std::vector<int> seen(4);
  for (int64_t i : w.indices(0)) ++seen[size_t(i)];
  EXPECT_NEAR(seen[0], 1000, 140);
  EXPECT_EQ(seen[1], 0);
  EXPECT_NEAR(seen[2], 3000, 210);
  EXPECT_NEAR(seen[3], 6000, 220);
  // Without replacement: all of them, each once; the first is drawn by its weight.
  int first = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::vector<int64_t> drawn = WeightedRandomSampler({1, 0, 3}, 2, seed, false).indices(0);
    ASSERT_EQ(drawn.size(), 2u);
    EXPECT_TRUE(drawn == (std::vector<int64_t>{0, 2}) || drawn == (std::vector<int64_t>{2, 0}));
    first += drawn[0] == 2;
  }
  EXPECT_NEAR(first, 3000, 130);
}

TEST(Sampler, ReplicasShareAnEpoch) {
  for (bool shuffle : {false, true})
    for (bool drop : {false, true})
      for (int64_t n : {10, 12, 3}) {
        std::vector<int> seen(static_cast<size_t>(n));
        int64_t size = -1;
        for (int rank = 0; rank < 4; ++rank) {
          DistributedBatchSampler s(n, 2, 4, rank, shuffle, drop, 9);
          Batches b = s.batches(3);
          EXPECT_EQ(b.count(), s.size());
          if (size >= 0) { EXPECT_EQ(s.size(), size); }
          size = s.size();
          for (int64_t i : b.indices) ++seen[size_t(i)];
        }
        int total = std::accumulate(seen.begin(), seen.end(), 0);
        EXPECT_EQ(total, drop ? n / 4 * 4 : (n + 3) / 4 * 4);
        for (int k : seen) EXPECT_TRUE(drop ? k <= 1 : k == 1 || k == 2);
      }
  // Unshuffled, rank 1 of 4 of ten samples.
  EXPECT_EQ(DistributedBatchSampler(10, 2, 4, 1).batches(0).indices, (std::vector<int64_t>{1, 5, 9}));
  EXPECT_EQ(DistributedBatchSampler(10, 2, 4, 3).batches(0).indices, (std::vector<int64_t>{3, 7, 1}));
  EXPECT_EQ(DistributedBatchSampler(0, 2, 4, 3).batches(0).count(), 0);
}

TEST(Sampler, BadArgumentsAreErrors) {
  EXPECT_NE(error_of([] { SequenceSampler(-1); }), "");
  EXPECT_NE(error_of([] { RandomSampler(3, 0, false, 4); }).find("without replacement"), std::string::npos);
  EXPECT_NE(error_of([] { RandomSampler(0, 0, true, 4); }), "");
  EXPECT_NE(error_of([] { WeightedRandomSampler({1, -1}, 1, 0); }).find("weight 1"), std::string::npos);
  EXPECT_NE(error_of([] { WeightedRandomSampler({0, 0}, 1, 0); }), "");
  EXPECT_NE(error_of([] { WeightedRandomSampler({NAN}, 1, 0); }), "");
  EXPECT_NE(error_of([] { WeightedRandomSampler({1, 0, 1}, 3, 0, false); }), "");
  EXPECT_NE(error_of([] { BatchSampler(std::make_shared<SequenceSampler>(3), 0); }), "");
  EXPECT_NE(error_of([] { BatchSampler(nullptr, 1); }), "");
  EXPECT_NE(error_of([] { DistributedBatchSampler(3, 1, 2, 2); }), "");
}

}  // namespace
}  // namespace oarlock::data
