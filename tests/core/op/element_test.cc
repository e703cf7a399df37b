// Every conversion against closed forms; every code of every small float.
#include "core/op/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace oarlock::op {
namespace {

constexpr double kInf = INFINITY;

struct Cell {  // one tensor of a few elements
  alignas(8) uint8_t bytes[64]{};
  oar_view_t v{};
  explicit Cell(DType t) {
    v.data = bytes;
    v.dtype = uint32_t(t);
  }
};
template <class Acc>
double through(DType t, Acc x) {
  Cell c(t);
  store<Acc>(c.v, 0, x);
  return load<double>(c.v, 0);
}

struct Small {
  DType type;
  int exponent, mantissa, bias;
  double largest, least;  // published: the largest finite value, the smallest positive one
  bool has_infinity, has_negative_zero;
};
const Small kSmall[] = {
    {DType::f16, 5, 10, 15, 65504, 0x1p-24, true, true},
    {DType::bf16, 8, 7, 127, 0x1.fep127, 0x1p-133, true, true},
    {DType::f8_e4m3, 4, 3, 7, 448, 0x1p-9, false, true},
    {DType::f8_e5m2, 5, 2, 15, 57344, 0x1p-16, true, true},
    {DType::f8_e4m3_uz, 4, 3, 8, 240, 0x1p-10, false, false},
    {DType::f8_e5m2_uz, 5, 2, 16, 57344, 0x1p-17, false, false},
    {DType::f4_e2m1, 2, 1, 1, 6, 0.5, false, true},
};
class SmallFloat : public testing::TestWithParam<Small> {
 protected:
  Small f = GetParam();
  uint32_t codes = 1u << (1 + f.exponent + f.mantissa), half = codes / 2;
  double formula(uint32_t code) const {  // of finite codes
    int e = int(code % half >> f.mantissa), m = int(code & ((1u << f.mantissa) - 1));
    double x = e ? std::ldexp(1 + std::ldexp(m, -f.mantissa), e - f.bias) : std::ldexp(m, 1 - f.bias - f.mantissa);
    return code >= half ? -x : x;
  }
};

TEST_P(SmallFloat, EveryCodeReadsByTheFormulaAndComesBack) {
  int finite = 0;
  for (uint32_t code = 0; code < codes; ++code) {
    double x = decode_float(f.type, code);
    if (std::isfinite(x)) {
      EXPECT_EQ(x, formula(code)) << code;
      EXPECT_LE(std::fabs(x), f.largest);
      EXPECT_EQ(encode_float(f.type, x), code);
      ++finite;
    } else if (std::isinf(x)) {
      EXPECT_TRUE(f.has_infinity);
      EXPECT_EQ(encode_float(f.type, x), code);
    } else {
      EXPECT_TRUE(std::isnan(decode_float(f.type, encode_float(f.type, x))));
    }
  }
  EXPECT_EQ(decode_float(f.type, encode_float(f.type, f.largest)), f.largest);
  EXPECT_EQ(decode_float(f.type, 1), f.least);
  int special = f.type == DType::f4_e2m1   ? 0
                : f.type == DType::f8_e4m3 ? 2
                : !f.has_negative_zero     ? 1
                                           : 2 << f.mantissa;
  EXPECT_EQ(finite, int(codes) - special);
}

TEST_P(SmallFloat, RoundsToNearestAndTiesToEven) {
  for (uint32_t code = 0; code + 1 < half; ++code) {
    double a = decode_float(f.type, code), b = decode_float(f.type, code + 1);
    if (!std::isfinite(a) || !std::isfinite(b)) break;
    double middle = (a + b) / 2;
    uint32_t even = code % 2 ? code + 1 : code;
    ASSERT_EQ(encode_float(f.type, middle), even) << code;
    ASSERT_EQ(encode_float(f.type, std::nextafter(middle, 0)), code);
    ASSERT_EQ(encode_float(f.type, std::nextafter(middle, kInf)), code + 1);
    if (f.has_negative_zero || even) { ASSERT_EQ(encode_float(f.type, -middle), even | half); }
  }
}

TEST_P(SmallFloat, OverflowGivesInfinityOrTheLargest) {
  double far = f.has_infinity ? kInf : f.largest;
  EXPECT_EQ(decode_float(f.type, encode_float(f.type, 1e300)), far);
  EXPECT_EQ(decode_float(f.type, encode_float(f.type, -kInf)), -far);
  EXPECT_EQ(decode_float(f.type, encode_float(f.type, 1e-300)), 0);
  EXPECT_EQ(decode_float(f.type, encode_float(f.type, 5e-324)), 0);
  double minus_zero = decode_float(f.type, encode_float(f.type, -0.0));
  EXPECT_EQ(minus_zero, 0);
  EXPECT_EQ(std::signbit(minus_zero), f.has_negative_zero);
}
INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat, testing::ValuesIn(kSmall),
                         [](auto& info) { return std::string(to_string(info.param.type)); });

TEST(Element, PublishedCodes) {
  EXPECT_EQ(encode_float(DType::f16, 1), 0x3c00u);
  EXPECT_EQ(encode_float(DType::f16, 1.0 / 3), 0x3555u);
  EXPECT_EQ(encode_float(DType::f16, 65520), 0x7c00u);  // half way to what would be next
  EXPECT_EQ(encode_float(DType::f16, 65519.999), 0x7bffu);
  EXPECT_EQ(encode_float(DType::f8_e4m3, 1), 0x38u);
  EXPECT_EQ(encode_float(DType::f8_e5m2, 1), 0x3cu);
  EXPECT_EQ(encode_float(DType::f8_e4m3_uz, 1), 0x40u);
  EXPECT_EQ(encode_float(DType::f8_e5m2_uz, NAN), 0x80u);
  EXPECT_EQ(encode_float(DType::f8_e4m3, NAN) & 0x7f, 0x7fu);
  double f4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(decode_float(DType::f4_e2m1, i), f4[i]);
}

TEST(Element, Bf16IsTheUpperHalfOfF32) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    uint32_t bits = code << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    if (x != x) continue;
    ASSERT_EQ(decode_float(DType::bf16, code), double(x));
  }
}

TEST(Element, E8m0IsAPowerOfTwo) {
  for (uint32_t code = 0; code < 255; ++code) {
    EXPECT_EQ(decode_float(DType::f8_e8m0, code), std::ldexp(1.0, int(code) - 127));
    EXPECT_EQ(encode_float(DType::f8_e8m0, std::ldexp(1.0, int(code) - 127)), code);
  }
  EXPECT_TRUE(std::isnan(decode_float(DType::f8_e8m0, 255)));
  EXPECT_EQ(encode_float(DType::f8_e8m0, -1), 255u);
  EXPECT_EQ(encode_float(DType::f8_e8m0, 1.4), 127u);
  EXPECT_EQ(encode_float(DType::f8_e8m0, 1.6), 128u);
  EXPECT_EQ(encode_float(DType::f8_e8m0, kInf), 254u);
  EXPECT_EQ(encode_float(DType::f8_e8m0, 0), 0u);
}

// Rounding twice, to f64 and then to bf16, would turn this up to the even neighbour's other side.
TEST(Element, WideIntegersRoundOnce) {
  int64_t x = (int64_t(0x101) << 54) + 1;  // just above half way between two bf16, beyond 53 bits
  EXPECT_EQ(through<int64_t>(DType::bf16, (int64_t(0x81) << 55) + (int64_t(1) << 54)), std::ldexp(double(0x82), 55));
  EXPECT_EQ(through<int64_t>(DType::bf16, x), std::ldexp(double(0x81), 55));
  EXPECT_EQ(through<uint64_t>(DType::f32, UINT64_MAX), 0x1p64);
  EXPECT_EQ(through<int64_t>(DType::f32, (int64_t(1) << 62) + (int64_t(1) << 38) + 1), 0x1p62 + 0x1p39);
}

TEST(Element, FloatToIntegerTruncatesSaturatesAndNanIsZero) {
  EXPECT_EQ(through(DType::u32, -0.5), 0);
  EXPECT_EQ(through(DType::u32, -1.5), 0);
  EXPECT_EQ(through(DType::u32, 0.7), 0);
  EXPECT_EQ(through(DType::u32, 1e10), 4294967295.0);
  EXPECT_EQ(through(DType::i8, 300.0), 127);
  EXPECT_EQ(through(DType::i8, -300.0), -128);
  EXPECT_EQ(through(DType::i8, -1.9), -1);
  EXPECT_EQ(through(DType::i64, kInf), 0x1p63);
  EXPECT_EQ(through(DType::u64, kInf), 0x1p64);
  EXPECT_EQ(through(DType::i32, double(NAN)), 0);
  EXPECT_EQ(through(DType::boolean, double(NAN)), 1);
  EXPECT_EQ(through(DType::boolean, 0.25), 1);
  EXPECT_EQ(through(DType::boolean, -0.0), 0);
  EXPECT_EQ(through(DType::i4, 9.7), 7);
  EXPECT_EQ(through(DType::i4, -9.7), -8);
  EXPECT_EQ(through(DType::u2, 3.9), 3);
  Cell c(DType::f32);
  store<double>(c.v, 0, 1e30);
  EXPECT_EQ(load<int64_t>(c.v, 0), INT64_MAX);
  EXPECT_EQ(load<uint64_t>(c.v, 0), UINT64_MAX);
  store<double>(c.v, 0, -3.7);
  EXPECT_EQ(load<int64_t>(c.v, 0), -3);
  EXPECT_EQ(load<uint64_t>(c.v, 0), 0u);
}

TEST(Element, IntegersWrap) {
  EXPECT_EQ(through<int64_t>(DType::i8, 200), -56);
  EXPECT_EQ(through<int64_t>(DType::u8, -1), 255);
  EXPECT_EQ(through<int64_t>(DType::u16, 65537), 1);
  EXPECT_EQ(through<int64_t>(DType::i4, 9), -7);
  EXPECT_EQ(through<int64_t>(DType::u4, -1), 15);
  EXPECT_EQ(through<int64_t>(DType::i2, 2), -2);
  EXPECT_EQ(through<uint64_t>(DType::u64, UINT64_MAX), 0x1p64);
  EXPECT_EQ(through<int64_t>(DType::boolean, -7), 1);
}

TEST(Element, PackedOnesStandLowBitsFirstAndLeaveTheirNeighbours) {
  Cell c(DType::u4);
  for (int i = 0; i < 6; ++i) store<int64_t>(c.v, i, i + 1);
  EXPECT_EQ(c.bytes[0], 0x21);
  EXPECT_EQ(c.bytes[1], 0x43);
  store<int64_t>(c.v, 2, 15);
  EXPECT_EQ(c.bytes[1], 0x4f);
  EXPECT_EQ(load<int64_t>(c.v, 3), 4);
  Cell d(DType::i2);
  for (int i = 0; i < 4; ++i) store<int64_t>(d.v, i, i - 2);
  EXPECT_EQ(d.bytes[0], 0b01001110);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(load<int64_t>(d.v, i), i - 2);
}

TEST(Element, TheByteOffsetOfAViewCounts) {
  Cell c(DType::i32);
  c.v.byte_offset = 8;
  store<int64_t>(c.v, 1, 7);
  EXPECT_EQ(c.bytes[12], 7);
  EXPECT_EQ(load<int64_t>(c.v, 1), 7);
}

TEST(Element, TheAccumulatorIsTheWidestOfItsKind) {
  auto size = [](DType t) { return with_accumulator(t, [](auto acc) { return std::string(typeid(acc).name()); }); };
  EXPECT_EQ(size(DType::i8), typeid(int64_t).name());
  EXPECT_EQ(size(DType::boolean), typeid(int64_t).name());
  EXPECT_EQ(size(DType::u64), typeid(uint64_t).name());
  EXPECT_EQ(size(DType::f16), typeid(double).name());
  EXPECT_EQ(size(DType::i4), typeid(int64_t).name());
  EXPECT_EQ(size(DType::u2), typeid(uint64_t).name());
}

TEST(Walk, GoesThroughAllAndThroughNothing) {
  int64_t shape[] = {2, 0, 3}, some[] = {2, 3};
  int n = 0;
  for (Walk w(shape, 3); w.more(); w.next()) ++n;
  EXPECT_EQ(n, 0);
  std::string order;
  for (Walk w(some, 2); w.more(); w.next()) order += std::to_string(w.index[0]) + std::to_string(w.index[1]) + " ";
  EXPECT_EQ(order, "00 01 02 10 11 12 ");
  for (Walk w(nullptr, 0); w.more(); w.next()) ++n;
  EXPECT_EQ(n, 1) << "a scalar has one element";
}

}  // namespace
}  // namespace oarlock::op
