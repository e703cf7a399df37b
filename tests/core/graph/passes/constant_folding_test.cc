#include "tests/core/graph/passes/bodies.h"

namespace oarlock::graph {
namespace {

Program folded(const Function& f, const std::vector<In>& in, std::vector<PassReport>* out_report = nullptr) {
  return compiled(capture(f, in), {"freeze_states", "constant_folding", "dead_code"}, out_report);
}

TEST(ConstantFolding, RunsWhatReadsOnlyConstants) {
  auto f = [w = uniform({3, 4}, 1)](std::span<const Tensor> x) {
    Tensor scale = sqrt(add(full({3}, 0.3), full({}, 1e-5)));
    return std::vector<Tensor>{matmul(x[0], multiply(matrix_transpose(w), scale)), scale};
  };
  Program p = folded(f, {{{"N", "4"}}});
  EXPECT_EQ(ops_of(p), "matmul");
  expect_alike(f, p, {uniform({2, 4}, 2)});
}
TEST(ConstantFolding, KeepsDtypes) {
  auto f = [](std::span<const Tensor> x) {
    Tensor big = full({}, 250, DType::u8), half = full({}, 2049, DType::f16);
    return std::vector<Tensor>{add(big, full({}, 10, DType::u8)), add(half, full({}, 1, DType::f16)),
                               divide(full({}, 1, DType::i32), full({}, 3, DType::i32)), x[0]};
  };
  Program p = folded(f, {{{"2"}}});
  EXPECT_EQ(ops_of(p), "");
  expect_alike(f, p, {uniform({2}, 1)});
  expect_alike(f, p, {uniform({2}, 1)}, sim());
}
TEST(ConstantFolding, ViewsOfConstantsTakeNoMemory) {
  auto f = [w = uniform({3, 4}, 1)](std::span<const Tensor> x) {
    return std::vector<Tensor>{matmul(x[0], matrix_transpose(w)), expand(full({}, 2.0), {1 << 12, 1 << 12})};
  };
  Program p = folded(f, {{{"N", "4"}}});
  EXPECT_EQ(ops_of(p), "matrix_transpose matmul expand");
}
TEST(ConstantFolding, GrowsByHalfAMegabyteAtMost) {
  auto zeros = [](Dim n) {
    return [n](std::span<const Tensor> x) { return std::vector<Tensor>{add(x[0], full({n}, 0.0))}; };
  };
  EXPECT_EQ(ops_of(folded(zeros(1 << 17), {{{"1"}}})), "add");
  EXPECT_EQ(ops_of(folded(zeros((1 << 17) + 1), {{{"1"}}})), "full add");
  // Of all constants together, in each of two runs.
  auto many = [](std::span<const Tensor> x) {
    Tensor y = x[0];
    for (int i = 0; i < 9; ++i) y = add(y, full({1 << 15}, double(i)));
    return std::vector<Tensor>{y};
  };
  EXPECT_EQ(ops_of(folded(many, {{{"1"}}})), "add add add add add add add add full add");
}
TEST(ConstantFolding, WhatReplacesAConstantMayBeAsLarge) {
  Tensor w = uniform({1 << 20}, 1);
  auto once = [w](std::span<const Tensor> x) {
    return std::vector<Tensor>{add(x[0], exp(negative(reshape(w, {1 << 10, 1 << 10}))))};
  };
  EXPECT_EQ(ops_of(folded(once, {{{"1"}}})), "add");
  auto twice = [w](std::span<const Tensor> x) {
    Tensor y = add(x[0], w);
    return std::vector<Tensor>{add(y, exp(w))};
  };
  EXPECT_EQ(ops_of(folded(twice, {{{"1"}}})), "add exp add");
}
TEST(ConstantFolding, LeavesWhatFailsWhatIsDrawnAndWhatIsWritten) {
  Tensor w = uniform({4}, 1);
  auto f = [&](std::span<const Tensor> x) {
    Tensor drawn = dropout(full({4}, 1.0), default_generator().next());
    Tensor out_of_range = gather(full({4}, 1.0), full({1}, 9, DType::i64));
    Tensor counter = full({4}, 0.0);
    assign(counter, add(x[0], counter));
    return std::vector<Tensor>{drawn, out_of_range, counter, exp(counter)};
  };
  Program p = folded(f, {{{"4"}}});
  EXPECT_EQ(ops_of(p), "dropout gather full add assign exp");
}
TEST(ConstantFolding, SizesThatAreNotKnownStay) {
  auto f = [](std::span<const Tensor> x) {
    return std::vector<Tensor>{add(x[0], full({x[0].shape()[0], 2}, 1.0)), arange(Dim(3))};
  };
  Program p = folded(f, {{{"N", "2"}}});
  EXPECT_EQ(ops_of(p), "full add");
  expect_alike(f, p, {uniform({3, 2}, 1)});
}
TEST(ConstantFolding, InBodies) {
  EXPECT_EQ(left_of(with_body([](const Tensor& x, const Tensor&) { return add(x, exp(full({3}, 1.0))); }),
                    "constant_folding"),
            "exp cond add");
}

}  // namespace
}  // namespace oarlock::graph
