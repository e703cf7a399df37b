#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

// relu(x @ w) with x [N, 4], w [4, 3].
Program sample() {
  return capture([](std::span<const Tensor> x) { return std::vector<Tensor>{relu(matmul(x[0], x[1]))}; },
                 {{{"N", "4"}}, {{"4", "3"}}});
}
void expect_error(const Program& p, const std::string& part) {
  Status s = verify(p);
  ASSERT_FALSE(s.ok()) << part;
  EXPECT_NE(s.text().find(part), std::string_view::npos) << s.text();
}

TEST(Verify, TakesWhatWasCaptured) {
  Status s = verify(sample());
  EXPECT_TRUE(s.ok()) << s.text();
}
TEST(Verify, NamesTheNodeItsPlaceAndWhatDisagrees) {
  Program p = sample();
  p.body.nodes[0].where = "train.py:31";
  p[p.body.nodes[0].outputs[0]].shape.d[1] = 5;
  expect_error(p, "train.py:31");
  expect_error(p, "the op's rule gives");
}
TEST(Verify, RefusesUnsoundPrograms) {
  auto broken = [](auto change, const char* part) {
    Program p = sample();
    change(p);
    expect_error(p, part);
  };
  broken([](Program& p) { std::swap(p.body.nodes[0], p.body.nodes[1]); }, "before it is defined");
  broken([](Program& p) { p.body.nodes[0].inputs[0] = 1000; }, "does not exist");
  broken([](Program& p) { p.body.nodes[0].inputs[0] = kNone; }, "not optional");
  broken([](Program& p) { p.body.nodes[0].inputs.pop_back(); }, "operands, given 1");
  broken([](Program& p) { p.body.nodes[1].outputs = p.body.nodes[0].outputs; }, "defined twice");
  broken([](Program& p) { p.body.nodes[0].version = 99; }, "version 99");
  broken([](Program& p) { p.body.nodes[0].op = op::kNoOp; }, "does not exist");
  broken([](Program& p) { p.body.nodes[0].bodies.emplace_back(); }, "1 bodies");
  broken([](Program& p) { p.values[1].name = p.values[0].name; }, "two values have this name");
  broken([](Program& p) { p.values[0].name = "a b"; }, "bad character at 1");
  broken([](Program& p) { p.values[0].shape.d[0] = Dim(-1); }, "its shape names a size");
  broken([](Program& p) { p.result_names.clear(); }, "0 result names");
  broken([](Program& p) { p.body.results[0] = -7; }, "does not exist");
  broken([](Program& p) { p.updates.push_back({0, 1}); }, "no state");
  broken([](Program& p) { p.feeds.push_back(0); }, "expected feed");
}

}  // namespace
}  // namespace oarlock::graph
