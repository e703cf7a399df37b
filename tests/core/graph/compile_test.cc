#include "core/graph/compile.h"

#include "tests/core/graph/compiled.h"

namespace oarlock::graph {
namespace {

Program sample() {
  return capture(
      [w = uniform({3, 4}, 1)](std::span<const Tensor> x) {
        Tensor unused = exp(x[0]);
        Tensor a = matmul(x[0], matrix_transpose(w)), b = matmul(x[0], matrix_transpose(w));
        return std::vector<Tensor>{add(a, b)};
      },
      {{{"N", "4"}}});
}

TEST(Compile, ReportsEachRunOfAPass) {
  std::vector<PassReport> report;
  Program p = compiled(sample(), {"freeze_states", "common_subexpressions", "dead_code"}, &report);
  ASSERT_EQ(report.size(), 4u);
  EXPECT_EQ(report[0].pass, "freeze_states");
  EXPECT_EQ(report[0].changes, 1);
  EXPECT_EQ(report[1].pass, "common_subexpressions");
  EXPECT_EQ(report[1].nodes_before, 6);
  EXPECT_EQ(report[1].nodes_after, 4);
  EXPECT_EQ(report[1].changes, 2);
  EXPECT_EQ(report[2].changes, 0);
  EXPECT_EQ(report[3].pass, "dead_code");
  EXPECT_EQ(report[3].nodes_after, 3);
  for (const PassReport& r : report) EXPECT_GE(r.microseconds, 0);
  EXPECT_EQ(ops_of(p), "matrix_transpose matmul add");
}

TEST(Compile, ShowsTheProgramAroundEachPass) {
  Program p = compiled(sample(), {"freeze_states"});
  std::vector<std::string> seen;
  CompileOptions options{.off = all_but({"common_subexpressions", "dead_code"}),
                         .dump = [&](std::string_view pass, bool after, const Program& at) {
                           seen.push_back(std::string(pass) + (after ? " > " : " < ") + ops_of(at));
                         }};
  ASSERT_TRUE(compile(p, options).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "common_subexpressions < exp matrix_transpose matmul matrix_transpose matmul add",
                      "common_subexpressions > exp matrix_transpose matmul add",
                      "common_subexpressions < exp matrix_transpose matmul add",
                      "common_subexpressions > exp matrix_transpose matmul add",
                      "dead_code < exp matrix_transpose matmul add",
                      "dead_code > matrix_transpose matmul add",
                  }));
}

TEST(Compile, LeavesTheProgramAsItWasOnFailure) {
  Program p = sample();
  Status s = compile(p, {.off = {"magic"}});
  EXPECT_NE(s.text().find("main: no pass is called magic. There are: freeze_states, "), std::string_view::npos);
  p.result_names.clear();
  EXPECT_FALSE(compile(p).ok());
  EXPECT_EQ(ops_of(p), ops_of(sample()));
}

TEST(Compile, TellsWhichPassesRound) {
  const std::vector<std::string>& rounding = rounding_pass_names();
  auto has = [&](const char* name) { return std::count(rounding.begin(), rounding.end(), name) > 0; };
  EXPECT_TRUE(has("fold_batch_norm"));
  EXPECT_TRUE(has("recognise_attention"));
  EXPECT_FALSE(has("constant_folding"));
  EXPECT_FALSE(has("identity_views"));
}

TEST(Compile, StatesThatAreWrittenStayStates) {
  Tensor w = uniform({2}, 1), v = uniform({2}, 2);
  Program p = capture(
      [&](std::span<const Tensor> x) {
        Tensor y = add(x[0], w);
        assign(w, multiply(y, v));
        return std::vector<Tensor>{y};
      },
      {{{"2"}}});
  ASSERT_TRUE(compile(p).ok());
  int states = 0, constants = 0;
  for (const Value& value : p.values) {
    states += value.kind == Kind::state;
    constants += value.kind == Kind::constant;
  }
  EXPECT_EQ(states, 1);
  EXPECT_EQ(constants, 1);
  ASSERT_EQ(p.updates.size(), 1u);
}

}  // namespace
}  // namespace oarlock::graph
