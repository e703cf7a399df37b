#include "core/op/symbol.h"

#include <gtest/gtest.h>

namespace oarlock::op {
namespace {

struct SymbolTest : testing::Test {
  Symbols symbols;
  SymbolScope scope{symbols};
  Dim b = symbols.name("B"), s = symbols.name("S");
};

TEST_F(SymbolTest, EqualPolynomialsAreOneDim) {
  EXPECT_EQ(b * 4, Dim(4) * b);
  EXPECT_EQ((b + s) * (b + s), b * b + b * s * 2 + s * s);
  EXPECT_EQ(b + s - b, s);
  EXPECT_EQ(symbols.name("B"), b);
  EXPECT_NE(b, s);
}

TEST_F(SymbolTest, WhatIsANumberBecomesOne) {
  EXPECT_EQ(b * s * 768 / (b * s), Dim(768));
  EXPECT_EQ(b - b, Dim(0));
  EXPECT_EQ((b + 3) - b, Dim(3));
  EXPECT_EQ(b * 0, Dim(0));
  EXPECT_EQ(b / 0, Dim(0));
}

TEST_F(SymbolTest, ExactDivisionsStayPolynomials) {
  EXPECT_EQ((b * 4 + 2) / 2, b * 2 + 1);
  EXPECT_EQ((b * b - s * s) / (b + s), b - s);
  EXPECT_EQ(b * s / s, b);
}

TEST_F(SymbolTest, OthersAreOpaqueFloors) {
  Dim half = b / 2;
  EXPECT_FALSE(half.known());
  EXPECT_EQ(half, b / 2);
  EXPECT_NE(half, b / 3);
  EXPECT_NE(half * 2, b) << "B may be odd";
  EXPECT_EQ(to_string(half * 2 + 1), "2*floor((B)/(2)) + 1");
}

TEST_F(SymbolTest, TextsReadWell) {
  EXPECT_EQ(to_string(b * 4 + s - 1), "4*B + S - 1");
  EXPECT_EQ(to_string(b * b), "B*B");
  EXPECT_EQ(to_string(Dim(0) - b), "-B");
  EXPECT_EQ(to_string(Shape{b, 3}), "[B, 3]");
  EXPECT_EQ(to_string(symbols.fresh("B")), "B1");
  EXPECT_EQ(to_string(symbols.fresh("B")), "B2");
}

TEST_F(SymbolTest, TextsReadBack) {
  for (Dim d : {b, b * 4 + s - 1, b * b * s, Dim(0) - b, (b / 2) * 2 + 1, ((b + s) / 3 + 1) / 2, Dim(7)}) {
    Result<Dim> back = symbols.parse(to_string(d));
    ASSERT_TRUE(back) << back.status().text();
    EXPECT_EQ(*back, d) << to_string(d);
  }
  Symbols other;  // in another order of names, unless atoms() gives it
  Dim x = (s / 2) * b + s;
  for (Dim atom : symbols.atoms(std::vector{x})) ASSERT_TRUE(other.parse(symbols.text(atom)));
  EXPECT_EQ(other.text(*other.parse(symbols.text(x))), symbols.text(x));
}

TEST_F(SymbolTest, TextsThatAreNoSizesSayWhere) {
  for (const char* text : {"", "4*", "B S", "(B)", "B++S", "floor((B)/(2)", "B*-1", "9223372036854775808", "B.x"}) {
    Result<Dim> d = symbols.parse(text);
    ASSERT_FALSE(d) << text;
    EXPECT_NE(d.status().text().find("expected"), std::string_view::npos) << d.status().text();
  }
  EXPECT_FALSE(symbols.parse(std::string(5000, '1')));
}

TEST_F(SymbolTest, MinusOneIsNeverAName) {
  EXPECT_FALSE(symbols.has(-1));
  EXPECT_FALSE(symbols.has(Dim(kRest)));
  EXPECT_FALSE(symbols.has(-1000));
  EXPECT_TRUE(symbols.has(b));
  EXPECT_TRUE(symbols.has(7));
  EXPECT_NE(b.n, -1);
}

TEST_F(SymbolTest, EvaluatesWithTheSizesOfARun) {
  auto sizes = [](std::string_view name) -> int64_t { return name == "B" ? 7 : name == "S" ? 5 : -1; };
  EXPECT_EQ(symbols.evaluate(b * b * s - 3, sizes), 242);
  EXPECT_EQ(symbols.evaluate(b / 2 * 2, sizes), 6);
  EXPECT_EQ(symbols.evaluate(s - b, sizes), -1) << "negative";
  EXPECT_EQ(symbols.evaluate(symbols.name("Q"), sizes), -1) << "unknown";
  EXPECT_EQ(symbols.evaluate(9, sizes), 9);
}

TEST_F(SymbolTest, ScopesNest) {
  Symbols inner;
  {
    SymbolScope inside(inner);
    EXPECT_EQ(&Symbols::current(), &inner);
  }
  EXPECT_EQ(&Symbols::current(), &symbols);
}

TEST(Dims, NumbersSaturateInsteadOfWrapping) {
  EXPECT_EQ(Dim(INT64_MAX) + 1, Dim(INT64_MAX));
  EXPECT_EQ(Dim(int64_t(1) << 40) * (int64_t(1) << 40), Dim(INT64_MAX));
  EXPECT_EQ(Dim(2) - 3, Dim(0));
  EXPECT_EQ(Dim(7) / 2, Dim(3));
  EXPECT_EQ(Dim(7) / 0, Dim(0));
  EXPECT_EQ(count(Shape{int64_t(1) << 40, int64_t(1) << 40}), INT64_MAX);
  EXPECT_EQ(count(Shape{int64_t(1) << 40, int64_t(1) << 40, 0}), 0);
  EXPECT_EQ(count(Shape{}), 1);
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
}

}  // namespace
}  // namespace oarlock::op
