#include <oarlock/base/shape.h>

#include <gtest/gtest.h>

namespace oarlock {
namespace {

TEST(Shape, HoldsUpToSixteenSizes) {
  Shape s;
  for (int i = 0; i < 20; ++i) s.push(i);
  EXPECT_EQ(s.rank, kMaxRank);
  EXPECT_EQ(s[15], Dim(15));
  Shape copy = s;
  EXPECT_EQ(copy, s);
  EXPECT_NE(copy, Shape({0, 1}));
  EXPECT_EQ(Shape(std::vector<int64_t>{2, 3}), Shape({2, 3}));
}

}  // namespace
}  // namespace oarlock
