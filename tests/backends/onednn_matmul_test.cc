// Matrix products of the oneDNN plugin: strides, batches, constants, fused steps, refusals.
#include "matmul_cases.h"

namespace oarlock::test {
namespace {

constexpr uint32_t kF32 = OAR_DTYPE_F32;

TEST(OnednnPlugin, OpensForTheHostCpuAlone) {
  oar_pack_t* pack = nullptr;
  EXPECT_EQ(plugin().open("cuda", &pack), OAR_REFUSED);
  EXPECT_EQ(plugin().open("cpu", &pack), OAR_OK);
}

TEST(OnednnPlugin, DeclarationsHoldStates) {
  const auto with = plugin().declarations(plugin().pack());
  EXPECT_EQ(with, plugin().declarations(nullptr));
  for (const oar_kernel_decl_t* decl : with) {
    EXPECT_NE(decl->prepare, nullptr);
    EXPECT_NE(decl->launch, nullptr);
    EXPECT_NE(decl->release, nullptr);
    EXPECT_EQ(decl->run, nullptr);
    EXPECT_EQ(decl->flags & (OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT), OAR_KERNEL_DETERMINISTIC);
  }
  EXPECT_EQ(plugin().find("matmul")->priority, 100);
}

TEST(OnednnMatmul, TransposedOperandsByStride) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
    for (const Dims& size :
         {Dims{64, 784, 128}, Dims{1, 1000, 500}, Dims{33, 27, 65}, Dims{256, 1, 200}, Dims{500, 300, 1}})
      for (int transposed = 0; transposed < 4; ++transposed) {
        const int64_t m = size[0], k = size[1], n = size[2];
        const Array a =
            transposed & 1 ? Array(dtype, {k, m}).random(1).permuted({1, 0}) : Array(dtype, {m, k}).random(1);
        const Array b =
            transposed & 2 ? Array(dtype, {n, k}).random(2).permuted({1, 0}) : Array(dtype, {k, n}).random(2);
        Array out(dtype, {m, n});
        const Outcome outcome = plugin().call({.op = "matmul", .inputs = {a, b}, .out = out});
        ASSERT_EQ(outcome.status, OAR_OK)
            << m << "x" << k << "x" << n << " transposed " << transposed << ": " << outcome.text;
        expect_product(a, b, out);
        if (HasFatalFailure()) return;
      }
}

TEST(OnednnMatmul, BatchesBroadcast) {
  const struct {
    Dims a, b, out;
  } cases[] = {
      {{4, 30, 50}, {50, 60}, {4, 30, 60}},
      {{30, 50}, {4, 50, 60}, {4, 30, 60}},
      {{5, 1, 30, 40}, {4, 40, 20}, {5, 4, 30, 20}},
      {{1, 60, 40}, {1, 40, 20}, {1, 60, 20}},
      {{2, 3, 40, 30}, {2, 1, 30, 20}, {2, 3, 40, 20}},
      {{2, 3, 40, 30}, {2, 3, 30, 20}, {2, 3, 40, 20}},
      {{2, 3, 40, 30}, {30, 20}, {2, 3, 40, 20}},
  };
  for (const auto& c : cases) {
    const Array a = Array(kF32, c.a).random(1), b = Array(kF32, c.b).random(2);
    Array out(kF32, c.out);
    const Outcome outcome = plugin().call({.op = "matmul", .inputs = {a, b}, .out = out});
    ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
    expect_product(a, b, out);
    if (HasFatalFailure()) return;
  }
}

TEST(OnednnMatmul, BatchesOfPermutedHeads) {
  // Attention: [B, L, H, E] seen as [B, H, L, E], and its transpose.
  const Array q = Array(kF32, {2, 24, 4, 16}).random(1).permuted({0, 2, 1, 3});
  const Array k = Array(kF32, {2, 20, 4, 16}).random(2).permuted({0, 2, 3, 1});
  Array out(kF32, {2, 4, 24, 20});
  const Outcome outcome = plugin().call({.op = "matmul", .inputs = {q, k}, .out = out});
  ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
  expect_product(q, k, out);
}

TEST(OnednnMatmul, ConstantWeightsAreAbsorbed) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
    for (bool transposed : {false, true}) {
      const Array a = Array(dtype, {64, 784}).random(1);
      const Array b =
          transposed ? Array(dtype, {128, 784}).random(2).permuted({1, 0}) : Array(dtype, {784, 128}).random(2);
      Array plain(dtype, {64, 128}), out(dtype, {64, 128});
      ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, b}, .out = plain}).unread_inputs, 0u);
      const Outcome outcome = plugin().call({.op = "matmul", .inputs = {a, b}, .out = out, .constants = {1}});
      ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
      expect_product(a, b, out);
      if (outcome.unread_inputs == 0) continue;  // the plain layout was the best one
      EXPECT_EQ(outcome.unread_inputs, OAR_BIT(1));
      Array blind(dtype, {64, 128});
      ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, b}, .out = blind, .constants = {1}, .hidden = 1}).status,
                OAR_OK);
      expect_product(a, b, blind);
    }
}

TEST(OnednnMatmul, FusesBiasAndEltwise) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
    for (const Dims& lead : {Dims{}, Dims{3}, Dims{2, 3}, Dims{40}}) {
      Dims a_shape = lead, out_shape = lead;
      a_shape.insert(a_shape.end(), {24, 64});
      out_shape.insert(out_shape.end(), {24, 48});
      const Array a = Array(dtype, a_shape).random(1), b = Array(dtype, {64, 48}).random(2, -0.2, 0.2);
      const Array bias = Array(dtype, {48}).random(3), factor = Array(dtype, {1, 48}).random(4);
      Array out(dtype, out_shape);
      const Outcome outcome = plugin().call(
          {.op = "matmul",
           .inputs = {a, b, bias, factor},
           .out = out,
           .epilogue = {{"add", {-1, 2}}, {"tanh", {-1}}, {"multiply", {3, -1}}, {"add", {2, -1}}, {"relu", {-1}}}});
      ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
      for (int64_t i = 0; i < out.count(); ++i) {
        const Dot d = dot(a, b, out.shape(), i);
        const double want = std::tanh(d.value + bias.get(i % 48)) * factor.get(i % 48) + bias.get(i % 48);
        ASSERT_NEAR(out.get(i), std::max(want, 0.0), epsilon_of(dtype) * 2 * (d.absolute + 3)) << "element " << i;
      }
    }
}

TEST(OnednnMatmul, FusedStepsKeepNaNAndRefuseWhatLosesIt) {
  for (const char* step : {"relu", "tanh", "sqrt"})
    for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16}) {
      Array a = Array(dtype, {20, 64}).random(1, 0, 1);
      a.set(5 * 64 + 7, std::numeric_limits<double>::quiet_NaN());
      const Array b = Array(dtype, {64, 40}).random(2, 0, 1);
      Array out(dtype, {20, 40});
      const Outcome outcome = plugin().call({.op = "matmul", .inputs = {a, b}, .out = out, .epilogue = {{step, {-1}}}});
      ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
      for (int64_t i = 0; i < out.count(); ++i)
        ASSERT_EQ(std::isnan(out.get(i)), i / 40 == 5) << step << " element " << i;
    }
  const Array a = Array(kF32, {64, 64}).random(1);
  for (const std::vector<Step>& steps :
       {std::vector<Step>{{"exp", {-1}}}, {{"log", {-1}}}, {{"clip", {-1}}}, {{"tanh", {-1}}, {"erf", {-1}}}}) {
    const Outcome outcome =
        plugin().call({.op = "matmul", .inputs = {a, a}, .out = Array(kF32, {64, 64}), .epilogue = steps});
    EXPECT_EQ(outcome.status, OAR_REFUSED);
    EXPECT_EQ(outcome.reason, OAR_REASON_EPILOGUE);
  }
}

TEST(OnednnMatmul, FusesATensorOfItsOwnShape) {
  for (uint32_t dtype : {OAR_DTYPE_F32, OAR_DTYPE_BF16})
    for (const Dims& lead : {Dims{}, Dims{3}, Dims{2, 3}}) {
      Dims a_shape = lead, b_shape = lead, out_shape = lead;
      a_shape.insert(a_shape.end(), {24, 64});
      b_shape.insert(b_shape.end(), {64, 48});
      out_shape.insert(out_shape.end(), {24, 48});
      const Array a = Array(dtype, a_shape).random(1), b = Array(dtype, b_shape).random(2, -0.2, 0.2);
      const Array more = Array(dtype, out_shape).random(3),
                  half = Array(dtype, {1, 1}).fill([](int64_t) { return 0.5; });
      Array out(dtype, out_shape);
      const Outcome outcome = plugin().call({.op = "matmul",
                                             .inputs = {a, b, half, more},
                                             .out = out,
                                             .epilogue = {{"multiply", {-1, 2}}, {"subtract", {-1, 3}}}});
      ASSERT_EQ(outcome.status, OAR_OK) << outcome.text;
      for (int64_t i = 0; i < out.count(); ++i) {
        const Dot d = dot(a, b, out.shape(), i);
        ASSERT_NEAR(out.get(i), d.value * 0.5 - more.get(i), epsilon_of(dtype) * 2 * (d.absolute + 3))
            << "element " << i;
      }
    }
}

TEST(OnednnMatmul, RefusesWithReasons) {
  const Array a = Array(kF32, {64, 64}).random(1);
  auto call = [&](Invocation what) { return plugin().call(what); };
  const Array out(kF32, {64, 64});

  const Array tiny = Array(kF32, {8, 8}).random(1);
  Outcome o = call({.op = "matmul", .inputs = {tiny, tiny}, .out = Array(kF32, {8, 8})});
  EXPECT_EQ(o.status, OAR_REFUSED);
  EXPECT_EQ(o.reason, OAR_REASON_SLOWER);
  EXPECT_NE(o.text.find("512"), std::string::npos) << o.text;

  const Array gaps = Array(kF32, {64, 64}, {128, 2}).random(1);
  o = call({.op = "matmul", .inputs = {a, gaps}, .out = out});
  EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(o.operand, 1);

  const Array expanded = Array(kF32, {64, 64}, {0, 1}).random(1);
  o = call({.op = "matmul", .inputs = {expanded, a}, .out = out});
  EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(o.operand, 0);

  o = call({.op = "matmul", .inputs = {a, a}, .out = Array(kF32, {64, 64}, {1, 64})});
  EXPECT_EQ(o.reason, OAR_REASON_LAYOUT);
  EXPECT_EQ(o.operand, 2);

  o = call({.op = "matmul", .inputs = {a, a}, .out = out, .epilogue = {{"erf", {-1}}}});
  EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE);
  o = call({.op = "matmul", .inputs = {a, a, a}, .out = out, .epilogue = {{"subtract", {2, -1}}}});
  EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE);
  o = call({.op = "matmul", .inputs = {a, a}, .out = out, .epilogue = {{"add", {-1, -1}}}});
  EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE);
  o = call({.op = "matmul", .inputs = {a, a}, .out = out, .epilogue = {{"add", {-1, 1}}}, .constants = {1}});
  EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE);  // the weights may be packed away
  const Array whole = Array(OAR_DTYPE_I32, {64});
  o = call({.op = "matmul", .inputs = {a, a, whole}, .out = out, .epilogue = {{"add", {-1, 2}}}});
  EXPECT_NE(o.status, OAR_OK);
  const Array column = Array(kF32, {64, 1}).random(3);
  o = call({.op = "matmul", .inputs = {a, a, column}, .out = out, .epilogue = {{"add", {-1, 2}}}});
  EXPECT_EQ(o.reason, OAR_REASON_EPILOGUE);
  EXPECT_EQ(o.operand, 2);

  const Array half = Array(OAR_DTYPE_F16, {64, 64}).random(1);
  o = call({.op = "matmul", .inputs = {half, half}, .out = Array(OAR_DTYPE_F16, {64, 64})});
  EXPECT_EQ(o.reason, OAR_REASON_DTYPE);

  const Array none(kF32, {64, 0}), none_b(kF32, {0, 64});
  o = call({.op = "matmul", .inputs = {none, none_b}, .out = out});
  EXPECT_EQ(o.reason, OAR_REASON_SHAPE);
}

TEST(OnednnMatmul, KeepsToTheThreadBudget) {
  const Array a = Array(kF32, {256, 256}).random(1);
  Array one(kF32, {256, 256}), two(kF32, {256, 256});
  plugin().threads(1);
  ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, a}, .out = one}).status, OAR_OK);
  plugin().threads(2);
  ASSERT_EQ(plugin().call({.op = "matmul", .inputs = {a, a}, .out = two}).status, OAR_OK);
  expect_product(a, a, one);
  expect_product(a, a, two);
}

}  // namespace
}  // namespace oarlock::test
