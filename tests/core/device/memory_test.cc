#include "core/device/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include <oarlock/oarlock.h>

#include "core/device/host_memory.h"

namespace oarlock {
namespace {

TEST(SizeClass, HoldsWhatWasAskedForAndLosesAtMostAFifth) {
  for (uint64_t bytes = 1; bytes < (3u << 20); bytes += bytes < 5000 ? 1 : 997) {
    SizeClass c = size_class(bytes);
    ASSERT_GE(c.size_bytes, bytes);
    ASSERT_EQ(c.size_bytes % 64, 0u);
    if (bytes > 256) { ASSERT_LE(double(c.size_bytes), double(bytes) * 1.25 + 64) << bytes; }
    ASSERT_EQ(size_class(c.size_bytes).index, c.index) << bytes;
    ASSERT_EQ(size_class(c.size_bytes).size_bytes, c.size_bytes) << bytes;
  }
}

TEST(HostMemory, BlocksAreAlignedAndApart) {
  std::mt19937 random(1);
  std::vector<Block> live;
  for (int i = 0; i < 2000; ++i) {
    Result<Block> b = host_allocate(random() % 100'000 + 1);
    ASSERT_TRUE(b.ok());
    ASSERT_EQ(reinterpret_cast<uintptr_t>(b->data) % 64, 0u);
    std::memset(b->data, int(i & 255), 64);
    live.push_back(*b);
    if (live.size() > 100) {
      size_t at = random() % live.size();
      host_free(live[at]);
      live.erase(live.begin() + long(at));
    }
  }
  std::sort(live.begin(), live.end(), [](auto& a, auto& b) { return a.data < b.data; });
  for (size_t i = 1; i < live.size(); ++i)
    EXPECT_LE(static_cast<char*>(live[i - 1].data) + live[i - 1].size_bytes, static_cast<char*>(live[i].data));
  for (auto& b : live) host_free(b);
}

TEST(HostMemory, StatisticsFollowLargeBlocks) {
  reset_peak_memory(Device());
  uint64_t before = memory_stats(Device()).in_use;
  {
    Tensor t = Tensor::empty({1 << 20}, DType::f32);
    EXPECT_GE(memory_stats(Device()).in_use - before, 4u << 20);
  }
  EXPECT_EQ(memory_stats(Device()).in_use, before);
  EXPECT_GE(memory_stats(Device()).peak, before + (4u << 20));
}

TEST(HostMemory, AFreedBlockIsUsedAgain) {
  void* first;
  {
    Tensor t = Tensor::empty({300'000}, DType::f32);
    first = t.data();
  }
  uint64_t calls = memory_stats(Device()).system_allocations;
  Tensor t = Tensor::empty({300'000}, DType::f32);
  EXPECT_EQ(t.data(), first);
  EXPECT_EQ(memory_stats(Device()).system_allocations, calls);
}

TEST(HostMemory, TooMuchIsAnErrorAndNothingIsLost) {
  uint64_t before = memory_stats(Device()).in_use;
  try {
    Tensor::empty({int64_t(1) << 50}, DType::f32);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::out_of_memory);
    EXPECT_NE(std::string(e.what()).find("bytes"), std::string::npos);
  }
  ASSERT_TRUE(set_setting("host_memory_limit", std::to_string(64u << 20)).ok());
  EXPECT_THROW(Tensor::empty({100 << 20}, DType::f32), Error);
  ASSERT_TRUE(set_setting("host_memory_limit", "0").ok());
  EXPECT_EQ(memory_stats(Device()).in_use, before);
  EXPECT_EQ(Tensor::empty({100 << 20}, DType::u8).element_count(), 100 << 20);
}

TEST(HostMemory, ThreadsFreeWhatOthersMade) {
  std::vector<Tensor> made(400);
  std::thread maker([&] {
    for (auto& t : made) t = Tensor::empty({64});
  });
  maker.join();
  std::thread user([&] {
    for (auto& t : made) t = Tensor();
    for (auto& t : made) t = Tensor::empty({64});
  });
  user.join();
  for (auto& t : made) EXPECT_EQ(t.element_count(), 64);
}

}  // namespace
}  // namespace oarlock
