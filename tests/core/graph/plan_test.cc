// Captured functions, interpreted and planned, against the same functions called: bit for bit, on the host and on sim.
#include <gtest/gtest.h>

#include "core/op/calls.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

struct Network {
  Tensor w = uniform({6, 3, 3, 3}, 1), b = uniform({6}, 2), v = uniform({10, 54}, 3);
  Tensor scale = uniform({6}, 4, 0.5, 2), mean = uniform({6}, 5), var = uniform({6}, 6, 0.5, 2);
  explicit Network(Device d) {
    for (Tensor* t : {&w, &b, &v, &scale, &mean, &var}) *t = t->to(d);
  }
  std::vector<Tensor> operator()(std::span<const Tensor> x) const {
    Tensor h = conv(x[0], w, b);
    h = batch_norm(h, mean, var, scale, b, false).out;
    h = max_pool(relu(h), {2, 2}, {2, 2});
    h = reshape(h, {h.shape()[0], 54});
    Tensor y = matmul(h, matrix_transpose(v));
    return {softmax(y, 1), permute(y, {1, 0}), y};
  }
};

TEST(Plan, ANetworkAsEagerOnEveryDevice) {
  for (Device device : {Device(), sim()}) {
    Network network(device);
    Program p = capture(network, {{{"4", "3", "8", "8"}}}, device);
    expect_alike(network, p, {uniform({4, 3, 8, 8}, 7)}, device);
  }
}

TEST(Plan, NamedSizesServeEveryShape) {
  Network network{Device()};
  Program p = capture(network, {{{"N", "3", "8", "8"}}});
  for (int64_t n : {1, 5, 2}) expect_alike(network, p, {uniform({n, 3, 8, 8}, n)});
  Executable e(std::make_shared<Program>(p), Device());
  Result<Outcome> wrong = e.run(std::vector<Tensor>{uniform({1, 4, 8, 8}, 1)});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.status().text().find("axis 1 disagrees (3 and 4)"), std::string::npos) << wrong.status().text();
}

TEST(Plan, CapturedOnTheHostRunsOnADevice) {
  Function f = [](std::span<const Tensor> x) {
    Tensor h = layer_norm(x[0], Tensor(), Tensor());
    return std::vector<Tensor>{gelu(h), sum(h, {1})};
  };
  Program p = capture(f, {{{"N", "16"}}});
  expect_alike(f, p, {uniform({3, 16}, 1)}, sim());
}

TEST(Plan, ViewsAreNoSteps) {
  Function f = [](std::span<const Tensor> x) {
    Tensor t = permute(reshape(x[0], {2, 3, 4}), {2, 0, 1});
    Tensor s = slice(t, {1, 0, 0}, {3, 2, 3});
    return std::vector<Tensor>{s, add(s, s), reshape(t, {4, 6}), reshape(s, {18})};
  };
  Program p = capture(f, {{{"24"}}});
  expect_alike(f, p, {uniform({24}, 1)});
  Executable e(std::make_shared<Program>(p), Device());
  Shape shape{24};
  ASSERT_TRUE(e.prepare({&shape, 1}).ok());
  int views = 0;
  for (const StepInfo& s : e.info({&shape, 1}).steps)
    views += s.op == "permute" || s.op == "slice" || s.op == "reshape";
  EXPECT_EQ(views, 0);
}

TEST(Plan, ResultsMayBeInputsConstantsAndOneAnother) {
  Function f = [](std::span<const Tensor> x) {
    Tensor y = add(x[0], x[0]);
    return std::vector<Tensor>{x[0], y, y, reshape(y, {4}), full({2}, 3)};
  };
  expect_alike(f, capture(f, {{{"2", "2"}}}), {uniform({2, 2}, 1)});
}

TEST(Plan, ResultsOutliveTheNextRun) {
  Function f = [](std::span<const Tensor> x) { return std::vector<Tensor>{multiply(add(x[0], x[0]), x[0])}; };
  Executable e(std::make_shared<Program>(capture(f, {{{"8"}}})), Device());
  Tensor a = uniform({8}, 1), b = uniform({8}, 2);
  Result<Outcome> first = e.run(std::vector<Tensor>{a});
  ASSERT_TRUE(first);
  std::string before = bytes(first->results[0]);
  ASSERT_TRUE(e.run(std::vector<Tensor>{b}));
  EXPECT_EQ(bytes(first->results[0]), before);
  EXPECT_EQ(before, bytes(f(std::vector<Tensor>{a})[0]));
}

TEST(Plan, WorksInOneArenaAndInPlace) {
  Function f = [](std::span<const Tensor> x) {
    Tensor t = x[0];
    for (int i = 0; i < 10; ++i) t = tanh(add(t, x[0]));
    return std::vector<Tensor>{sum(t)};
  };
  Program p = capture(f, {{{"1024"}}});
  expect_alike(f, p, {uniform({1024}, 1)});
  Executable e(std::make_shared<Program>(p), Device());
  Shape shape{1024};
  ASSERT_TRUE(e.prepare({&shape, 1}).ok());
  PlanInfo info = e.info({&shape, 1});
  EXPECT_LE(info.arena_bytes, 3 * 4096u);
}

TEST(Plan, StridedInputsAndOtherDevicesAreBrought) {
  Function f = [](std::span<const Tensor> x) { return std::vector<Tensor>{add(x[0], x[0])}; };
  Program p = capture(f, {{{"3", "2"}}});
  Executable e(std::make_shared<Program>(p), sim());
  Tensor t = permute(uniform({2, 3}, 1), {1, 0});
  Result<Outcome> out = e.run(std::vector<Tensor>{t});
  ASSERT_TRUE(out) << out.status().text();
  EXPECT_EQ(out->results[0].device(), sim());
  EXPECT_EQ(bytes(out->results[0]), bytes(add(t, t)));
}

TEST(Plan, SizesKnownOnlyAtRunTimeAreInterpreted) {
  Function f = [](std::span<const Tensor> x) {
    Tensor at = nonzero(x[0]);
    return std::vector<Tensor>{at, sum(cast(at, DType::f32))};
  };
  Program p = capture(f, {{{"N"}}});
  expect_alike(f, p, {Tensor::of<float>({0, 1, 0, 2}, {4})});
  expect_alike(f, p, {Tensor::of<float>({0, 0}, {2})});
}

// x times its own length, which the decomposition holds as a number: another one for each plan.
void times_length(op::RuleCall& c) { c.set(0, multiply(c.in(0), Tensor::scalar(double(c.in(0).size(0))))); }
constinit const op::OpDef times_length_def = op::define({.name = "test_times_length",
                                                         .summary = "x times its length.",
                                                         .source = "Oarlock",
                                                         .inputs = {{"x", "[N]"}},
                                                         .outputs = {{"out", "[N]"}},
                                                         .types = {{"T", kFloat}},
                                                         .decompose = times_length,
                                                         .cases = {{"any", "N=2"}}});

TEST(Plan, ConstantsOfDecompositionsAreThePlansOwn) {
  static const op::OpId id = *op::register_op(&times_length_def);
  ASSERT_NE(id, op::kNoOp);
  Function f = [](std::span<const Tensor> x) { return call_op("test_times_length", x); };
  Executable e(std::make_shared<Program>(capture(f, {{{"N"}}})), Device());
  for (int64_t n : {2, 3, 2, 5}) {
    Result<Outcome> out = e.run(std::vector<Tensor>{full({n}, 1)});
    ASSERT_TRUE(out) << out.status().text();
    expect_same(out->results[0], full({n}, double(n)), "N=" + std::to_string(n));
  }
}

TEST(Recording, ElementsCannotBeRead) {
  std::string text;
  Program p;
  Tensor kept;
  {
    Recording recording(p, p.body.nodes, Device());
    Tensor x = recording.add_input("x", DType::f32, {2});
    kept = add(x, x);
    try {
      kept.data();
    } catch (const Error& e) { text = e.what(); }
    EXPECT_NE(text.find("the program that is being captured"), std::string::npos) << text;
    try {
      sum(x).item();
      text = "no error";
    } catch (const Error& e) { text = e.what(); }
    EXPECT_NE(text.find("use cond, while_loop or where"), std::string::npos) << text;
  }
  try {
    add(kept, kept);
    text = "no error";
  } catch (const Error& e) { text = e.what(); }
  EXPECT_NE(text.find("was kept too long"), std::string::npos) << text;
}

}  // namespace
}  // namespace oarlock::graph
