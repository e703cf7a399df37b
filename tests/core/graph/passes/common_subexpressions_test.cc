#include "tests/core/graph/passes/bodies.h"

namespace oarlock::graph {
namespace {

std::string merged(const Function& f, const std::vector<Tensor>& inputs) {
  Program p = compiled(capture(f, types_of(inputs)), {"common_subexpressions"});
  expect_alike(f, p, inputs);
  return ops_of(p);
}

TEST(CommonSubexpressions, OneIsEnough) {
  EXPECT_EQ(merged(
                [](std::span<const Tensor> x) {
                  Tensor a = softmax(exp(x[0]), 1), b = softmax(exp(x[0]), 1);
                  return std::vector<Tensor>{add(a, b), b};
                },
                {uniform({2, 3}, 1)}),
            "exp softmax add");
}
TEST(CommonSubexpressions, OtherAttributesOperandsOrOpsStay) {
  EXPECT_EQ(merged(
                [](std::span<const Tensor> x) {
                  return std::vector<Tensor>{softmax(x[0], 0),        softmax(x[0], 1),         softmax(x[1], 1),
                                             log_softmax(x[0], 1),    subtract(x[0], x[1]),     subtract(x[1], x[0]),
                                             sum(x[0], {0}, true),    sum(x[0], {0}, false),    sum(x[0], {0, 1}),
                                             full({2}, 0.0),          full({2}, -0.0),          cast(x[0], DType::f16),
                                             cast(x[0], DType::bf16), reshape(x[0], {2, 3, 1}), reshape(x[0], {3, 2})};
                },
                {uniform({2, 3}, 1), uniform({2, 3}, 2)}),
            "softmax softmax softmax log_softmax subtract subtract sum sum sum full full cast cast reshape reshape");
}
TEST(CommonSubexpressions, EachResultHasElementsOfItsOwn) {
  EXPECT_EQ(merged(
                [](std::span<const Tensor> x) {
                  return std::vector<Tensor>{exp(x[0]), exp(x[0])};
                },
                {uniform({3}, 1)}),
            "exp exp");
}
TEST(CommonSubexpressions, NotAcrossWrites) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  Program p = compiled(capture(
                           [&](std::span<const Tensor> x) {
                             Tensor before = add(w, x[0]);
                             assign(w, before);
                             Tensor after = add(w, x[0]);
                             return std::vector<Tensor>{before, after};
                           },
                           {{{"2"}}}),
                       {"common_subexpressions"});
  EXPECT_EQ(ops_of(p), "add assign add");
  std::vector<Tensor> y = interpret(p, std::vector<Tensor>{Tensor::of<float>({10, 10}, {2})}, Device()).take().results;
  EXPECT_EQ(y[0].to_string(), Tensor::of<float>({11, 12}, {2}).to_string());
  EXPECT_EQ(y[1].to_string(), Tensor::of<float>({21, 22}, {2}).to_string());
}
TEST(CommonSubexpressions, DrawsAreEachTheirOwn) {
  Program p = compiled(capture(
                           [&](std::span<const Tensor> x) {
                             Tensor seed = default_generator().next();
                             Tensor a = dropout(x[0], seed), b = dropout(x[0], seed);
                             Tensor c = dropout(x[0], default_generator().next());
                             return std::vector<Tensor>{concat({a, b, c})};
                           },
                           {{{"64"}}}),
                       {"common_subexpressions"});
  ASSERT_EQ(ops_of(p), "dropout dropout concat");
  const std::vector<ValueId>& in = p.body.nodes[2].inputs;
  EXPECT_EQ(in[0], in[1]);
  EXPECT_NE(in[0], in[2]);
}
TEST(CommonSubexpressions, SmallConstantsThatAreEqual) {
  Program p =
      compiled(capture(
                   [&](std::span<const Tensor> x) {
                     Tensor a = Tensor::scalar(2), b = Tensor::scalar(2), c = Tensor::scalar(-2);
                     return std::vector<Tensor>{concat({multiply(x[0], a), multiply(x[0], b), multiply(x[0], c)})};
                   },
                   {{{"4"}}}),
               {"common_subexpressions"});
  EXPECT_EQ(ops_of(p), "multiply multiply concat");
}
TEST(CommonSubexpressions, BodiesSeeWhatIsAroundThemNotTheOtherWayRound) {
  EXPECT_EQ(
      left_of(with_body([](const Tensor& x, const Tensor&) { return add(sin(x), sin(x)); }), "common_subexpressions"),
      "exp cond sin add");
  EXPECT_EQ(
      left_of(with_body([](const Tensor& x, const Tensor& y) { return add(y, exp(x)); }), "common_subexpressions"),
      "exp cond add");
  EXPECT_EQ(left_of(with_body([](const Tensor& x, const Tensor&) { return sin(x); },
                              [](const Tensor& out, const Tensor& x) { return add(out, sin(x)); }),
                    "common_subexpressions"),
            "exp cond sin sin add");
}

}  // namespace
}  // namespace oarlock::graph
