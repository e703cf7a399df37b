#include <oarlock/data/npy.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include <oarlock/base/ops.h>

#include "tests/api/src/data/files/files.h"

namespace oarlock::data {
namespace {

using test::contents;
using test::error_of;
using test::golden;

Tensor parse(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes.data(), bytes.size()))); }

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> v(static_cast<size_t>(t.element_count()));
  if (!v.empty()) cast(t, DType::f64).copy_to_host(v.data());
  return v;
}
const std::vector<double> kSix = {0, 1, 2, 3, 4, 5};

TEST(Npy, ReadsEveryDtypeThatNumPyWrites) {
  std::pair<const char*, DType> files[] = {{"i1", DType::i8},      {"i2", DType::i16},     {"i4", DType::i32},
                                           {"i8", DType::i64},     {"u1", DType::u8},      {"u2", DType::u16},
                                           {"u4", DType::u32},     {"u8", DType::u64},     {"f2", DType::f16},
                                           {"f4", DType::f32},     {"f8", DType::f64},     {"big_i2", DType::i16},
                                           {"big_i4", DType::i32}, {"big_i8", DType::i64}, {"big_f2", DType::f16},
                                           {"big_f4", DType::f32}, {"big_f8", DType::f64}};
  for (auto [name, dtype] : files) {
    Tensor t = read_npy(golden(std::string(name) + ".npy"));
    EXPECT_EQ(t.dtype(), dtype) << name;
    EXPECT_EQ(t.shape(), Shape({2, 3})) << name;
    EXPECT_EQ(numbers(t), kSix) << name;
  }
  Tensor b = read_npy(golden("b1.npy"));
  EXPECT_EQ(b.dtype(), DType::boolean);
  EXPECT_EQ(std::string(b.data_as<char>(), 6), std::string("\0\1\1\1\1\1", 6));
}

TEST(Npy, ReadsComplexNumbersOfEitherOrder) {
  for (const char* name : {"c8", "big_c8"}) {
    Tensor t = read_npy(golden(std::string(name) + ".npy"));
    ASSERT_EQ(t.dtype(), DType::c64);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(t.data_as<float>()[2 * i], float(i));
      EXPECT_EQ(t.data_as<float>()[2 * i + 1], 0);
    }
  }
  for (const char* name : {"c16", "big_c16"}) {
    Tensor t = read_npy(golden(std::string(name) + ".npy"));
    ASSERT_EQ(t.dtype(), DType::c128);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(t.data_as<double>()[2 * i], double(i));
  }
}

TEST(Npy, ReadsVersionsOrdersAndOddShapes) {
  for (const char* name : {"version2.npy", "version3.npy"}) EXPECT_EQ(numbers(read_npy(golden(name))), kSix);
  for (const char* name : {"fortran.npy", "big_fortran.npy"}) {
    Tensor t = read_npy(golden(name));
    EXPECT_EQ(t.shape(), Shape({2, 3, 4}));
    EXPECT_TRUE(t.is_contiguous());
    std::vector<double> v = numbers(t);
    for (int i = 0; i < 24; ++i) EXPECT_EQ(v[size_t(i)], i) << name;
  }
  Tensor scalar = read_npy(golden("scalar.npy"));
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.item(), 2.5);
  EXPECT_EQ(read_npy(golden("empty.npy")).shape(), Shape({3, 0, 2}));
}

TEST(Npy, RefusesWhatIsNoNumberAndSaysWhy) {
  EXPECT_NE(error_of([] { read_npy(golden("objects.npy")); }).find("pickled"), std::string::npos);
  EXPECT_NE(error_of([] { read_npy(golden("structure.npy")); }).find("structures"), std::string::npos);
  EXPECT_NE(error_of([] { read_npy(golden("text.npy")); }).find("text is no number"), std::string::npos);
  EXPECT_NE(error_of([] { read_npy(golden("dates.npy")); }).find("dates"), std::string::npos);
  EXPECT_NE(error_of([] { read_npy("/nonexistent/x.npy"); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_of([] { read_npy("/tmp"); }).find("folder"), std::string::npos);
}

TEST(Npy, EveryTruncationIsAnError) {
  for (const char* name : {"f4.npy", "version2.npy", "big_fortran.npy"}) {
    std::string all = contents(golden(name));
    ASSERT_GT(all.size(), 100u);
    for (size_t n = 0; n < all.size(); ++n)
      EXPECT_NE(error_of([&] { parse(all.substr(0, n)); }), "") << name << " cut to " << n;
    EXPECT_NE(error_of([&] { parse(all + "x"); }), "") << name;
  }
}

std::string with_header(const std::string& dict, const std::string& data = "") {
  std::string h = dict + "\n", s("\x93NUMPY\x01\x00", 8);
  s.push_back(char(h.size()));
  s.push_back(char(h.size() >> 8));
  return s + h + data;
}

TEST(Npy, HostileHeadersAreErrors) {
  auto refused = [](const std::string& dict, const char* why) {
    std::string text = error_of([&] { parse(with_header(dict, std::string(24, 0))); });
    EXPECT_NE(text.find(why), std::string::npos) << dict << " gave: " << text;
  };
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
          "more than");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "too large");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "no tuple");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", "is less than");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", "is more than");
  refused("{'descr': '<f4', 'fortran_order': False, }", "lacks");
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "twice");
  refused("{'descr': '<f4', 'fortran_order': 1, 'shape': (6,), }", "neither True nor False");
  refused("{'descr': '<f16', 'fortran_order': False, 'shape': (6,), }", "no such dtype");
  refused("{'descr': '|O', 'fortran_order': False, 'shape': (6,), }", "pickled");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", "unknown key");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } + x", "goes on");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,6), }", "more than 16");
  refused("__import__('os').system('true')", "no dict");
  // A product that would overflow 128 bits, with a zero in it.
  std::string sizes;
  for (int i = 0; i < 15; ++i) sizes += "9223372036854775807, ";
  EXPECT_EQ(parse(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "0), }")).element_count(),
            0);
  // Python 2's long sizes and other quotes are read.
  EXPECT_EQ(
      parse(with_header("{\"shape\": (2L, 3L), 'fortran_order': False, 'descr': '<f4'}", std::string(24, 0))).shape(),
      Shape({2, 3}));
}

TEST(Npy, RandomBytesNeverCrash) {
  std::mt19937 random(1);
  std::string seeds[] = {contents(golden("f4.npy")), contents(golden("big_fortran.npy")),
                         contents(golden("version3.npy"))};
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string s = seeds[i % 3];
    for (unsigned k = random() % 4 + 1; k > 0; --k) s[random() % (i % 2 ? s.size() : 128)] = char(random());
    read += error_of([&] { parse(s); }).empty();
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 19000);
}

TEST(Npy, WritesWhatNumPyWrites) {
  for (const char* name :
       {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "scalar", "empty"}) {
    std::string file = contents(golden(std::string(name) + ".npy"));
    EXPECT_EQ(format_npy(parse(file)), file) << name;
  }
  EXPECT_NE(error_of([] { format_npy(Tensor::empty({2}, DType::bf16)); }).find("Cast to f32"), std::string::npos);
  EXPECT_NE(error_of([] { format_npy(Tensor()); }), "");
  test::TemporaryFile file(".npy");
  Tensor t = permute(reshape(arange(6), {2, 3}), {1, 0});  // not row-major
  write_npy(file.path(), t);
  EXPECT_EQ(numbers(read_npy(file.path())), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_NE(error_of([&] { write_npy("/nonexistent/x.npy", t); }).find("can't make a file"), std::string::npos);
}

TEST(Npz, ReadsNumPysArchives) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    auto members = read_npz(golden(name));
    bool big = members.size() == 4;
    ASSERT_EQ(members.size(), big ? 4u : 3u);
    if (big) {
      EXPECT_EQ(members[0].first, "big");
      std::vector<double> v = numbers(members[0].second);
      ASSERT_EQ(v.size(), 1000u);
      for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(v[i], double(i % 100));
      members.erase(members.begin());
    }
    EXPECT_EQ(members[0].first, "x");
    EXPECT_EQ(numbers(members[0].second), kSix);
    EXPECT_EQ(members[1].first, "folder/y");
    EXPECT_EQ(numbers(members[1].second), (std::vector<double>{0, 1, 2, 3, 4}));
    EXPECT_EQ(members[2].second.shape(), Shape({0}));
  }
  auto wide = read_npz(golden("zip64.npz"));
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_EQ(numbers(wide[0].second), kSix);
}

TEST(Npz, TruncationDamageAndRandomBytesAreErrors) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    std::string all = contents(golden(name));
    auto parse = [](const std::string& s) { return parse_npz(std::as_bytes(std::span(s.data(), s.size()))); };
    for (size_t n = 0; n < all.size(); ++n) EXPECT_NE(error_of([&] { parse(all.substr(0, n)); }), "") << name << n;
    std::mt19937 random(2);
    for (int i = 0; i < 5000; ++i) {
      std::string s = all;
      s[random() % s.size()] ^= char(1 << random() % 8);
      std::vector<std::pair<std::string, Tensor>> members;
      if (error_of([&] { members = parse(s); }).empty()) { EXPECT_LE(members.size(), 4u); }
    }
    // Damage to a member's data is found by its checksum.
    std::string s = all;
    size_t at = s.find("NUMPY");
    if (at != std::string::npos) {
      s[at + 20] ^= 1;
      EXPECT_NE(error_of([&] { parse(s); }).find("CRC-32"), std::string::npos);
    }
  }
}

TEST(Npz, WritesAndReadsBack) {
  test::TemporaryFile file(".npz");
  Tensor a = reshape(arange(6), {2, 3}), b = Tensor::scalar(7);
  write_npz(file.path(), {{"a", a}, {"b.c", b}});
  auto members = read_npz(file.path());
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].first, "a");
  EXPECT_EQ(numbers(members[0].second), kSix);
  EXPECT_EQ(members[1].first, "b.c");
  EXPECT_EQ(members[1].second.item(), 7);
  EXPECT_NE(error_of([&] { write_npz(file.path(), {{"a", a}, {"a", b}}); }), "");
}

}  // namespace
}  // namespace oarlock::data
