// Captured functions from C++: as the functions themselves, gradients included.
#include <atomic>
#include <thread>

#include "tests/same.h"

namespace oarlock::jit {
namespace {

std::shared_ptr<nn::Sequential> network() {
  set_seed(3);
  return std::make_shared<nn::Sequential>(std::make_shared<nn::Conv2D>(1, 4, 3), std::make_shared<nn::BatchNorm2D>(4),
                                          std::make_shared<nn::ReLU>(), std::make_shared<nn::Flatten>(),
                                          std::make_shared<nn::Dropout>(0.5), std::make_shared<nn::Linear>(144, 5));
}

TEST(StaticFunction, TrainsAsTheNetworkItself) {
  auto eager = network(), captured = network();
  StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{(*captured)(x[0])}; },
                   {.name = "net", .states = [&] { return captured->state_dict(); }});
  for (int step = 0; step < 4; ++step) {
    Tensor x = uniform({3, 1, 8, 8}, step), labels = Tensor::of<int64_t>({0, 1, 2}, {3});
    Tensor mine = uniform({3, 1, 8, 8}, step);
    x.set_requires_grad();
    mine.set_requires_grad();
    RandomState random = default_generator().state();
    Tensor want = (*eager)(x);
    cross_entropy_loss(want, labels).backward();
    default_generator().set_state(random);
    Tensor got = f.call({{mine}})[0];
    EXPECT_TRUE(got.requires_grad());
    cross_entropy_loss(got, labels).backward();
    expect_same(got, want, "the result");
    expect_same(mine.grad(), x.grad(), "the input's gradient");
    std::vector<Tensor> a = captured->parameters(), b = eager->parameters();
    for (size_t i = 0; i < a.size(); ++i) expect_same(a[i].grad(), b[i].grad(), "gradient " + std::to_string(i));
    a = captured->buffers();
    b = eager->buffers();
    for (size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i], "buffer " + std::to_string(i));
  }
  ASSERT_EQ(f.programs().size(), 1u);
  EXPECT_EQ(f.programs()[0].name, "net");
  EXPECT_GT(f.programs()[0].steps, 0);
  EXPECT_GT(f.programs()[0].backward_nodes, 0);
}

TEST(StaticFunction, OneProgramPerKindOfCall) {
  int calls = 0;
  StaticFunction f([&](std::span<const Tensor> x) {
    ++calls;
    return std::vector<Tensor>{add(x[0], x[0])};
  });
  for (int i = 0; i < 3; ++i) f.call({{uniform({2}, i)}});
  EXPECT_EQ(calls, 1);
  f.call({{uniform({3}, 0)}});
  EXPECT_EQ(calls, 2);
  f.call({{uniform({3}, 0)}}, "another key");
  EXPECT_EQ(calls, 3);
  f.clear();
  f.call({{uniform({3}, 0)}});
  EXPECT_EQ(calls, 4);
}

TEST(StaticFunction, AnInputSpecServesEverySize) {
  int calls = 0;
  Tensor w = uniform({4, 6}, 1);
  w.set_requires_grad();
  StaticFunction f(
      [&](std::span<const Tensor> x) {
        ++calls;
        return std::vector<Tensor>{reshape(matmul(x[0], w), {x[0].shape()[0] * 6})};
      },
      {.input_spec = {{.shape = {"N", 4}, .name = "x"}}});
  for (int64_t n : {1, 3, 7}) {
    Tensor x = uniform({n, 4}, n);
    w.set_grad({});
    Tensor got = f.call({{x}})[0];
    sum(got).backward();
    Tensor grad = w.grad();
    w.set_grad({});
    Tensor want = reshape(matmul(x, w), {n * 6});
    sum(want).backward();
    expect_same(got, want, "N=" + std::to_string(n));
    expect_same(grad, w.grad(), "gradient, N=" + std::to_string(n));
  }
  EXPECT_EQ(calls, 1);
  EXPECT_NE(error_of([&] { f.call({{uniform({2, 5}, 1)}}); }).find("axis 1 disagrees (4 and 5)"), std::string::npos);
}

TEST(StaticFunction, ParametersAreReadAsTheyAre) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{multiply(x[0], w)}; });
  Tensor x = Tensor::of<float>({1, 1}, {2});
  expect_same(f.call({{x}})[0], w, "before");
  w.set_data(Tensor::of<float>({5, 6}, {2}));
  expect_same(f.call({{x}})[0], Tensor::of<float>({5, 6}, {2}), "after set_data");
  assign(w, Tensor::of<float>({7, 8}, {2}));
  expect_same(f.call({{x}})[0], Tensor::of<float>({7, 8}, {2}), "after assign");
}

TEST(StaticFunction, OneInAnotherBecomesAPart) {
  StaticFunction inner([](std::span<const Tensor> x) { return std::vector<Tensor>{add(x[0], x[0])}; });
  StaticFunction outer([&](std::span<const Tensor> x) {
    EXPECT_TRUE(capturing());
    return std::vector<Tensor>{multiply(inner.call(x)[0], x[0])};
  });
  Tensor x = Tensor::of<float>({1, 2}, {2});
  expect_same(outer.call({{x}})[0], Tensor::of<float>({2, 8}, {2}), "outer");
  EXPECT_TRUE(inner.programs().empty());
  EXPECT_FALSE(capturing());
}

TEST(StaticFunction, WholeStepsRunEagerlyFirst) {
  auto a = network(), b = network();
  auto step_of = [](nn::Sequential& net, optim::Optimizer& o, const Tensor& x, const Tensor& t) {
    Tensor loss = cross_entropy_loss(net(x), t);
    loss.backward();
    o.step();
    o.clear_grad();
    return loss.detach();
  };
  optim::AdamW eager(a->parameters()), captured(b->parameters());
  StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{step_of(*b, captured, x[0], x[1])}; });
  for (int step = 0; step < 4; ++step) {
    Tensor x = uniform({3, 1, 8, 8}, step), labels = Tensor::of<int64_t>({0, 1, 2}, {3});
    RandomState random = default_generator().state();
    Tensor want = step_of(*a, eager, x, labels);
    default_generator().set_state(random);
    expect_same(f.call({{x, labels}})[0], want, "loss of step " + std::to_string(step));
    EXPECT_EQ(f.programs().size(), step ? 1u : 0u);
  }
  for (size_t i = 0; i < a->parameters().size(); ++i)
    expect_same(b->parameters()[i], a->parameters()[i], "parameter " + std::to_string(i));
}

TEST(StaticFunction, SecondOrderIsRefused) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  w.set_requires_grad();
  StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{sum(multiply(multiply(x[0], w), w))}; });
  Tensor y = f.call({{w.detach()}})[0];
  EXPECT_NE(error_of([&] { backward({{y}}, {}, true, true); }).find("second order"), std::string::npos);
}

TEST(StaticFunction, ManyThreadsOneFunction) {
  Tensor w = uniform({8, 8}, 1);
  StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{tanh(matmul(x[0], w))}; });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        Tensor x = uniform({1 + (t + i) % 5, 8}, t * 100 + i);
        wrong += bytes(f.call({{x}})[0]) != bytes(tanh(matmul(x, w)));
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(StaticFunction, EagerAndCapturedCallsOfOneLayerMayAlternate) {
  auto eager = network(), mixed = network();
  StaticFunction f([&](std::span<const Tensor> x) { return std::vector<Tensor>{(*mixed)(x[0])}; },
                   {.states = [&] { return mixed->state_dict(); }});
  for (int step = 0; step < 6; ++step) {
    Tensor x = uniform({3, 1, 8, 8}, step);
    RandomState random = default_generator().state();
    Tensor want = (*eager)(x);
    default_generator().set_state(random);
    // Eager batch norm gives its buffers new elements, which the program has to find.
    expect_same(step % 2 ? f.call({{x}})[0] : (*mixed)(x), want, "step " + std::to_string(step));
    expect_same(mixed->buffers(), eager->buffers(), "buffers, step " + std::to_string(step));
  }
}

TEST(StaticFunction, DrawsThatNobodyReadsAreDrawn) {
  StaticFunction f([](std::span<const Tensor> x) {
    (void)default_generator().next();
    return std::vector<Tensor>{add(x[0], random_uniform(default_generator().next(), {2}))};
  });
  Tensor x = Tensor::of<float>({0, 0}, {2});
  set_seed(9);
  std::vector<Tensor> want = f.function()({{x}});
  set_seed(9);
  expect_same(f.call({{x}}), want, "the second draw");
  EXPECT_EQ(default_generator().state().offset, 2u);
}

TEST(StaticFunction, GradientsOfALeafAddUp) {
  Tensor w = Tensor::of<float>({1, 2}, {2}), x = Tensor::of<float>({3, 4}, {2});
  w.set_requires_grad();
  StaticFunction f([&](std::span<const Tensor> in) {
    Tensor loss = sum(multiply(w, in[0]));
    loss.backward();
    return std::vector<Tensor>{loss.detach()};
  });
  for (int i = 1; i <= 3; ++i) {
    f.call({{x}});
    expect_same(w.grad(), multiply(x, full({}, i)), "after " + std::to_string(i));
  }
  // Captured while one is there, it would be read as it was.
  EXPECT_NE(error_of([&] { f.call({{x}}, "again"); }).find("was there before what is captured"), std::string::npos);
}

TEST(StaticFunction, AStepWithoutItsBackwardIsRefused) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  w.set_requires_grad();
  optim::SGD sgd({w}, {.learning_rate = 0.5});
  auto make_gradient = [&] { sum(multiply(w, w)).backward(); };
  make_gradient();
  sgd.step();
  StaticFunction f([&](std::span<const Tensor>) {
    sgd.step();
    return std::vector<Tensor>{};
  });
  make_gradient();
  EXPECT_NE(error_of([&] { f.call({}); }).find("Capture backward together with step"), std::string::npos);
}

}  // namespace
}  // namespace oarlock::jit
