#include <oarlock/data/loader.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include <oarlock/base/ops.h>
#include <oarlock/data/transform.h>
#include <oarlock/random.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::data {
namespace {

using test::error_of;

// Sample i is {i, i * i}; a few samples do something else.
struct Numbers : Dataset {
  int64_t n = 20;
  std::function<void(int64_t)> before;
  mutable std::atomic<int> calls{0};
  int64_t size() const override { return n; }
  Sample get(int64_t i) const override {
    ++calls;
    if (before) before(i);
    return {Tensor::of<int64_t>({i}, {1}), Tensor::scalar(double(i * i), DType::f64)};
  }
};
std::shared_ptr<Numbers> numbers(int64_t n) {
  auto d = std::make_shared<Numbers>();
  d->n = n;
  return d;
}
std::vector<int64_t> firsts(const Batch& b) {
  const int64_t* p = b[0].data_as<int64_t>();
  return std::vector<int64_t>(p, p + b[0].element_count());
}
std::vector<int64_t> all_of(DataLoader& loader) {
  std::vector<int64_t> all;
  for (const Batch& b : loader)
    for (int64_t i : firsts(b)) all.push_back(i);
  return all;
}
// Bytes of every field of every batch of an epoch.
std::string bytes_of_epoch(DataLoader& loader) {
  std::string all;
  while (std::optional<Batch> b = loader.next())
    for (const Tensor& t : *b) {
      std::string bytes(size_bytes(t.dtype(), uint64_t(t.element_count())), 0);
      t.copy_to_host(bytes.data());
      all += bytes;
    }
  return all;
}

class Workers : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Loader, Workers, testing::Values(0, 1, 2, 7));

TEST_P(Workers, DeliversEveryBatchInOrder) {
  DataLoader loader(numbers(20), {.batch_size = 6, .num_workers = GetParam()});
  EXPECT_EQ(loader.size(), 4);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> expected(20);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(all_of(loader), expected);
    EXPECT_EQ(loader.state().epoch, epoch + 1);
  }
  std::optional<Batch> b = loader.next();
  EXPECT_EQ((*b)[0].shape(), Shape({6, 1}));
  EXPECT_EQ((*b)[1].shape(), Shape({6}));
  EXPECT_EQ((*b)[1].data_as<double>()[5], 25);
}

TEST_P(Workers, SlowSamplesStayInOrder) {
  auto d = numbers(40);
  d->before = [](int64_t i) {
    if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  };
  DataLoader loader(d, {.batch_size = 3, .num_workers = GetParam(), .prefetch = 1});
  std::vector<int64_t> expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all_of(loader), expected);
}

TEST_P(Workers, DropLastAndShuffle) {
  DataLoader loader(numbers(20),
                    {.batch_size = 6, .shuffle = true, .drop_last = true, .num_workers = GetParam(), .seed = 3});
  std::vector<int64_t> a = all_of(loader), b = all_of(loader);
  EXPECT_EQ(a.size(), 18u);
  EXPECT_EQ(std::set<int64_t>(a.begin(), a.end()).size(), 18u);
  EXPECT_NE(a, b);
  DataLoader again(numbers(20), {.batch_size = 6, .shuffle = true, .drop_last = true, .num_workers = 1, .seed = 3});
  EXPECT_EQ(all_of(again), a);
  EXPECT_EQ(all_of(again), b);
}

TEST_P(Workers, AnExceptionSurfacesInOrderWithTheSamplesNumber) {
  auto d = numbers(20);
  std::atomic<bool> bad{true};
  d->before = [&](int64_t i) {
    if (i == 11 && bad) throw std::runtime_error("this one is spoilt");
  };
  DataLoader loader(d, {.batch_size = 4, .num_workers = GetParam()});
  EXPECT_EQ(firsts(*loader.next()), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(firsts(*loader.next()), (std::vector<int64_t>{4, 5, 6, 7}));
  try {
    loader.next();
    FAIL() << "no error";
  } catch (const SampleError& e) {
    EXPECT_STREQ(e.what(), "DataLoader: sample 11 (batch 2): this one is spoilt");
    EXPECT_EQ(e.index(), 11);
    EXPECT_THROW(std::rethrow_exception(e.cause()), std::runtime_error);
  }
  bad = false;  // and it goes on where it failed
  EXPECT_EQ(firsts(*loader.next()), (std::vector<int64_t>{8, 9, 10, 11}));
  EXPECT_EQ(firsts(*loader.next()), (std::vector<int64_t>{12, 13, 14, 15}));
}

TEST_P(Workers, WhateverIsThrown) {
  auto d = numbers(4);
  d->before = [](int64_t) { throw 7; };
  DataLoader loader(d, {.num_workers = GetParam()});
  EXPECT_NE(error_of([&] { loader.next(); }).find("no std::exception"), std::string::npos);
  d->before = [](int64_t) { throw Error(Code::out_of_memory, "full"); };
  try {
    loader.next();
    FAIL();
  } catch (const Error& e) { EXPECT_EQ(e.code(), Code::out_of_memory); }
}

TEST_P(Workers, CollateErrorsAreReported) {
  struct Ragged : Dataset {
    int64_t size() const override { return 4; }
    Sample get(int64_t i) const override { return {Tensor::empty({i == 2 ? 3 : 2})}; }
  };
  DataLoader loader(std::make_shared<Ragged>(), {.batch_size = 4, .num_workers = GetParam()});
  EXPECT_EQ(error_of([&] { loader.next(); }),
            "DataLoader: batch 0: default_collate: sample 2 of the batch has field 0 of shape [3], the first has [2]. "
            "Give all samples one form, or a collate.");
  DataLoader own(numbers(4), {.batch_size = 2, .num_workers = GetParam(), .collate = [](const std::vector<Sample>& s) {
                                return Batch{Tensor::scalar(double(s.size()), DType::f64)};
                              }});
  EXPECT_EQ((*own.next())[0].item(), 2);
}

TEST_P(Workers, ADatasetThatLiesAboutItsLength) {
  auto d = numbers(20);
  DataLoader loader(d, {.batch_size = 4, .num_workers = GetParam()});
  loader.next();
  d->n = 10;
  while (loader.next()) {}
  EXPECT_NE(error_of([&] { loader.next(); }).find("had 20 samples when the loader was made and has 10"),
            std::string::npos);
  d->n = -3;
  EXPECT_NE(error_of([&] { DataLoader(std::shared_ptr<const Dataset>(d), {}); }).find("-3 samples"), std::string::npos);
  // One that says 20 and has fewer: get says so, and the sample is named.
  struct Short : Dataset {
    int64_t size() const override { return 20; }
    Sample get(int64_t i) const override { return {std::vector<Tensor>(10, Tensor::scalar(1)).at(size_t(i))}; }
  };
  DataLoader few(std::make_shared<Short>(), {.batch_size = 6, .num_workers = GetParam()});
  few.next();
  EXPECT_NE(error_of([&] { few.next(); }).find("sample 10 (batch 1)"), std::string::npos);
  // A batch of another size than asked for.
  struct Batcher : Dataset {
    int64_t size() const override { return 4; }
    Sample get(int64_t) const override { return {Tensor::scalar(1)}; }
    std::optional<Batch> get_batch(std::span<const int64_t>, std::span<Random>) const override {
      return Batch{Tensor::empty({3})};
    }
  };
  DataLoader wrong(std::make_shared<Batcher>(), {.batch_size = 2, .num_workers = GetParam()});
  EXPECT_NE(error_of([&] { wrong.next(); }).find("of shape [3] for 2 samples"), std::string::npos);
}

TEST_P(Workers, SamplersOutOfRangeAreErrors) {
  struct Wild : Sampler {
    int64_t size() const override { return 2; }
    std::vector<int64_t> indices(int64_t) const override { return {0, 20}; }
  };
  auto sampler = std::make_shared<BatchSampler>(std::make_shared<Wild>(), 1);
  DataLoader loader(numbers(20), {.num_workers = GetParam(), .batch_sampler = sampler});
  EXPECT_NE(error_of([&] { loader.next(); }).find("index 20"), std::string::npos);
}

TEST_P(Workers, DestructionInMidEpochIsClean) {
  for (int after = 0; after < 6; ++after) {
    auto d = numbers(1000);
    DataLoader loader(d, {.batch_size = 2, .num_workers = GetParam(), .prefetch = 3});
    for (int i = 0; i < after; ++i) loader.next();
    if (after == 3) DataLoader moved = std::move(loader);
  }
  // Leaving a loop begins the next epoch anew.
  DataLoader loader(numbers(10), {.batch_size = 2, .num_workers = GetParam()});
  for (const Batch& b : loader) {
    EXPECT_EQ(firsts(b)[0], 0);
    break;
  }
  EXPECT_EQ(all_of(loader).size(), 10u);
}

TEST_P(Workers, PrefetchIsBounded) {
  auto d = numbers(1000);
  DataLoader loader(d, {.batch_size = 1, .num_workers = GetParam(), .prefetch = 2});
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_LE(d->calls, 1 + 2 * std::max(GetParam(), 0));
}

TEST_P(Workers, ResumesInMidEpochBitForBit) {
  auto make = [&](int workers) {
    auto images = std::make_shared<TensorDataset>(
        std::vector<Tensor>{reshape(cast(arange(50 * 36), DType::u8), {50, 1, 6, 6}), arange(50)});
    auto transform = std::make_shared<vision::Compose>(std::vector<vision::TransformPtr>{
        std::make_shared<vision::RandomHorizontalFlip>(), std::make_shared<vision::RandomCrop>(6, 6, 2)});
    return DataLoader(std::make_shared<TransformedDataset>(images, transform),
                      {.batch_size = 7, .shuffle = true, .num_workers = workers, .seed = 11});
  };
  DataLoader whole = make(0);
  bytes_of_epoch(whole);
  for (int i = 0; i < 3; ++i) whole.next();
  LoaderState at = whole.state();
  EXPECT_EQ(at.epoch, 1);
  EXPECT_EQ(at.position, 3);
  std::string rest = bytes_of_epoch(whole), next = bytes_of_epoch(whole);
  DataLoader resumed = make(GetParam());
  resumed.set_state(at);
  EXPECT_EQ(bytes_of_epoch(resumed), rest);
  EXPECT_EQ(bytes_of_epoch(resumed), next);
  EXPECT_NE(rest.substr(0, 100), next.substr(0, 100));
  // begin() stays where set_state put it.
  DataLoader loop = make(GetParam());
  loop.set_state(at);
  int batches = 0;
  for ([[maybe_unused]] const Batch& b : loop) ++batches;
  EXPECT_EQ(batches, 5);
  EXPECT_NE(error_of([&] { loop.set_state({1, 1, 0, 99}); }), "");
}

TEST_P(Workers, TheFastPathGivesWhatSamplesGive) {
  auto images = std::make_shared<TensorDataset>(
      std::vector<Tensor>{reshape(cast(arange(30 * 64), DType::u8), {30, 1, 8, 8}), arange(30)});
  auto transform = std::make_shared<vision::Compose>(std::vector<vision::TransformPtr>{
      std::make_shared<vision::RandomHorizontalFlip>(), std::make_shared<vision::RandomCrop>(7, 5, 2),
      std::make_shared<vision::RandomErasing>(0.9), std::make_shared<vision::ToFloat>(),
      std::make_shared<vision::Normalize>(std::vector<double>{0.3}, std::vector<double>{0.4})});
  struct Slow : Dataset {  // the same without get_batch
    std::shared_ptr<Dataset> inner;
    int64_t size() const override { return inner->size(); }
    Sample get(int64_t i) const override { return inner->get(i); }
  };
  auto slow = std::make_shared<Slow>();
  auto fast = std::make_shared<TransformedDataset>(images, transform);
  slow->inner = fast;
  LoaderOptions options{.batch_size = 8, .shuffle = true, .num_workers = GetParam(), .seed = 5};
  DataLoader a(std::shared_ptr<const Dataset>(fast), options), b(std::shared_ptr<const Dataset>(slow), options);
  std::string first = bytes_of_epoch(a);
  EXPECT_EQ(first.size(), 30u * 35 * 4 + 30 * 8);
  EXPECT_EQ(bytes_of_epoch(b), first);
  EXPECT_EQ(bytes_of_epoch(b), bytes_of_epoch(a));
}

struct Count : IterableDataset {
  int64_t n, says;
  Count(int64_t n, int64_t says) : n(n), says(says) {}
  struct Stream : SampleStream {
    int64_t at = 0, n;
    explicit Stream(int64_t n) : n(n) {}
    std::optional<Sample> next() override {
      if (at == n) return std::nullopt;
      return Sample{Tensor::of<int64_t>({at++}, {1})};
    }
  };
  std::unique_ptr<SampleStream> open(int64_t) const override { return std::make_unique<Stream>(n); }
  int64_t size() const override { return says; }
};

TEST_P(Workers, StreamsComeInOrder) {
  for (int64_t n : {0, 1, 6, 7, 20}) {
    for (bool drop : {false, true}) {
      DataLoader loader(std::make_shared<Count>(n, -1),
                        {.batch_size = 3, .drop_last = drop, .num_workers = GetParam()});
      EXPECT_EQ(loader.size(), -1);
      std::vector<int64_t> expected(static_cast<size_t>(drop ? n / 3 * 3 : n));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all_of(loader), expected) << n << drop;
      EXPECT_EQ(all_of(loader), expected);
    }
  }
  DataLoader loader(std::make_shared<Count>(20, 20), {.batch_size = 3, .num_workers = GetParam()});
  EXPECT_EQ(loader.size(), 7);
  LoaderState s = loader.state();
  s.position = 4;
  loader.set_state(s);
  EXPECT_EQ(firsts(*loader.next()), (std::vector<int64_t>{12, 13, 14}));
}

TEST_P(Workers, StreamsThatLieAreErrors) {
  for (auto [n, says] : {std::pair<int64_t, int64_t>{10, 12}, {10, 8}, {9, 12}}) {
    DataLoader loader(std::make_shared<Count>(n, says), {.batch_size = 3, .num_workers = GetParam()});
    EXPECT_NE(error_of([&] {
                while (loader.next()) {}
              }).find("says it has " + std::to_string(says)),
              std::string::npos)
        << n;
  }
  EXPECT_NE(error_of([&] { DataLoader(std::make_shared<Count>(1, 1), {.shuffle = true}); }), "");
}

TEST(Loader, TheLibrarysSeedDecidesWhereNoneIsGiven) {
  auto order = [] {
    DataLoader loader(numbers(50), {.batch_size = 50, .shuffle = true});
    return firsts(*loader.next());
  };
  set_seed(4);
  std::vector<int64_t> a = order(), b = order();
  set_seed(4);
  EXPECT_EQ(order(), a);
  EXPECT_EQ(order(), b);
  EXPECT_NE(a, b);
}

TEST(Loader, ManyEpochsAndWorkersWithoutDeadlock) {
  auto d = numbers(17);
  for (int workers = 1; workers < 6; ++workers)
    for (int prefetch = 1; prefetch < 4; ++prefetch) {
      DataLoader loader(d, {.batch_size = 2, .num_workers = workers, .prefetch = prefetch});
      for (int epoch = 0; epoch < 20; ++epoch) {
        int n = 0;
        while (loader.next()) ++n;
        ASSERT_EQ(n, 9);
      }
    }
}

TEST(Loader, AForkedChildIsToldSo) {
  DataLoader loader(numbers(100), {.batch_size = 2, .num_workers = 2});
  loader.next();
  pid_t child = ::fork();
  if (!child) {
    int verdict = 1;
    {
      DataLoader mine = std::move(loader);
      if (error_of([&] { mine.next(); }).find("was forked") != std::string::npos) verdict = 0;
    }  // and it can be destroyed
    ::_exit(verdict);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(firsts(*loader.next()), (std::vector<int64_t>{2, 3}));
}

TEST(Loader, BadOptionsAreErrors) {
  auto refused = [](LoaderOptions o) { return error_of([&] { DataLoader(numbers(3), o); }); };
  EXPECT_NE(refused({.batch_size = 0}).find("batch_size is 0"), std::string::npos);
  EXPECT_NE(refused({.num_workers = -1}).find("num_workers"), std::string::npos);
  EXPECT_NE(refused({.prefetch = 0}).find("prefetch"), std::string::npos);
  auto sampler = std::make_shared<BatchSampler>(std::make_shared<SequenceSampler>(3), 1);
  EXPECT_NE(refused({.shuffle = true, .batch_sampler = sampler}).find("batch_sampler"), std::string::npos);
  EXPECT_NE(error_of([] { DataLoader(std::shared_ptr<const Dataset>(), {}); }), "");
}

TEST(Loader, AnEmptyDatasetHasNoBatches) {
  DataLoader loader(numbers(0), {.batch_size = 4, .shuffle = true, .num_workers = 2});
  EXPECT_EQ(loader.size(), 0);
  EXPECT_FALSE(loader.next());
  EXPECT_FALSE(loader.next());
}

TEST(Dataset, SubsetConcatAndSplit) {
  auto d = numbers(10);
  Subset s(d, {3, 1, 3});
  EXPECT_EQ(s.size(), 3);
  EXPECT_EQ(s.get(2)[0].item_int(), 3);
  EXPECT_NE(error_of([&] { Subset(d, {10}); }), "");
  EXPECT_NE(error_of([&] { s.get(3); }), "");
  ConcatDataset c({d, std::make_shared<Subset>(d, std::vector<int64_t>{}), std::make_shared<Subset>(s)});
  EXPECT_EQ(c.size(), 13);
  EXPECT_EQ(c.get(9)[0].item_int(), 9);
  EXPECT_EQ(c.get(11)[0].item_int(), 1);
  EXPECT_NE(error_of([&] { c.get(13); }), "");
  auto parts = random_split(d, std::vector<int64_t>{7, 3}, 1);
  std::set<int64_t> seen;
  for (auto& part : parts)
    for (int64_t i : part->indices()) seen.insert(i);
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(random_split(d, std::vector<int64_t>{7, 3}, 1)[0]->indices(), parts[0]->indices());
  EXPECT_NE(random_split(d, std::vector<int64_t>{7, 3}, 2)[0]->indices(), parts[0]->indices());
  auto shares = random_split(d, std::vector<double>{0.33, 0.33, 0.34}, 1);
  EXPECT_EQ(shares[0]->size(), 4);
  EXPECT_EQ(shares[1]->size(), 3);
  EXPECT_EQ(shares[2]->size(), 3);
  EXPECT_NE(error_of([&] { random_split(d, std::vector<int64_t>{7, 4}, 1); }).find("sum to 11"), std::string::npos);
  EXPECT_NE(error_of([&] { random_split(d, std::vector<double>{0.5, 0.4}, 1); }), "");
}

TEST(Dataset, TensorRows) {
  Tensor x = reshape(arange(12, DType::i64), {4, 3});
  TensorDataset d({x, permute(reshape(arange(8), {2, 4}), {1, 0})});
  EXPECT_EQ(d.size(), 4);
  Sample s = d.get(2);
  EXPECT_EQ(s[0].shape(), Shape({3}));
  EXPECT_EQ(s[0].data_as<int64_t>()[0], 6);
  EXPECT_EQ(s[1].data_as<int64_t>()[1], 6);
  EXPECT_NE(error_of([] { TensorDataset({}); }), "");
  EXPECT_NE(error_of([] { TensorDataset({Tensor::scalar(1)}); }).find("scalar"), std::string::npos);
  EXPECT_NE(error_of([] {
              TensorDataset({Tensor::empty({2}), Tensor::empty({3})});
            }).find("2 rows"),
            std::string::npos);
  EXPECT_NE(error_of([&] { d.get(4); }), "");
  std::vector<Random> r(1, Random(0, 0, 0));
  EXPECT_NE(error_of([&] { d.get_batch(std::vector<int64_t>{-1}, r); }), "");
}

}  // namespace
}  // namespace oarlock::data
