// Functions with a gradient of their own, hooks, anomaly mode, and how long the tape keeps what it saved.
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
Tensor leaf(std::initializer_list<double> values, const Shape& shape) {
  return Tensor::of<double>(values, shape).set_requires_grad();
}

// x^3 by x and its output saved; told apart from the op by a factor in the gradient.
struct Cube : Function {
  double factor = 1;
  std::string name() const override { return "Cube"; }
  std::vector<Tensor> forward(FunctionContext& c, std::span<const Tensor> in) override {
    Tensor y = in[0] * in[0] * in[0], saved[] = {in[0], y};
    c.save(saved);
    return {y};
  }
  std::vector<Tensor> backward(FunctionContext& c, std::span<const Tensor> g) override {
    return {g[0] * c.saved()[0] * c.saved()[0] * (3 * factor)};
  }
};

TEST(Functions, ItsOwnGradientCounts) {
  Tensor x = leaf({2, -1}, {2});
  auto cube = std::make_shared<Cube>();
  cube->factor = 10;
  Tensor y = apply_function(cube, std::span(&x, 1))[0];
  EXPECT_EQ(y.data_as<double>()[0], 8);
  sum(y * 2.0).backward();
  EXPECT_EQ(x.grad().data_as<double>()[0], 2 * 10 * 3 * 4);
  EXPECT_EQ(x.grad().data_as<double>()[1], 2 * 10 * 3 * 1);
}

TEST(Functions, AreDifferentiableAgain) {
  Tensor x = leaf({2}, {1});
  Tensor y = apply_function(std::make_shared<Cube>(), std::span(&x, 1))[0];
  Tensor first = gradients(std::span(&y, 1), std::span(&x, 1), {}, true, true)[0];
  EXPECT_EQ(first.item(), 12);
  EXPECT_EQ(gradients(std::span(&first, 1), std::span(&x, 1))[0].item(), 12);  // 6x
}

// exp by its output: the saved output is on the tape again in higher orders.
struct ByOutput : Function {
  std::string name() const override { return "ByOutput"; }
  std::vector<Tensor> forward(FunctionContext& c, std::span<const Tensor> in) override {
    Tensor y = exp(in[0]);
    c.save(std::span(&y, 1));
    return {y};
  }
  std::vector<Tensor> backward(FunctionContext& c, std::span<const Tensor> g) override { return {g[0] * c.saved()[0]}; }
};

TEST(Functions, ASavedOutputLeadsOnToHigherOrders) {
  Tensor x = leaf({0.5}, {1});
  Tensor y = apply_function(std::make_shared<ByOutput>(), std::span(&x, 1))[0];
  for (int order = 1; order <= 3; ++order) {
    y = gradients(std::span(&y, 1), std::span(&x, 1), {}, true, true)[0];
    EXPECT_NEAR(y.item(), std::exp(0.5), 1e-14) << order;
  }
}

TEST(Functions, AWriteToASavedTensorIsAnError) {
  Tensor x = leaf({2}, {1});
  Tensor y = apply_function(std::make_shared<Cube>(), std::span(&x, 1))[0];
  {
    NoGrad off;
    assign(x, full({1}, 3, DType::f64));
  }
  std::string e = error_of([&] { y.backward(); });
  EXPECT_NE(e.find("Cube: saved tensor 0 was written to"), std::string::npos) << e;
}

struct Wrong : Function {
  int kind;
  explicit Wrong(int k) : kind(k) {}
  std::string name() const override { return "Wrong"; }
  std::vector<Tensor> forward(FunctionContext&, std::span<const Tensor> in) override {
    if (kind == 0) throw Error(Code::invalid_argument, "forward says no");
    if (kind == 1) return {Tensor()};
    return {in[0] * 1.0};
  }
  std::vector<Tensor> backward(FunctionContext&, std::span<const Tensor> g) override {
    if (kind == 2) return {};
    if (kind == 3) return {full({7}, 1, DType::f64)};
    if (kind == 4) throw Error(Code::invalid_argument, "backward says no");
    return {g[0]};
  }
};

TEST(Functions, WrongAnswersAreErrors) {
  const char* says[] = {"forward says no", "forward gave output 0 no value", "returned 0 gradients for 1 inputs",
                        "gradient of shape [7] for input 0 of shape [2]", "gradient of Wrong: backward says no"};
  for (int kind = 0; kind < 5; ++kind) {
    Tensor x = leaf({1, 2}, {2});
    std::string e =
        error_of([&] { sum(apply_function(std::make_shared<Wrong>(kind), std::span(&x, 1))[0]).backward(); });
    EXPECT_NE(e.find(says[kind]), std::string::npos) << e;
    EXPECT_FALSE(x.grad().defined());
  }
}

// Returns its input, and an output without gradient; gives no gradient for the second input.
struct Passing : Function {
  bool wants_second = true;
  std::string name() const override { return "Passing"; }
  std::vector<Tensor> forward(FunctionContext& c, std::span<const Tensor> in) override {
    Tensor rest = in[0] * 2.0;
    c.mark_non_differentiable(rest);
    return {in[0], rest};
  }
  std::vector<Tensor> backward(FunctionContext& c, std::span<const Tensor> g) override {
    wants_second = c.wants(1);
    return {g[0], Tensor()};
  }
};

TEST(Functions, PassingAnInputOnLeavesItALeaf) {
  Tensor x = leaf({1, 2}, {2}), constant = full({2}, 1, DType::f64);
  auto f = std::make_shared<Passing>();
  Tensor in[] = {x, constant};
  std::vector<Tensor> out = apply_function(f, in);
  EXPECT_TRUE(out[0].requires_grad());
  EXPECT_FALSE(out[1].requires_grad());
  EXPECT_EQ(out[0].data(), x.data());
  sum(out[0] * 3.0).backward();
  EXPECT_EQ(x.grad().data_as<double>()[1], 3);
  EXPECT_FALSE(f->wants_second);
  NoGrad off;
  EXPECT_EQ(apply_function(f, in)[0].impl(), x.impl());  // unrecorded: what forward gave
}

TEST(Functions, TheRecordIsFreedWithItsOutputs) {
  auto f = std::make_shared<Cube>();
  std::weak_ptr<Cube> alive = f;
  Tensor x = leaf({1}, {1});
  Tensor y = apply_function(std::move(f), std::span(&x, 1))[0];
  EXPECT_FALSE(alive.expired());
  y = Tensor();
  EXPECT_TRUE(alive.expired());  // a saved output must not keep its own record
}

TEST(Hooks, SeeTheWholeGradientOfAComputedTensor) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = x * 2.0;
  std::vector<double> seen;
  add_grad_hook(y, [&](const Tensor& g) {
    seen.push_back(g.data_as<double>()[1]);
    return Tensor();
  });
  sum(y * 3.0 + y * 4.0).backward();
  EXPECT_EQ(seen, (std::vector<double>{7}));
  EXPECT_EQ(x.grad().data_as<double>()[0], 14);
}

TEST(Hooks, MayReplaceGradientsInTheirOrder) {
  Tensor x = leaf({1}, {1});
  Tensor y = x * 2.0;
  add_grad_hook(y, [](const Tensor& g) { return g * 10.0; });
  uint64_t second = add_grad_hook(y, [](const Tensor& g) { return g + 1.0; });
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 22);
  EXPECT_TRUE(remove_grad_hook(y, second));
  EXPECT_FALSE(remove_grad_hook(y, second));
}

TEST(Hooks, OfALeafRunOncePerBackwardOnTheSum) {
  Tensor x = leaf({1}, {1});
  int calls = 0;
  add_grad_hook(x, [&](const Tensor& g) {
    ++calls;
    return g * 2.0;
  });
  sum(x * 3.0 + x * 4.0).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(x.grad().item(), 14);
  sum(x).backward();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(x.grad().item(), 16);
}

TEST(Hooks, RunAlsoWhenTheirTensorIsGone) {
  Tensor x = leaf({1}, {1}), z;
  int calls = 0;
  {
    Tensor y = x * 2.0;
    add_grad_hook(y, [&](const Tensor&) {
      ++calls;
      return Tensor();
    });
    z = y * 3.0;
  }
  z.backward();
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, ErrorsAndWrongShapesEndBackward) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = x * 2.0;
  add_grad_hook(y, [](const Tensor&) { return full({3}, 1, DType::f64); });
  std::string e = error_of([&] { sum(y).backward(); });
  EXPECT_NE(e.find("hook returned shape [3], the gradient has [2]"), std::string::npos) << e;
  Tensor plain = full({2}, 1, DType::f64);
  e = error_of([&] { add_grad_hook(plain, [](const Tensor& g) { return g; }); });
  EXPECT_NE(e.find("requires no gradient"), std::string::npos) << e;
}

TEST(Hooks, RetainGradKeepsThatOfAComputedTensor) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = x * 2.0;
  retain_grad(y);
  EXPECT_FALSE(y.grad().defined());
  sum(y * 5.0).backward();
  ASSERT_TRUE(y.grad().defined());
  EXPECT_EQ(y.grad().data_as<double>()[1], 5);
}

TEST(Anomaly, TheOpThatFirstMadeANaNIsNamed) {
  AnomalyMode on;
  Tensor x = leaf({4, -2, 1}, {3});
  std::string e = error_of([&] { sum(exp(sqrt(x))); });
  EXPECT_NE(e.find("sqrt: made the first NaN, in result 0 of shape [3]"), std::string::npos) << e;
  EXPECT_NE(e.find("f64[3] from -2 to 4"), std::string::npos) << e;
}

TEST(Anomaly, AGradientIsNamedWithThePlaceOfItsCall) {
  set_call_site(+[] { return std::string("model.py:12"); });
  {
    AnomalyMode on;
    Tensor x = leaf({0, 4}, {2});
    Tensor y = sum(sqrt(x) * Tensor::of<double>({0, 1}, {2}));  // 0 * infinity in the gradient at 0
    std::string e = error_of([&] { y.backward(); });
    EXPECT_NE(e.find("gradient of sqrt: "), std::string::npos) << e;
    EXPECT_NE(e.find("made the first NaN"), std::string::npos) << e;
    EXPECT_NE(e.find("made at model.py:12"), std::string::npos) << e;
  }
  set_call_site(nullptr);
}

TEST(Anomaly, ANaNThatWasGivenIsNobodysFault) {
  AnomalyMode on;
  Tensor x = Tensor::of<double>({NAN, 1}, {2});
  EXPECT_TRUE(std::isnan(sum(x * 2.0).item()));
}

TEST(Anomaly, OffItLooksAtNothing) {
  Tensor x = leaf({-2}, {1});
  EXPECT_TRUE(std::isnan(sqrt(x).item()));
}

TEST(Tape, SavedValuesGoAsBackwardReadsThem) {
  Tensor x = full({1 << 16}, 1.0, DType::f64).set_requires_grad();
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = tanh(y);
  Tensor s = sum(y);
  y = Tensor();
  uint64_t before = memory_stats(Device()).in_use;
  reset_peak_memory(Device());
  s.backward();
  // 20 saved outputs of half a MiB; a gradient and its successor at a time beside them.
  EXPECT_LE(memory_stats(Device()).in_use, before - (19u << 19));  // x.grad() is new
  EXPECT_LT(memory_stats(Device()).peak, before + (4u << 19));
}

}  // namespace
}  // namespace oarlock
