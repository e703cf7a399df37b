#include "core/device/layer/record.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/device/layer/payload.h"
#include "core/device/layer/replay_memory.h"

namespace oarlock::layer {
namespace {

TEST(RecordTest, TreesComeBackAsWritten) {
  TreeWriter w;
  w.list(6);
  w.integer(300);
  w.integer(uint64_t(-1));
  w.handle(Handle::stream, reinterpret_cast<void*>(0x1234567890));
  w.bytes("text");
  w.record("oar_view_t", 7, 1);
  w.null();
  w.again(7);
  w.payload("abc", 3);
  std::string large(5000, 'x');
  w.payload(large.data(), large.size());
  TreeReader r(w.out);
  Node n = r.node();
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(n.children.size(), 6u);
  EXPECT_EQ(n.children[0].value, 300u);
  EXPECT_EQ(int64_t(n.children[1].value), -1);
  EXPECT_EQ(n.children[2].handle, Handle::stream);
  EXPECT_EQ(n.children[2].value, 0x1234567890u);
  EXPECT_EQ(n.children[3].text, "text");
  EXPECT_EQ(n.children[4].text, "oar_view_t");
  EXPECT_EQ(n.children[5].value, 7u);
  Node small = r.node();
  EXPECT_EQ(small.have, 1);
  EXPECT_EQ(small.text, "abc");
  Node hashed = r.node();
  EXPECT_EQ(hashed.have, 2);
  EXPECT_EQ(hashed.size, 5000u);
  EXPECT_EQ(hashed.value, hash_bytes(large.data(), large.size()));
  EXPECT_TRUE(r.ok() && r.at_end());
}

TEST(RecordTest, VarintIsLeb128) {  // 624485 -> E5 8E 26, the example of the DWARF standard
  TreeWriter w;
  w.varint(624485);
  EXPECT_EQ(w.out, "\xE5\x8E\x26");
}

TEST(RecordTest, CountsThatTheBodyCannotHoldAreRefused) {
  TreeWriter w;
  w.list(1u << 30);
  EXPECT_FALSE([&] {
    TreeReader r(w.out);
    r.node();
    return r.ok();
  }());
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += std::string("\x04\x01", 2);  // a list of a list of a list ...
  TreeReader r(deep);
  r.node();
  EXPECT_FALSE(r.ok());
}

TEST(RecordTest, HashDependsOnEveryByteAndTheLength) {
  std::string s(100, 'a');
  uint64_t h = hash_bytes(s.data(), s.size());
  for (size_t i = 0; i < s.size(); ++i) {
    std::string t = s;
    t[i] ^= 1;
    EXPECT_NE(hash_bytes(t.data(), t.size()), h);
  }
  EXPECT_NE(hash_bytes(s.data(), 99), h);
  std::string zeros(9, '\0');
  EXPECT_NE(hash_bytes(zeros.data(), 8), hash_bytes(zeros.data(), 9));
}

oar_view_t view_of(int n_dims, const int64_t* shape, const int64_t* strides, uint32_t dtype) {
  oar_view_t v{};
  v.n_dims = n_dims;
  v.shape = shape;
  v.strides = strides;
  v.dtype = dtype;
  return v;
}

TEST(PayloadTest, StridedViewsAreGatheredRowMajor) {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[] = {3, 2}, strides[] = {1, 3};  // the transpose of a 2 x 3 matrix
  oar_view_t v = view_of(2, shape, strides, OAR_DTYPE_I32);
  Extent e;
  ASSERT_TRUE(extent_of(v, &e));
  EXPECT_EQ(e.elements, 6u);
  EXPECT_EQ(e.span_bytes, 24u);
  EXPECT_FALSE(e.row_major);
  std::string bytes;
  ASSERT_TRUE(gather(v, e, data, &bytes));
  int32_t expected[6] = {0, 3, 1, 4, 2, 5};
  ASSERT_EQ(bytes.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);
  int32_t back[6] = {};
  scatter(v, e, back, bytes.data());
  EXPECT_EQ(std::memcmp(back, data, sizeof data), 0);
}

TEST(PayloadTest, Extents) {
  Extent e;
  int64_t broadcast[] = {1000, 4}, zero_stride[] = {0, 1};
  ASSERT_TRUE(extent_of(view_of(2, broadcast, zero_stride, OAR_DTYPE_F32), &e));
  EXPECT_EQ(e.span_bytes, 16u);
  EXPECT_EQ(e.packed_bytes, 16000u);
  int64_t empty[] = {5, 0};
  ASSERT_TRUE(extent_of(view_of(2, empty, zero_stride, OAR_DTYPE_F32), &e));
  EXPECT_EQ(e.span_bytes, 0u);
  ASSERT_TRUE(extent_of(view_of(0, nullptr, nullptr, OAR_DTYPE_F64), &e));
  EXPECT_EQ(e.packed_bytes, 8u);
  int64_t five[] = {5}, one[] = {1}, two[] = {2};
  ASSERT_TRUE(extent_of(view_of(1, five, one, OAR_DTYPE_I4), &e));
  EXPECT_EQ(e.packed_bytes, 3u);  // 20 bits
  EXPECT_FALSE(extent_of(view_of(1, five, two, OAR_DTYPE_I4), &e));
  int64_t negative[] = {-1}, huge[] = {int64_t(1) << 40, int64_t(1) << 40}, far[] = {INT64_MAX};
  EXPECT_FALSE(extent_of(view_of(1, negative, one, OAR_DTYPE_F32), &e));
  EXPECT_FALSE(extent_of(view_of(2, huge, zero_stride, OAR_DTYPE_F32), &e));
  EXPECT_FALSE(extent_of(view_of(1, five, far, OAR_DTYPE_F32), &e));
  EXPECT_FALSE(extent_of(view_of(1, five, negative, OAR_DTYPE_F32), &e));
  EXPECT_FALSE(extent_of(view_of(1, five, one, 63), &e));
  EXPECT_FALSE(extent_of(view_of(1, five, one, 9999), &e));
}

TEST(PayloadTest, Boxes) {
  char from[12];
  for (int i = 0; i < 12; ++i) from[i] = char('a' + i);
  int64_t counts[] = {2, 2}, strides[] = {6, 3};
  oar_region_t r{};
  r.size_bytes = 2;
  r.n_dims = 2;
  r.counts = counts;
  uint64_t packed, span;
  ASSERT_TRUE(region_extent(r, strides, &packed, &span));
  EXPECT_EQ(packed, 8u);
  EXPECT_EQ(span, 11u);  // begins at 0, last piece at 6 + 3
  std::string bytes;
  gather_box(r, strides, from, &bytes);
  EXPECT_EQ(bytes, "abdeghjk");
}

TEST(ReplayMemoryTest, RangesAgainstABitmap) {
  Ranges ranges;
  bool bitmap[64] = {};
  uint64_t x = 12345;
  auto next = [&](uint64_t n) {
    x = x * 6364136223846793005 + 1442695040888963407;
    return (x >> 33) % n;
  };
  for (int step = 0; step < 3000; ++step) {
    uint64_t begin = next(64), end = begin + next(65 - begin);
    bool add = next(2);
    for (uint64_t i = begin; i < end; ++i) bitmap[i] = add;
    add ? ranges.add(begin, end) : ranges.remove(begin, end);
    uint64_t b = next(64), e = b + next(65 - b);
    bool expected = false;
    for (uint64_t i = b; i < e; ++i) expected |= bitmap[i];
    ASSERT_EQ(ranges.touches(b, e), expected) << "step " << step;
  }
}

TEST(ReplayMemoryTest, BudgetIsALimitOverAll) {
  Budget budget(1000);
  auto a = budget.take(600);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.get()) % 64, 0u);
  EXPECT_EQ(budget.take(600), nullptr);
  EXPECT_EQ(budget.take(UINT64_MAX), nullptr);
  a.reset();
  EXPECT_NE(budget.take(600), nullptr);
}

TEST(ReplayMemoryTest, CacheForgetsTheOldest) {
  ContentCache cache(10);
  cache.put(1, "aaaa");
  cache.put(2, "bbbb");
  cache.put(3, "cccc");
  EXPECT_EQ(cache.get(1, 4), nullptr);
  ASSERT_NE(cache.get(3, 4), nullptr);
  EXPECT_EQ(*cache.get(3, 4), "cccc");
  EXPECT_EQ(cache.get(3, 5), nullptr);
}

}  // namespace
}  // namespace oarlock::layer
