#include <oarlock/base/op.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace oarlock {
namespace {

TEST(OpInfo, DescribesMatmul) {
  const OpInfo& m = op_info("matmul");
  EXPECT_EQ(m.inputs.size(), 2u);
  EXPECT_EQ(m.inputs[1].spec, "[..., K, N]");
  EXPECT_EQ(m.types.at(0).mixing, "promotes");
  EXPECT_EQ(m.types.at(0).set, kNumeric);
  EXPECT_TRUE(m.primitive && m.has_reference && m.has_gradient);
  EXPECT_FALSE(m.has_decomposition || m.is_view);
  EXPECT_TRUE(m.tolerance_of_absolutes);
  EXPECT_EQ(m.saves.at(0), (std::pair<std::string, std::string>("b", "a")));
  EXPECT_EQ(&op_info("matmul"), &m) << "stable";
}

TEST(OpInfo, DescribesAttributesAndFlags) {
  const OpInfo& d = op_info("dropout");
  EXPECT_EQ(d.attributes.at(0).kind, "real");
  EXPECT_EQ(d.attributes.at(0).default_text, "0.5");
  EXPECT_EQ(d.attributes.at(0).high, 1);
  EXPECT_TRUE(d.inputs.at(1).host);
  const OpInfo& s = op_info("sum");
  EXPECT_TRUE(s.attributes.at(0).may_be_none);
  EXPECT_EQ(s.attributes.at(1).default_text, "false");
  EXPECT_EQ(s.attributes.at(1).low, -INFINITY);
  EXPECT_TRUE(op_info("full").attributes.at(0).required);
  EXPECT_EQ(op_info("full").attributes.at(2).default_text, "f32");
  EXPECT_EQ(op_info("pad").attributes.at(2).default_text, "0");
  EXPECT_TRUE(op_info("cross_entropy").outputs.at(1).hidden);
  EXPECT_EQ(op_info("cross_entropy").inputs.at(1).range, "0..C-1");
  EXPECT_TRUE(op_info("assign").inputs.at(0).mutated);
}

TEST(OpInfo, NamesAreAllThere) {
  auto names = op_names();
  for (const char* name :
       {"add", "subtract", "multiply", "divide", "maximum",     "exp",    "log",    "sqrt",           "tanh",
        "erf", "equal",    "less",     "where",  "cast",        "full",   "arange", "random_uniform", "copy",
        "sum", "max",      "matmul",   "gather", "scatter_add", "concat", "pad"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    EXPECT_TRUE(op_info(name).primitive) << name;
    EXPECT_TRUE(op_info(name).has_reference) << name;
  }
  for (auto& name : names) EXPECT_TRUE(!op_info(name).plugin.empty() || !op_info(name).cases.empty()) << name;
  EXPECT_THROW(op_info("no_such_op"), Error);
}

}  // namespace
}  // namespace oarlock
