#include "tests/core/graph/passes/bodies.h"

namespace oarlock::graph {
namespace {

const std::vector<std::string> kDeadCode = {"dead_code"};

TEST(DeadCode, GoesWithAllThatOnlyItRead) {
  auto f = [](std::span<const Tensor> x) {
    Tensor a = exp(x[0]), b = multiply(a, a), c = add(b, x[0]);
    return std::vector<Tensor>{tanh(a), x[0]};
  };
  Program p = compiled(capture(f, {{{"N"}}}), kDeadCode);
  EXPECT_EQ(ops_of(p), "exp tanh");
  expect_alike(f, p, {uniform({5}, 1)});
}
TEST(DeadCode, StaysIfOneOfSeveralOutputsIsUsed) {
  auto f = [](std::span<const Tensor> x) { return std::vector<Tensor>{split(x[0], {1, 2})[1]}; };
  Program before = capture(f, {{{"3"}}});
  EXPECT_EQ(ops_of(compiled(before, kDeadCode)), ops_of(before));
}
TEST(DeadCode, WritesStay) {
  Tensor w = uniform({2}, 1);
  Program p = compiled(capture(
                           [&](std::span<const Tensor> x) {
                             assign(w, exp(x[0]));
                             return std::vector<Tensor>{x[0]};
                           },
                           {{{"2"}}}),
                       kDeadCode);
  EXPECT_EQ(ops_of(p), "exp assign");
}
TEST(DeadCode, FeedsStay) {
  Program p = compiled(capture(
                           [&](std::span<const Tensor> x) {
                             Tensor unused = dropout(x[0], default_generator().next());
                             return std::vector<Tensor>{x[0]};
                           },
                           {{{"2"}}}),
                       kDeadCode);
  EXPECT_EQ(ops_of(p), "");
  EXPECT_EQ(p.feeds.size(), 1u);
}
TEST(DeadCode, InBodiesAndWhatOnlyTheyRead) {
  Function f = with_body([](const Tensor& x, const Tensor& y) {
    Tensor unused = sin(y);
    return cos(x);
  });
  EXPECT_EQ(ops_of(capture(f, {{{"3"}}, {{}, DType::boolean}})), "exp cond sin cos");
  EXPECT_EQ(left_of(f, "dead_code"), "cond cos");
  Function none = with_body([](const Tensor& x, const Tensor& y) { return add(x, y); },
                            [](const Tensor&, const Tensor& x) { return tan(x); });
  EXPECT_EQ(left_of(none, "dead_code"), "tan");
}

}  // namespace
}  // namespace oarlock::graph
