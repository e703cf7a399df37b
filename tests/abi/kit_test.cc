// The kit's helpers against definitions written another way.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "abi/raw_host.h"
#include "kit.hpp"

namespace oarlock::test {
namespace {

// The value of a 16-bit float with this many exponent bits, by the formula of IEEE 754.
double decode(uint16_t bits, int exponent_bits) {
  int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

TEST(KitNumber, EveryHalfIsItsFormulaAndComesBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint16_t>(i);
    double half = decode(bits, 5), brain = decode(bits, 8);
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(oar_kit_f16_to_f32(bits)));
      EXPECT_TRUE(std::isnan(decode(oar_kit_f32_to_f16(oar_kit_f16_to_f32(bits)), 5)));
    } else {
      ASSERT_EQ(oar_kit_f16_to_f32(bits), half) << i;
      ASSERT_EQ(oar_kit_f32_to_f16(oar_kit_f16_to_f32(bits)), bits) << i;
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(decode(oar_kit_f32_to_bf16(oar_kit_bf16_to_f32(bits)), 8)));
    } else {
      ASSERT_EQ(oar_kit_bf16_to_f32(bits), brain) << i;
      ASSERT_EQ(oar_kit_f32_to_bf16(oar_kit_bf16_to_f32(bits)), bits) << i;
    }
  }
}

// Between each two neighbours: below the middle down, above it up, on it to the even one.
TEST(KitNumber, RoundsToNearestEven) {
  for (int exponent_bits : {5, 8}) {
    auto round = exponent_bits == 5 ? oar_kit_f32_to_f16 : oar_kit_f32_to_bf16;
    uint16_t infinity = exponent_bits == 5 ? 0x7c00 : 0x7f80;
    for (uint16_t low = 0; low < infinity - 1; ++low) {
      double middle = (decode(low, exponent_bits) + decode(static_cast<uint16_t>(low + 1), exponent_bits)) / 2;
      auto tie = static_cast<float>(middle);
      if (tie != middle) continue;  // bf16 subnormals so small that f32 has no middle
      uint16_t even = low % 2 == 0 ? low : static_cast<uint16_t>(low + 1);
      ASSERT_EQ(round(tie), even) << middle;
      ASSERT_EQ(round(-tie), even | 0x8000) << middle;
      ASSERT_EQ(round(std::nextafter(tie, 0.0f)), low) << middle;
      ASSERT_EQ(round(std::nextafter(tie, INFINITY)), low + 1) << middle;
    }
    EXPECT_EQ(round(3.4028235e38f), infinity);
    EXPECT_EQ(round(-INFINITY), infinity | 0x8000);
  }
}

TEST(KitNumber, ConvertsByTheRules) {
  struct {
    double from;
    int8_t i8;
    uint16_t u16;
    int64_t i64;
    uint64_t u64;
  } cases[] = {{1e30, 127, 65535, INT64_MAX, UINT64_MAX},
               {-1e30, -128, 0, INT64_MIN, 0},
               {-0.9, 0, 0, 0, 0},
               {127.9, 127, 127, 127, 127},
               {NAN, 0, 0, 0, 0},
               {9223372036854775808.0, 127, 65535, INT64_MAX, 9223372036854775808u}};
  for (const auto& c : cases) {
    int8_t i8;
    uint16_t u16;
    int64_t i64;
    uint64_t u64;
    oar_kit_convert(&i8, OAR_DTYPE_I8, 0, &c.from, OAR_DTYPE_F64, 0);
    oar_kit_convert(&u16, OAR_DTYPE_U16, 0, &c.from, OAR_DTYPE_F64, 0);
    oar_kit_convert(&i64, OAR_DTYPE_I64, 0, &c.from, OAR_DTYPE_F64, 0);
    oar_kit_convert(&u64, OAR_DTYPE_U64, 0, &c.from, OAR_DTYPE_F64, 0);
    EXPECT_EQ(i8, c.i8) << c.from;
    EXPECT_EQ(u16, c.u16) << c.from;
    EXPECT_EQ(i64, c.i64) << c.from;
    EXPECT_EQ(u64, c.u64) << c.from;
  }
  // By way of double this would round twice, to 2^60.
  int64_t wide = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  float narrow;
  oar_kit_convert(&narrow, OAR_DTYPE_F32, 0, &wide, OAR_DTYPE_I64, 0);
  EXPECT_EQ(narrow, std::ldexp(1.0f, 60) + std::ldexp(1.0f, 37));
}

TEST(KitNumber, SizesOfEveryType) {
  const uint32_t bits[] = {0, 8, 8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64, 64, 128,
                           8, 8, 8, 8,  8,  0,  0, 0,  4,  4,  2,  2,  4,  6,  6,  0};
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(oar_kit_dtype_bits(i), bits[i]) << i;
  EXPECT_EQ(oar_kit_dtype_bytes(OAR_DTYPE_C128), 16u);
  EXPECT_EQ(oar_kit_dtype_bytes(OAR_DTYPE_I4), 0u);
}

TEST(KitView, Contiguity) {
  int64_t shape[] = {2, 1, 3}, dense[] = {3, 99, 1}, wide[] = {4, 3, 1}, empty[] = {0, 7}, any[] = {5, 5};
  EXPECT_TRUE(oar_kit_contiguous(3, shape, dense));
  EXPECT_FALSE(oar_kit_contiguous(3, shape, wide));
  EXPECT_TRUE(oar_kit_contiguous(2, empty, any));
  EXPECT_TRUE(oar_kit_contiguous(0, nullptr, nullptr));
  int64_t strides[3];
  oar_kit_strides(3, shape, strides);
  EXPECT_TRUE(oar_kit_contiguous(3, shape, strides));
  EXPECT_EQ(oar_kit_extent_bytes(3, shape, wide, OAR_DTYPE_F32), 28u);
  EXPECT_EQ(oar_kit_extent_bytes(2, empty, any, OAR_DTYPE_F32), 0u);
}

TEST(KitView, BroadcastIsRightAligned) {
  int64_t out[] = {4, 2, 3}, column[] = {2, 1}, strides[3];
  ASSERT_TRUE(oar_kit_broadcast_strides(3, out, 2, column, nullptr, strides));
  EXPECT_EQ(std::vector<int64_t>(strides, strides + 3), (std::vector<int64_t>{0, 1, 0}));
  int64_t own[] = {10, 5};
  ASSERT_TRUE(oar_kit_broadcast_strides(3, out, 2, out + 1, own, strides));
  EXPECT_EQ(std::vector<int64_t>(strides, strides + 3), (std::vector<int64_t>{0, 10, 5}));
  EXPECT_FALSE(oar_kit_broadcast_strides(3, out, 1, column, nullptr, strides));
  EXPECT_FALSE(oar_kit_broadcast_strides(1, out + 2, 2, column, nullptr, strides));
}

TEST(KitMemory, CopiesBoxesOfAnyRank) {
  // The middle two columns of a 3 x 4 block, turned: out[column][row] = in[row][column + 1].
  const uint8_t in[12] = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  uint8_t out[6] = {};
  const int64_t counts[] = {3, 2}, from[] = {4, 1}, to[] = {1, 3};
  oar_region_t region{};
  region.struct_size = sizeof(region);
  region.n_dims = 2;
  region.dst = out;
  region.src = const_cast<uint8_t*>(in);
  region.src_offset = 1;
  region.size_bytes = 1;
  region.counts = counts;
  region.dst_strides = to;
  region.src_strides = from;
  const oar_region_t* regions[] = {&region};
  oar_kit_copy(1, regions);
  EXPECT_EQ(std::vector<uint8_t>(out, out + 6), (std::vector<uint8_t>{1, 11, 21, 2, 12, 22}));
  region.size_bytes = 0;
  region.src = region.dst = nullptr;
  oar_kit_copy(1, regions);  // nothing to read, so no pointer is touched
}

TEST(KitMemory, FillsByPatternsOfAPowerOfTwo) {
  uint8_t bytes[8] = {};
  oar_span_t span{bytes, 2, 4};
  EXPECT_TRUE(oar_kit_fill(&span, 0x0201, 2));
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 8), (std::vector<uint8_t>{0, 0, 1, 2, 1, 2, 0, 0}));
  for (uint32_t wrong : {0u, 3u, 8u, 16u}) EXPECT_FALSE(oar_kit_fill(&span, ~0ull, wrong)) << wrong;
  EXPECT_EQ(bytes[2], 1);
}

TEST(Kit, FindsTheHighestTableInRange) {
  uint32_t one[] = {8, 1}, three[] = {8, 3}, zero[] = {8, 0};
  oar_kit_table_t tables[] = {{7, one}, {7, three}, {8, zero}};
  EXPECT_EQ(oar_kit_table_find(tables, 3, 7, 1, 9), three);
  EXPECT_EQ(oar_kit_table_find(tables, 3, 7, 1, 2), one);
  EXPECT_EQ(oar_kit_table_find(tables, 3, 7, 4, 9), nullptr);
  EXPECT_EQ(oar_kit_table_find(tables, 3, 8, 0, 9), nullptr);
}

TEST(Kit, RefusalsFitTheirRoom) {
  char text[8] = "xxxxxxx";
  oar_verdict_t verdict{};
  verdict.struct_size = sizeof(verdict);
  verdict.text = text;
  verdict.text_capacity = sizeof(text);
  EXPECT_EQ(oar_kit_refuse(&verdict, OAR_REASON_RANK, 2, "%s", "a long sentence"), OAR_REFUSED);
  EXPECT_EQ(verdict.reason, uint32_t{OAR_REASON_RANK});
  EXPECT_EQ(verdict.operand, 2);
  EXPECT_EQ(kit::view({text, verdict.text_size}), "a long ");
  verdict.text_size = 99;
  verdict.text = nullptr;
  oar_kit_refuse(&verdict, OAR_REASON_RANK, 2, "x");
  EXPECT_EQ(verdict.text_size, 0u);
  verdict.struct_size = offsetof(oar_verdict_t, text);  // an older host's
  verdict.text_size = 99;
  oar_kit_refuse(&verdict, OAR_REASON_RANK, 2, "x");
  EXPECT_EQ(verdict.text_size, 99u);
  EXPECT_EQ(oar_kit_refuse(nullptr, OAR_REASON_RANK, 2, "x"), OAR_REFUSED);
}

TEST(Kit, ReadsAttributesByPlaceAndType) {
  int64_t list[] = {3, 4};
  oar_attr_t attrs[4] = {};
  attrs[0].type = OAR_ATTR_INT;
  attrs[0].is_set = 1;
  attrs[0].value.i = -5;
  attrs[1].type = OAR_ATTR_INTS;
  attrs[1].is_set = 1;
  attrs[1].count = 2;
  attrs[1].value.ints = list;
  attrs[2].type = OAR_ATTR_FLOAT;  // not set
  attrs[3].type = OAR_ATTR_STRING;
  attrs[3].is_set = 1;
  attrs[3].count = 3;
  attrs[3].value.str = "abcdef";
  oar_call_t call{};
  call.struct_size = sizeof(call);
  call.n_attrs = 4;
  call.attrs = attrs;
  EXPECT_EQ(kit::attr_int(call, 0, 9), -5);
  EXPECT_EQ(kit::attr_int(call, 1, 9), 9);
  EXPECT_EQ(kit::attr_int(call, 4, 9), 9);
  EXPECT_EQ(kit::attr_float(call, 2, 0.5), 0.5);
  EXPECT_EQ(kit::attr_ints(call, 1).size(), 2u);
  EXPECT_EQ(kit::attr_ints(call, 1)[1], 4);
  EXPECT_TRUE(kit::attr_ints(call, 0).empty());
  EXPECT_EQ(kit::attr_string(call, 3), "abc");
}

TEST(Kit, QueryRefusesAHostOfAnotherAge) {
  oar_host_t host = make_host();
  oar_plugin_t plugin{};
  plugin.struct_size = sizeof(plugin);
  plugin.abi_min = plugin.abi_max = OAR_ABI_VERSION;
  plugin.name = OAR_STR("toy");
  const oar_plugin_t* out = nullptr;
  EXPECT_EQ(oar_kit_query(&host, &plugin, &out), OAR_OK);
  EXPECT_EQ(out, &plugin);
  host.abi_min = host.abi_max = 7;
  out = nullptr;
  EXPECT_EQ(oar_kit_query(&host, &plugin, &out), OAR_UNSUPPORTED);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(last_error(), "toy speaks ABI 1 to 1, this host 7 to 7");
}

}  // namespace
}  // namespace oarlock::test
