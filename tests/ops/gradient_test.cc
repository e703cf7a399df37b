// Every differentiable op against central differences, first and second order, with broadcasting, views and size 0.
#include <gtest/gtest.h>

#include <set>

#include <oarlock/base/op.h>

#include "tests/ops/gradient_cases.h"

namespace oarlock::test {
namespace {

std::vector<GradientCase> own_cases() {
  Tensor labels = Tensor::of<int64_t>({2, 0, 1, 1}, {4}), rows = Tensor::of<int64_t>({3, -1, 0, 3, 1, 1}, {2, 3});
  Tensor condition = Tensor::of<bool>({true, false, true}, {3, 1}), seed = Tensor::of<int64_t>({5, 9}, {2});
  return {
      {"add", two(add), {r({2, 3}), q({3})}},
      {"subtract", two(subtract), {r({2, 1}), q({3})}},
      {"multiply", two(multiply), {r({2, 1, 4}), q({3, 1})}},
      {"multiply, by itself", [](const In& x) { return In{multiply(x[0], x[0])}; }, {r({3})}},
      {"divide", two(divide), {r({2, 3}), q({2, 1}, 0.5, 2)}},
      {"maximum", two(maximum), {apart({3, 4}), apart({4}, 0.15)}},
      {"minimum", two(minimum), {apart({3, 4}), apart({4}, 0.15)}},
      {"exp", one(exp), {r({5})}},
      {"log", one(log), {r({5}, 0.5, 3)}},
      {"sqrt", one(sqrt), {r({5}, 0.5, 3)}},
      {"tanh", one(tanh), {r({5})}},
      {"erf", one(erf), {r({5})}},
      {"negative", one(negative), {r({2, 2})}},
      {"relu", one(relu), {apart({7}, 0.05)}},
      {"where", [=](const In& x) { return In{where(condition, x[0], x[1])}; }, {r({3, 2}), q({2})}},
      {"cast", [](const In& x) { return In{cast(multiply(cast(x[0], DType::f64), x[0]), DType::f64)}; }, {r({3})}},
      {"copy", one(copy), {r({2, 3})}},
      {"transfer", [](const In& x) { return In{transfer(x[0], 0)}; }, {r({2, 3})}},
      {"sum",
       [](const In& x) {
         return In{sum(x[0], {0, -1}), sum(x[0], {1}, true), sum(x[0])};
       },
       {r({2, 3, 4})}},
      {"mean", [](const In& x) { return In{mean(x[0], {1})}; }, {r({2, 3})}},
      {"max",
       [](const In& x) {
         return In{max(x[0], {1}), max(x[0], {0}, true)};
       },
       {apart({3, 4})}},
      {"sum_to",
       [](const In& x) {
         return In{sum_to(x[0], {3, 1})};
       },
       {r({2, 3, 4})}},
      {"matmul", two(matmul), {r({2, 3}), q({3, 4})}},
      {"matmul, batches broadcast", two(matmul), {r({2, 1, 2, 3}), q({3, 3, 2})}},
      {"matrix_transpose", one(matrix_transpose), {r({2, 3, 4})}},
      {"reshape",
       [](const In& x) {
         return In{reshape(x[0], {4, -1})};
       },
       {r({2, 3, 2})}},
      {"reshape, of a permuted operand",
       [](const In& x) {
         return In{reshape(permute(x[0], {1, 0}), {6})};
       },
       {r({2, 3})}},
      {"permute",
       [](const In& x) {
         return In{permute(x[0], {2, 0, 1})};
       },
       {r({2, 3, 4})}},
      {"expand",
       [](const In& x) {
         return In{expand(x[0], {4, 2, 3})};
       },
       {r({2, 1})}},
      {"slice",
       [](const In& x) {
         return In{slice(x[0], {1, 0}, {2, 3}, {2, 1})};
       },
       {r({5, 4})}},
      {"slice, backwards",
       [](const In& x) {
         return In{slice(x[0], {4, 1}, {2, 2}, {-2, 1})};
       },
       {r({5, 4})}},
      {"slice, nothing",
       [](const In& x) {
         return In{slice(x[0], {4, 1}, {0, 2})};
       },
       {r({5, 4})}},
      {"strided_slice",
       [](const In& x) { return In{strided_slice(x[0], {-1}, {-5}, Integers{1}, {-2})}; },
       {r({2, 6})}},
      {"diagonal",
       [](const In& x) {
         return In{diagonal(x[0]), diagonal(x[0], 1), diagonal(x[0], -2), diagonal(x[0], 9)};
       },
       {r({2, 3, 4})}},
      {"diagonal, outer axes", [](const In& x) { return In{diagonal(x[0], 1, 2, 0)}; }, {r({3, 2, 4})}},
      {"windows",
       [](const In& x) {
         return In{windows(x[0], 3), windows(x[0], 2, 0, 2, 2)};
       },
       {r({5, 6})}},
      {"concat",
       [](const In& x) {
         return In{concat({x[0], x[1], x[0]}, 1)};
       },
       {r({2, 3}), q({2, 1})}},
      {"pad",
       [](const In& x) {
         return In{pad(x[0], {1, 0}, {0, 2}, {1, 2}, 7)};
       },
       {r({3, 2})}},
      {"squeeze",
       [](const In& x) {
         return In{squeeze(x[0], {0, -1})};
       },
       {r({1, 3, 1})}},
      {"unsqueeze",
       [](const In& x) {
         return In{unsqueeze(x[0], {0, -1})};
       },
       {r({2, 3})}},
      {"gather", [=](const In& x) { return In{gather(x[0], rows)}; }, {r({4, 2})}},
      {"scatter_add", [=](const In& x) { return In{scatter_add(x[0], rows, x[1])}; }, {r({4, 2}), q({2, 3, 2})}},
      {"softmax",
       [](const In& x) {
         return In{softmax(x[0], 0), softmax(x[0])};
       },
       {r({3, 4})}},
      {"log_softmax",
       [](const In& x) {
         return In{log_softmax(x[0], 0), log_softmax(x[0])};
       },
       {r({3, 4})}},
      {"cross_entropy", [=](const In& x) { return In{cross_entropy(x[0], labels)}; }, {r({4, 3})}},
      {"dropout", [=](const In& x) { return In{dropout(x[0], seed, 0.4)}; }, {r({20})}},
      {"dropout, of all", [=](const In& x) { return In{dropout(x[0], seed, 1)}; }, {r({20})}},
      {"matmul, empty sum", two(matmul), {r({2, 0}), q({0, 3})}},
      {"sum, empty axis",
       [](const In& x) {
         return In{sum(x[0], {1}), max(x[0], {1})};
       },
       {r({2, 0, 3})}},
      {"concat, empty operand",
       [](const In& x) {
         return In{concat({x[0], x[1]})};
       },
       {r({0}), q({2})}},
  };
}

std::vector<GradientCase> cases() {
  std::vector<GradientCase> all = own_cases();
  for (auto& more : {nn_gradient_cases(), math_gradient_cases(), reduce_gradient_cases(), place_gradient_cases()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

class Gradient : public testing::TestWithParam<GradientCase> {};
TEST_P(Gradient, AgreesWithDifferences) { EXPECT_LT(gradient_error(GetParam().f, GetParam().inputs), 1e-7); }
TEST_P(Gradient, AgreesInTheSecondOrder) {
  EXPECT_LT(gradient_error(gradient_function(GetParam().f, GetParam().inputs), GetParam().inputs), 1e-6);
}
INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(cases()), [](auto& info) {
  std::string name;
  for (char c : info.param.name) name += std::isalnum(c) ? c : '_';
  return name;
});

TEST(Gradients, EveryDifferentiableOpIsAmongThem) {
  std::set<std::string> seen;
  for (auto& c : cases()) seen.insert(c.name.substr(0, c.name.find(',')));
  for (auto& name : op_names())
    if (op_info(name).no_gradient.empty()) { EXPECT_TRUE(seen.count(name)) << name; }
}

TEST(Gradients, ADifferenceThatIsWrongIsSeen) {  // the engine itself: a gradient of x*x that is x instead of 2x
  Function wrong = [](const In& x) { return In{multiply(x[0].detach(), x[0])}; };
  EXPECT_GT(gradient_error(wrong, {r({3}, 0.5, 1)}), 0.1);
}

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out(size_t(t.element_count()));
  cast(t, DType::f64).copy_to_host(out.data());
  return out;
}

TEST(Gradients, TiesShareEqually) {
  Tensor x = Tensor::of<double>({3, 1, 3, 3}, {4}).set_requires_grad();
  max(x).backward();
  EXPECT_EQ(numbers(x.grad()), (std::vector<double>{1.0 / 3, 0, 1.0 / 3, 1.0 / 3}));
  Tensor a = Tensor::of<double>({1, 2, 3}, {3}).set_requires_grad(),
         b = Tensor::of<double>({2, 2, 2}, {3}).set_requires_grad();
  sum(maximum(a, b)).backward();
  EXPECT_EQ(numbers(a.grad()), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(numbers(b.grad()), (std::vector<double>{1, 0.5, 0}));
  Tensor c = Tensor::of<double>({1, 2, 3}, {3}).set_requires_grad();
  sum(minimum(c, b.detach())).backward();
  EXPECT_EQ(numbers(c.grad()), (std::vector<double>{1, 0.5, 0}));
}

TEST(Gradients, ReluAtZeroIsZero) {
  Tensor x = Tensor::of<double>({-1, 0, 2}, {3}).set_requires_grad();
  sum(relu(x)).backward();
  EXPECT_EQ(numbers(x.grad()), (std::vector<double>{0, 0, 1}));
}

TEST(Gradients, WhereKeepsTheOtherSidesNanOut) {
  Tensor x = Tensor::of<double>({-1, 4}, {2}).set_requires_grad();
  Tensor positive = less(full({}, 0, DType::f64), x);
  sum(where(positive, sqrt(where(positive, x, full({}, 1, DType::f64))), full({}, 0, DType::f64))).backward();
  EXPECT_EQ(numbers(x.grad()), (std::vector<double>{0, 0.25}));
}

TEST(Gradients, OfMixedDtypesComeBackInTheirOwn) {
  Tensor a = Tensor::of<float>({1, 2}, {2}).set_requires_grad(),
         b = Tensor::of<double>({3, 4}, {2}).set_requires_grad();
  sum(multiply(a, b)).backward();
  EXPECT_EQ(a.grad().dtype(), DType::f32);
  EXPECT_EQ(b.grad().dtype(), DType::f64);
  EXPECT_EQ(numbers(a.grad()), (std::vector<double>{3, 4}));
  EXPECT_EQ(numbers(b.grad()), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace oarlock::test
