#include <oarlock/data/idx.h>

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <oarlock/base/ops.h>
#include <oarlock/data/mnist.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::data {
namespace {

using test::contents;
using test::error_of;
using test::golden;

Tensor parse(const std::string& bytes) { return parse_idx(std::as_bytes(std::span(bytes.data(), bytes.size()))); }
std::vector<double> numbers(const Tensor& t) {
  std::vector<double> v(static_cast<size_t>(t.element_count()));
  if (!v.empty()) cast(t, DType::f64).copy_to_host(v.data());
  return v;
}
std::string head(unsigned char type, std::initializer_list<uint32_t> sizes) {
  std::string s("\0\0", 2);
  s.push_back(char(type));
  s.push_back(char(sizes.size()));
  for (uint32_t n : sizes)
    for (int shift : {24, 16, 8, 0}) s.push_back(char(n >> shift));
  return s;
}

TEST(Idx, ReadsEveryType) {
  std::tuple<const char*, DType, double> files[] = {{"type08.idx", DType::u8, 0},   {"type09.idx", DType::i8, -1},
                                                    {"type0b.idx", DType::i16, -1}, {"type0c.idx", DType::i32, -1},
                                                    {"type0d.idx", DType::f32, -1}, {"type0e.idx", DType::f64, -1}};
  for (auto [name, dtype, first] : files) {
    Tensor t = read_idx(golden(name));
    EXPECT_EQ(t.dtype(), dtype) << name;
    EXPECT_EQ(t.shape(), Shape({2, 3})) << name;
    std::vector<double> v = numbers(t);
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(v[i], first + double(i)) << name;
  }
}

TEST(Idx, ReadsGzipOfOneOrSeveralMembers) {
  for (const char* name : {"cube.idx.gz", "members.idx.gz"}) {
    Tensor t = read_idx(golden(name));
    EXPECT_EQ(t.shape(), Shape({2, 3, 4})) << name;
    for (int i = 0; i < 24; ++i) EXPECT_EQ(t.data_as<uint8_t>()[i], i) << name;
  }
}

TEST(Idx, RanksFromNoneToTheHighest) {
  EXPECT_EQ(parse(head(8, {}) + "\x07").item(), 7);
  std::string s("\0\0\x08\x10", 4);
  for (int i = 0; i < 16; ++i) s += std::string("\0\0\0\1", 4);
  EXPECT_EQ(parse(s + "\x09").rank(), 16);
  s[3] = 17;
  EXPECT_NE(error_of([&] { parse(s + std::string("\0\0\0\1\x09", 5)); }).find("rank 17"), std::string::npos);
  EXPECT_EQ(parse(head(8, {0, 5})).shape(), Shape({0, 5}));
  EXPECT_EQ(parse(head(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0})).element_count(), 0);
}

TEST(Idx, EveryTruncationIsAnError) {
  for (const char* name : {"type0e.idx", "cube.idx.gz", "members.idx.gz"}) {
    std::string all = contents(golden(name));
    for (size_t n = 0; n < all.size(); ++n)
      EXPECT_NE(error_of([&] { parse(all.substr(0, n)); }), "") << name << " cut to " << n;
    EXPECT_NE(error_of([&] { parse(all + "xyz"); }), "") << name;
  }
}

TEST(Idx, HostileHeadersAllocateNothing) {
  auto why = [](const std::string& s) { return error_of([&] { parse(s); }); };
  EXPECT_NE(
      why(head(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}) + "abc").find("more than the file"),
      std::string::npos);
  EXPECT_NE(why(head(0x0E, {0x10000000}) + "abc").find("more than the file"), std::string::npos);
  EXPECT_NE(why(head(0x0A, {1}) + "a").find("type 10"), std::string::npos);
  EXPECT_NE(why(std::string("\1\0\x08\1", 4)).find("two zero bytes"), std::string::npos);
  EXPECT_NE(why("abcdefgh").find("no IDX file"), std::string::npos);
  EXPECT_NE(why(head(8, {3}) + "abcd").find("bytes behind"), std::string::npos);
  // A small compressed file that claims what no compression can hold.
  std::string all = contents(golden("cube.idx.gz"));
  EXPECT_NE(why(all.substr(0, all.size() - 5)).find("cut short"), std::string::npos);
  all[all.size() - 6] ^= 1;  // the CRC
  EXPECT_NE(why(all).find("damaged"), std::string::npos);
}

TEST(Idx, RandomBytesNeverCrash) {
  std::mt19937 random(3);
  std::string seeds[] = {contents(golden("type0d.idx")), contents(golden("cube.idx.gz"))};
  for (int i = 0; i < 20000; ++i) {
    std::string s = seeds[i % 2];
    for (unsigned k = random() % 3 + 1; k > 0; --k) s[random() % s.size()] = char(random());
    Tensor t;
    if (error_of([&] { t = parse(s); }).empty()) { EXPECT_LE(t.element_count(), 48); }
  }
}

// Facts of the published set: counts, classes in equal parts, and the mean and deviation of its training pixels.
TEST(FashionMnist, IsReadAsPublished) {
  if (::access("/usr/share/datasets/fashion-mnist", R_OK)) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  vision::FashionMNIST train(vision::Split::train), test(vision::Split::test);
  ASSERT_EQ(train.size(), 60000);
  ASSERT_EQ(test.size(), 10000);
  EXPECT_EQ(train.images().shape(), Shape({60000, 1, 28, 28}));
  for (auto [set, each] : {std::pair(&train, 6000), std::pair(&test, 1000)}) {
    std::vector<int> histogram(10);
    for (int64_t i = 0; i < set->size(); ++i) ++histogram[size_t(set->labels().data_as<int64_t>()[i])];
    for (int n : histogram) EXPECT_EQ(n, each);
  }
  double sum = 0, squares = 0, n = 60000.0 * 784;
  const uint8_t* p = train.images().data_as<uint8_t>();
  for (int64_t i = 0; i < 60000 * 784; ++i) {
    double v = p[i] / 255.0;
    sum += v, squares += v * v;
  }
  EXPECT_NEAR(sum / n, 0.2860, 5e-5);  // as everybody normalises with
  EXPECT_NEAR(std::sqrt(squares / n - sum * sum / n / n), 0.3530, 5e-5);
  Sample first = train.get(0);
  EXPECT_EQ(first[0].shape(), Shape({1, 28, 28}));
  EXPECT_EQ(first[1].item_int(), 9);
  EXPECT_STREQ(vision::FashionMNIST::class_name(9), "Ankle boot");
}

TEST(FashionMnist, ErrorsNameWhatIsMissing) {
  EXPECT_NE(error_of([] {
              vision::FashionMNIST(vision::Split::train, nullptr, "/nonexistent");
            }).find("dataset-fashion-mnist"),
            std::string::npos);
  EXPECT_NE(error_of([] { vision::FashionMNIST::class_name(10); }), "");
  EXPECT_NE(error_of([] { vision::MNIST(golden("cube.idx.gz"), golden("cube.idx.gz")); }).find("labels u8[N]"),
            std::string::npos);
}

}  // namespace
}  // namespace oarlock::data
