#include "api/cts/compare.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "api/cts/number.h"

namespace oarlock::cts {
namespace {

HostTensor numbers(DType dtype, std::initializer_list<double> values) {
  HostTensor t{Shape({int64_t(values.size())}), dtype, {}};
  t.bytes.resize(size_t(size_bytes(dtype, values.size())));
  int64_t i = 0;
  for (double x : values) put_number(t.bytes.data(), dtype, i++, x);
  return t;
}
constexpr double kInf = std::numeric_limits<double>::infinity();

// 4 ulps of f32 at 1, read from 9 elements: 4 * 2^-23 * 3.
TEST(Compare, TheFormula) {
  Tolerance t{.ulps = 4, .reads = 9};
  double allowed = 12 * 0x1p-23;
  EXPECT_FALSE(compare(numbers(DType::f32, {1 + 11 * 0x1p-23}), numbers(DType::f32, {1}), nullptr, t));
  EXPECT_TRUE(compare(numbers(DType::f32, {1 + 13 * 0x1p-23}), numbers(DType::f32, {1}), nullptr, t));
  EXPECT_NEAR(allowed_difference(numbers(DType::f32, {1}), nullptr, t, 0), allowed, 1e-30);
  // What is left of terms that were 100 times as large may be off by as much.
  HostTensor scale = numbers(DType::f32, {100});
  EXPECT_FALSE(compare(numbers(DType::f32, {1 + 1100 * 0x1p-23}), numbers(DType::f32, {1}), &scale, t));
}

TEST(Compare, IntegersAndViewsAreExact) {
  EXPECT_FALSE(compare(numbers(DType::i32, {7}), numbers(DType::i32, {7}), nullptr, {}));
  EXPECT_TRUE(compare(numbers(DType::i32, {7}), numbers(DType::i32, {8}), nullptr, {}));
  EXPECT_TRUE(compare(numbers(DType::f32, {1 + 0x1p-23}), numbers(DType::f32, {1}), nullptr, {.exact = true}));
  EXPECT_FALSE(compare(numbers(DType::f32, {NAN}), numbers(DType::f32, {NAN}), nullptr, {.exact = true}));
}

TEST(Compare, SaysWhichElement) {
  auto wrong = compare(numbers(DType::f32, {1, 2, 4}), numbers(DType::f32, {1, 2, 3}), nullptr, {});
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->substr(0, 26), "element [2] is 4, want 3 (");
}

// Where a sum of halves outgrows them it may end at either infinity or at nothing; where an operand was infinite, the answer
// is known.
TEST(Compare, InfinityOfAnOperandIsNoOverflow) {
  HostTensor want = numbers(DType::f16, {kInf}), nothing = numbers(DType::f16, {NAN}),
             scale = numbers(DType::f16, {kInf});
  EXPECT_FALSE(compare(nothing, want, &scale, {.finite_operands = true}));
  EXPECT_TRUE(compare(nothing, want, &scale, {.finite_operands = false}));
  HostTensor one = numbers(DType::f16, {1}), two = numbers(DType::f16, {2});
  EXPECT_FALSE(compare(two, one, &scale, {.finite_operands = true}));
  EXPECT_TRUE(compare(two, one, &scale, {.finite_operands = false}));
  // In other dtypes an overflow does not excuse it.
  EXPECT_TRUE(compare(numbers(DType::f32, {NAN}), numbers(DType::f32, {kInf}), nullptr, {}));
}

TEST(Compare, RoundingMayMeetTheEndOfTheDtype) {
  EXPECT_FALSE(compare(numbers(DType::f16, {65504}), numbers(DType::f16, {kInf}), nullptr, {}));
  EXPECT_TRUE(compare(numbers(DType::f16, {-65504}), numbers(DType::f16, {kInf}), nullptr, {}));
  EXPECT_TRUE(compare(numbers(DType::f16, {60000}), numbers(DType::f16, {kInf}), nullptr, {}));
}

}  // namespace
}  // namespace oarlock::cts
