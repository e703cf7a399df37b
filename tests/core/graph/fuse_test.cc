// Elementwise calls fused behind the kernel before them, on sim, which gives the bits of the calls one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/dispatch/operands.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

PlanInfo planned(const Program& p, const std::vector<Shape>& shapes, Device device, PlanOptions options = {}) {
  Executable e(std::make_shared<Program>(p), device, 64, UINT64_MAX, options);
  throw_if(e.prepare(shapes));
  return e.info(shapes);
}
// "matmul+add, tanh"
std::string ops(const PlanInfo& info) {
  std::string out;
  for (const StepInfo& s : info.steps) out += (out.empty() ? "" : ", ") + s.op;
  return out;
}

struct Layer {
  Tensor w = uniform({6, 5}, 1).to(sim()), b = uniform({5}, 2).to(sim()), c = uniform({4, 5}, 3).to(sim());
};

TEST(Fuse, AChainBehindAProduct) {
  Layer l;
  Function f = [l](std::span<const Tensor> x) {
    return std::vector<Tensor>{maximum(subtract(x[1], tanh(multiply(add(matmul(x[0], l.w), l.b), l.c))), l.b)};
  };
  Program p = capture(f, {{{"4", "6"}}, {{"4", "5"}}}, sim());
  expect_alike(f, p, {uniform({4, 6}, 4), uniform({4, 5}, 5)}, sim());
  PlanInfo info = planned(p, {{4, 6}, {4, 5}}, sim());
  EXPECT_EQ(ops(info), "matmul+add+multiply+tanh+subtract+maximum");
  EXPECT_EQ(info.fused, 5);
  EXPECT_EQ(info.steps[0].unfused, "");
  PlanInfo off = planned(p, {{4, 6}, {4, 5}}, sim(), {.epilogues = false});
  EXPECT_EQ(ops(off), "matmul, add, multiply, tanh, subtract, maximum");
  EXPECT_EQ(off.fused, 0);
}

TEST(Fuse, ManyShapesAndSpecialValues) {
  Layer l;
  Function f = [l](std::span<const Tensor> x) {
    return std::vector<Tensor>{multiply(exp(add(matmul(x[0], l.w), l.b)), full({}, -0.0))};
  };
  Program p = capture(f, {{{"N", "6"}}}, sim());
  for (int64_t n : {1, 4, 9, 4}) expect_alike(f, p, {uniform({n, 6}, n)}, sim());
  std::vector<float> odd(12, 0.5f);
  odd[1] = NAN, odd[7] = INFINITY;
  expect_alike(f, p, {Tensor::from_host(odd.data(), {2, 6}, DType::f32)}, sim());
  Function half = [l](std::span<const Tensor> x) {
    return std::vector<Tensor>{tanh(add(matmul(x[0], cast(l.w, DType::bf16)), cast(l.b, DType::bf16)))};
  };
  expect_alike(half, capture(half, {{{"N", "6"}, DType::bf16}}, sim()), {cast(uniform({3, 6}, 7), DType::bf16)}, sim());
}

TEST(Fuse, WhatOthersReadEndsAChain) {
  Layer l;
  Function kept = [l](std::span<const Tensor> x) {
    Tensor h = add(matmul(x[0], l.w), l.b);
    return std::vector<Tensor>{tanh(h), h};
  };
  Program p = capture(kept, {{{"4", "6"}}}, sim());
  expect_alike(kept, p, {uniform({4, 6}, 1)}, sim());
  EXPECT_EQ(ops(planned(p, {{4, 6}}, sim())), "matmul+add, tanh");
  Function twice = [l](std::span<const Tensor> x) {
    Tensor h = matmul(x[0], l.w);
    return std::vector<Tensor>{multiply(h, h)};
  };
  p = capture(twice, {{{"4", "6"}}}, sim());
  expect_alike(twice, p, {uniform({4, 6}, 1)}, sim());
  EXPECT_EQ(ops(planned(p, {{4, 6}}, sim())), "matmul+multiply");
  Function two = [l](std::span<const Tensor> x) {
    Tensor h = matmul(x[0], l.w);
    Tensor a = exp(h), b = tanh(h);
    return std::vector<Tensor>{multiply(a, b)};
  };
  p = capture(two, {{{"4", "6"}}}, sim());
  expect_alike(two, p, {uniform({4, 6}, 1)}, sim());
  EXPECT_EQ(ops(planned(p, {{4, 6}}, sim())), "matmul, exp, tanh, multiply");
}

TEST(Fuse, AWiderResultEndsAChain) {
  Layer l;
  Function f = [l](std::span<const Tensor> x) { return std::vector<Tensor>{add(matmul(x[0], l.w), l.c)}; };
  Program p = capture(f, {{{"1", "6"}}}, sim());
  expect_alike(f, p, {uniform({1, 6}, 1)}, sim());
  EXPECT_EQ(ops(planned(p, {{1, 6}}, sim())), "matmul, add");
}

TEST(Fuse, TheLastOfTwoBranchesTakesTheirSum) {
  Layer l;
  Function f = [l](std::span<const Tensor> x) {
    Tensor a = matmul(x[0], l.w), b = matmul(exp(x[0]), l.w);
    return std::vector<Tensor>{tanh(add(a, b))};
  };
  Program p = capture(f, {{{"4", "6"}}}, sim());
  expect_alike(f, p, {uniform({4, 6}, 1)}, sim());
  EXPECT_EQ(ops(planned(p, {{4, 6}}, sim())), "matmul, exp, matmul+add+tanh");
}

TEST(Fuse, AnOperandThatEndsThereIsNotOverwritten) {
  Layer l;
  Function f = [l](std::span<const Tensor> x) {
    Tensor t = exp(x[1]);
    return std::vector<Tensor>{sum(add(matmul(x[0], l.w), t), {0})};
  };
  Program p = capture(f, {{{"4", "6"}}, {{"4", "5"}}}, sim());
  expect_alike(f, p, {uniform({4, 6}, 1), uniform({4, 5}, 2)}, sim());
  EXPECT_EQ(ops(planned(p, {{4, 6}, {4, 5}}, sim())), "exp, matmul+add, sum");
}

TEST(Fuse, ARefusedChainIsCutAndSaysWhy) {
  Layer l;
  Function f = [l](std::span<const Tensor> x) {
    return std::vector<Tensor>{cast(add(matmul(x[0], l.w), l.b), DType::f16), less(matmul(x[0], l.w), l.b)};
  };
  Program p = capture(f, {{{"4", "6"}}}, sim());
  expect_alike(f, p, {uniform({4, 6}, 1)}, sim());
  PlanInfo info = planned(p, {{4, 6}}, sim());
  EXPECT_EQ(ops(info), "matmul+add, cast, matmul, less");
  EXPECT_EQ(info.steps[0].unfused, "add+cast: sim: sim does not fuse cast");
  EXPECT_EQ(info.steps[2].unfused, "less: sim: sim does not fuse less");
}

TEST(Fuse, NothingMovesBeforeAWrite) {
  Layer l;
  Tensor state = uniform({20}, 5).to(sim()), before = state.clone(), after = uniform({20}, 6).to(sim());
  Function f = [l, state, after](std::span<const Tensor> x) {
    std::vector<Tensor> out = {add(matmul(x[0], l.w), reshape(state, {4, 5}))};
    assign(state, after);
    return out;
  };
  Program p = capture(f, {{{"4", "6"}}}, sim());
  auto at = std::find_if(p.body.nodes.begin(), p.body.nodes.end(),
                         [](const Node& n) { return std::string(n.def().def->name) == "add"; });
  std::rotate(at, at + 1, p.body.nodes.end());  // it reads the view after the write
  ASSERT_TRUE(verify(p).ok());
  Tensor x = uniform({4, 6}, 1).to(sim());
  NoGrad off;
  Result<Outcome> slow = interpret(p, std::vector<Tensor>{x}, sim());
  ASSERT_TRUE(slow) << slow.status().text();
  assign(state, before);
  Executable e(std::make_shared<Program>(p), sim());
  Result<Outcome> fast = e.run(std::vector<Tensor>{x});
  ASSERT_TRUE(fast) << fast.status().text();
  expect_same(fast->results, slow->results, "planned");
  expect_same(fast->results[0], add(matmul(x, l.w), reshape(after, {4, 5})), "after the write");
}

TEST(Plan, PartsOfConstantsAreRead) {
  for (Device device : {Device(), sim()}) {
    Function f = [](std::span<const Tensor> x) { return std::vector<Tensor>{add(x[0], slice(x[1], {1, 0}, {2, 2}))}; };
    Program p = capture(f, {{{"2", "2"}}, {{"4", "2"}}}, device);
    Tensor x = uniform({2, 2}, 1).to(device), c = uniform({4, 2}, 2).to(device);
    ValueId v = p.body.parameters.back();
    p.body.parameters.pop_back();
    p[v].kind = Kind::constant;
    p[v].data = c;
    Executable e(std::make_shared<Program>(p), device);
    Result<Outcome> out = e.run(std::vector<Tensor>{x});
    ASSERT_TRUE(out) << out.status().text();
    expect_same(out->results, f(std::vector<Tensor>{x, c}), device.name());
  }
}

// What a plugin sees of constants and of what follows.
TEST(Operands, ConstantsAndEpilogue) {
  Tensor x = uniform({2, 3}, 1), w = uniform({3, 4}, 2), b = uniform({4}, 3);
  TensorImpl *in[] = {x.impl(), w.impl()}, *extra[] = {b.impl()};
  const op::Op &matmul = op::op_at(op::find_op("matmul")), &add = op::op_at(op::find_op("add")),
               &cast = op::op_at(op::find_op("cast"));
  oar_attr_t to = op::attr_dtype(DType::bf16);
  std::vector<dispatch::Following> following = {{&add, op::Attrs(nullptr, 0), {0, -1}, DType::f32},
                                                {&cast, op::Attrs(&to, 1), {-1}, DType::bf16}};
  dispatch::Outlook outlook{.constants = 0b110, .following = following, .extra = extra};
  dispatch::Call call{.op = matmul, .inputs = in, .n_inputs = 2, .attrs = nullptr, .n_attrs = 0};
  call.device = &device_at(0);
  call.outlook = &outlook;
  dispatch::Entry e;
  e.op = &matmul;
  e.device = call.device;
  ASSERT_TRUE(dispatch::infer_call(call, e).ok());
  dispatch::Operands seen(call, e, false, false);
  const oar_call_t& c = seen.call;
  ASSERT_EQ(c.n_inputs, 3u);
  EXPECT_EQ(c.inputs[0]->flags, 0u);
  EXPECT_EQ(c.inputs[0]->constant, nullptr);
  for (uint32_t i : {1, 2}) EXPECT_EQ(c.inputs[i]->flags, uint32_t(OAR_VALUE_CONSTANT));
  EXPECT_EQ(c.inputs[1]->constant, &w.impl()->view);
  EXPECT_EQ(c.inputs[2]->constant, &b.impl()->view);
  ASSERT_EQ(c.n_epilogue, 2u);
  const oar_call_t &first = *c.epilogue[0], &second = *c.epilogue[1];
  EXPECT_EQ(std::string(first.op.data, first.op.size), "add");
  EXPECT_EQ(oar_call_input(&c, first.inputs[0]), 2);
  EXPECT_EQ(oar_call_input(&c, first.inputs[1]), -1);
  EXPECT_EQ(first.inputs[1]->dtype, uint32_t(OAR_DTYPE_F32));
  EXPECT_EQ(second.inputs[0], first.outputs[0]);
  EXPECT_EQ(second.outputs[0], c.outputs[0]);
  EXPECT_EQ(c.outputs[0]->dtype, uint32_t(OAR_DTYPE_BF16));
  EXPECT_EQ(second.n_attrs, 1u);
  dispatch::Operands copied(call, e, true, false);  // of a copy nobody knows where it will lie
  EXPECT_EQ(copied.call.inputs[1]->flags, 0u);
}

}  // namespace
}  // namespace oarlock::graph
