#include <gtest/gtest.h>

#include <cmath>

#include <oarlock/oarlock.h>

namespace oarlock {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(Autograd, ThirdDerivativeOfAPower) {  // x^4: 4x^3, 12x^2, 24x
  Tensor x = Tensor::scalar(1.5, DType::f64);
  x.set_requires_grad();
  Tensor y = x * x * x * x;
  double expected[] = {4 * 1.5 * 1.5 * 1.5, 12 * 1.5 * 1.5, 24 * 1.5};
  for (double e : expected) {
    y = gradients(std::span(&y, 1), std::span(&x, 1), {}, true, true)[0];
    EXPECT_NEAR(y.item(), e, 1e-12);
  }
}

TEST(Autograd, GradientsAccumulateInLeaves) {
  Tensor x = Tensor::of<double>({1, 2}, {2});
  x.set_requires_grad();
  sum(x * 3.0).backward();
  sum(x * 4.0).backward();
  EXPECT_EQ(x.grad().data_as<double>()[0], 7);
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, WhatWasBroadcastIsSummed) {
  Tensor a = full({2, 3, 4}, 1, DType::f64), b = full({4}, 2, DType::f64), c = full({3, 1}, 5, DType::f64);
  for (Tensor* t : {&a, &b, &c}) t->set_requires_grad();
  sum(a * b + c).backward();
  EXPECT_EQ(b.grad().shape(), Shape({4}));
  EXPECT_EQ(b.grad().data_as<double>()[0], 6);
  EXPECT_EQ(c.grad().shape(), Shape({3, 1}));
  EXPECT_EQ(c.grad().data_as<double>()[0], 8);
  EXPECT_EQ(a.grad().data_as<double>()[0], 2);
}

TEST(Autograd, AWriteInBetweenIsAnErrorNotAWrongGradient) {
  Tensor x = full({3}, 2, DType::f64), y = full({3}, 5, DType::f64);
  x.set_requires_grad();
  Tensor s = sum(x * y);
  assign(y, full({3}, 7, DType::f64));
  std::string e = error_of([&] { s.backward(); });
  EXPECT_NE(e.find("multiply: b was written to after this call was recorded (version 0, now 1)"), std::string::npos)
      << e;
  // A view of it is the same memory.
  Tensor z = full({3}, 5, DType::f64);
  Tensor t = sum(x * z);
  assign(slice(z, {0}, {1}), full({1}, 9, DType::f64));
  EXPECT_NE(error_of([&] { t.backward(); }).find("was written to"), std::string::npos);
  // What no gradient reads may be written: add reads nothing.
  Tensor w = full({3}, 5, DType::f64);
  Tensor u = sum(x + w);
  assign(w, full({3}, 7, DType::f64));
  EXPECT_EQ(error_of([&] { u.backward(); }), "no error");
}

TEST(Autograd, WritingToWhatIsRecordedNeedsNoGrad) {
  Tensor x = full({3}, 2);
  x.set_requires_grad();
  EXPECT_NE(error_of([&] { assign(x, full({3}, 1)); }).find("Wrap the call in NoGrad"), std::string::npos);
  NoGrad off;
  EXPECT_EQ(error_of([&] { assign(x, full({3}, 1)); }), "no error");
}

TEST(Autograd, ASecondBackwardNeedsKeepGraph) {
  Tensor x = Tensor::scalar(3, DType::f64);
  x.set_requires_grad();
  Tensor y = x * x;
  backward(std::span<const Tensor>(&y, 1), {}, true);
  backward(std::span<const Tensor>(&y, 1));
  EXPECT_EQ(x.grad().item(), 12);
  EXPECT_NE(error_of([&] { y.backward(); }).find("keep_graph"), std::string::npos);
}

TEST(Autograd, MisuseIsAnError) {
  Tensor x = full({3}, 2), i = Tensor::of<int64_t>({1}, {1});
  EXPECT_NE(error_of([&] { sum(x).backward(); }).find("requires a gradient"), std::string::npos);
  EXPECT_NE(error_of([&] { i.set_requires_grad(); }).find("only floating dtypes"), std::string::npos);
  x.set_requires_grad();
  Tensor y = x * 2.0;
  EXPECT_NE(error_of([&] { y.backward(); }).find("not one element"), std::string::npos);
  EXPECT_NE(error_of([&] { y.set_requires_grad(false); }).find("only leaves"), std::string::npos);
  Tensor seed = full({2}, 1);
  EXPECT_NE(error_of([&] {
              backward(std::span<const Tensor>(&y, 1), std::span<const Tensor>(&seed, 1));
            }).find("the seed has shape [2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { backward(std::span<const Tensor>(), std::span<const Tensor>(&seed, 1)); }).find("seeds"),
            std::string::npos);
}

TEST(Autograd, DetachAndNoGradRecordNothing) {
  Tensor x = full({3}, 2);
  x.set_requires_grad();
  EXPECT_FALSE((x.detach() * 2.0).requires_grad());
  NoGrad off;
  EXPECT_FALSE((x * 2.0).requires_grad());
}

TEST(Autograd, AChainOfManyNodesIsFreedWithoutDeepRecursion) {
  Tensor x = full({1}, 1);
  x.set_requires_grad();
  Tensor y = x;
  for (int i = 0; i < 200'000; ++i) y = y + x;
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 200'001);
  Tensor z = x;
  for (int i = 0; i < 200'000; ++i) z = z + x;  // freed without backward
}

TEST(Autograd, SavedValuesAreFreedByBackward) {
  uint64_t before = memory_stats(Device()).in_use;
  Tensor x = full({1 << 18}, 1);
  x.set_requires_grad();
  Tensor y = sum(exp(x) * x);
  uint64_t recorded = memory_stats(Device()).in_use;
  y.backward();
  x.set_grad({});
  EXPECT_LE(memory_stats(Device()).in_use + (1u << 20), recorded);
  EXPECT_LE(memory_stats(Device()).in_use, before + (5u << 18));
}

TEST(Autograd, CastsAreOnTheTape) {
  Tensor x = Tensor::of<float>({1, 2}, {2}), d = Tensor::of<double>({3, 4}, {2});
  x.set_requires_grad();
  sum(x * d).backward();
  EXPECT_EQ(x.grad().dtype(), DType::f32);
  EXPECT_EQ(x.grad().data_as<float>()[1], 4);
}

TEST(Autograd, GradientsOfUnreachedInputsHaveNoValue) {
  Tensor x = Tensor::scalar(1), y = Tensor::scalar(2);
  x.set_requires_grad();
  y.set_requires_grad();
  Tensor out = x * 3.0;
  Tensor inputs[] = {x, y};
  auto g = gradients(std::span<const Tensor>(&out, 1), inputs);
  EXPECT_EQ(g[0].item(), 3);
  EXPECT_FALSE(g[1].defined());
  EXPECT_FALSE(x.grad().defined());
}

// In evaluation batch_norm saves the running mean as it was given: the operand itself must stay what it is.
TEST(Autograd, AnOperandHandedOnIsNotTheResult) {
  Tensor x = full({2, 3}, 2, DType::f64).set_requires_grad(), mean = full({3}, 1, DType::f64),
         var = full({3}, 4, DType::f64);
  BatchNormResult r = batch_norm(x, mean, var, {}, {}, false);
  EXPECT_FALSE(mean.requires_grad());
  EXPECT_FALSE(var.requires_grad());
  sum(r.out).backward();
  EXPECT_NEAR(x.grad().data_as<double>()[0], 0.5, 1e-5);
}

}  // namespace
}  // namespace oarlock
