// Whole training steps, captured: loss, gradients, clipping, optimiser, running statistics and dropout, against the same
// steps run eagerly, bit for bit.
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

using OptimizerMaker = std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>;

struct Training {
  nn::Sequential net;
  std::unique_ptr<optim::Optimizer> optimizer;
  Training(const OptimizerMaker& make, Device device) {
    set_seed(7);
    net.append(std::make_shared<nn::Conv2D>(1, 4, 3));
    net.append(std::make_shared<nn::BatchNorm2D>(4));
    net.append(std::make_shared<nn::ReLU>());
    net.append(std::make_shared<nn::MaxPool2D>(2));
    net.append(std::make_shared<nn::Flatten>());
    net.append(std::make_shared<nn::Dropout>(0.25));
    net.append(std::make_shared<nn::Linear>(36, 5));
    net.to(device);
    optimizer = make(net.parameters());
  }
  Tensor step(const Tensor& x, const Tensor& labels) {
    Tensor loss = cross_entropy_loss(net(x), labels);
    loss.backward();
    optimizer->step();
    optimizer->clear_grad();
    return loss.detach();
  }
  std::vector<Tensor> state() {
    std::vector<Tensor> all = net.parameters();
    for (const Tensor& t : net.buffers()) all.push_back(t);
    for (auto& [name, t] : optimizer->state_dict())
      if (name.find("lr.") == name.npos) all.push_back(t);
    return all;
  }
};

void expect_same_training(const OptimizerMaker& make, Device device) {
  auto batch = [&](int64_t i) {
    return std::pair(
        uniform({6, 1, 8, 8}, 10 + i).to(device),
        remainder(add(arange(Dim(6)), full({}, double(i), DType::i64)), full({}, 5, DType::i64)).to(device));
  };
  auto expect = [&](Training& a, Training& b, const std::string& who) { expect_same(a.state(), b.state(), who); };
  Training eager(make, device);
  for (int i = 0; i < 5; ++i) eager.step(batch(i).first, batch(i).second);
  RandomState after = default_generator().state();

  Training captured(make, device);
  captured.step(batch(0).first, batch(0).second);
  Program p;
  auto [x, labels] = batch(1);
  {
    RandomState before = default_generator().state();
    Recording recording(p, p.body.nodes, device);
    Tensor in = recording.add_input("x", x.dtype(), x.shape()), at = recording.add_input("labels", labels.dtype(), {6});
    p.body.parameters = {recording.value(in), recording.value(at)};
    DeviceScope scope(device);
    p.body.results = {recording.value(captured.step(in, at))};
    p.result_names = {"loss"};
    recording.finish();
    EXPECT_TRUE(default_generator().state() == before) << "capturing draws nothing";
  }
  for (const Tensor& t : captured.net.parameters()) EXPECT_FALSE(t.grad().defined());
  EXPECT_FALSE(p.updates.empty());
  EXPECT_TRUE(p.gradients.empty());
  Executable e(std::make_shared<Program>(p), device);
  for (int i = 1; i < 5; ++i) {
    auto [images, targets] = batch(i);
    Result<Outcome> out = i == 2 ? interpret(p, std::vector<Tensor>{images, targets}, device)
                                 : e.run(std::vector<Tensor>{images, targets});
    ASSERT_TRUE(out) << out.status().text();
  }
  EXPECT_TRUE(default_generator().state() == after) << "as many draws as eagerly";
  expect(captured, eager, "after five steps");
  // Eager steps and captured ones may follow each other.
  for (Training* t : {&eager, &captured}) {
    default_generator().set_state(after);
    t->step(batch(5).first, batch(5).second);
  }
  default_generator().set_state(after);
  eager.step(batch(6).first, batch(6).second);
  default_generator().set_state(after);
  Result<Outcome> out = e.run(std::vector<Tensor>{batch(6).first, batch(6).second});
  ASSERT_TRUE(out) << out.status().text();
  expect(captured, eager, "after an eager step and a captured one");
}

std::vector<std::pair<const char*, OptimizerMaker>> optimizers() {
  using optim::ClipGradByGlobalNorm;
  return {
      {"sgd", [](auto p) { return std::make_unique<optim::SGD>(p, optim::SGDOptions{.learning_rate = 0.1}); }},
      {"momentum",
       [](auto p) {
         return std::make_unique<optim::SGD>(
             p, optim::SGDOptions{.learning_rate = 0.1,
                                  .momentum = 0.9,
                                  .dampening = 0.1,
                                  .weight_decay = 0.01,
                                  .grad_clip = std::make_shared<ClipGradByGlobalNorm>(1.0)});
       }},
      {"adam", [](auto p) { return std::make_unique<optim::Adam>(p, optim::AdamOptions{.amsgrad = true}); }},
      {"adamw", [](auto p) { return std::make_unique<optim::AdamW>(p); }},
      {"rmsprop", [](auto p) { return std::make_unique<optim::RMSProp>(p, optim::RMSPropOptions{.momentum = 0.5}); }},
      {"adagrad", [](auto p) { return std::make_unique<optim::Adagrad>(p, optim::AdagradOptions{.lr_decay = 0.1}); }},
  };
}

TEST(TrainingStep, CapturedIsEager) {
  for (auto& [name, make] : optimizers()) {
    SCOPED_TRACE(name);
    expect_same_training(make, Device());
    if (HasFatalFailure()) return;
  }
}
TEST(TrainingStep, CapturedIsEagerOnSim) {
  expect_same_training(optimizers()[1].second, sim());
  expect_same_training(optimizers()[3].second, sim());
}

TEST(TrainingStep, AsksForTheRateAtEachRun) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  w.set_requires_grad();
  optim::SGD sgd({w}, {.learning_rate = 0.5});
  auto step = [&](const Tensor& x) {
    sum(multiply(w, x)).backward();
    sgd.step();
    sgd.clear_grad();
  };
  step(Tensor::of<float>({1, 1}, {2}));  // 0.5, 1.5
  Program p;
  {
    Recording recording(p, p.body.nodes, Device());
    Tensor x = recording.add_input("x", DType::f32, {2});
    p.body.parameters = {recording.value(x)};
    step(x);
    recording.finish();
  }
  Executable e(std::make_shared<Program>(p), Device());
  sgd.set_lr(0.25);
  ASSERT_TRUE(e.run(std::vector<Tensor>{Tensor::of<float>({2, 4}, {2})}));
  EXPECT_EQ(w.to_string(), Tensor::of<float>({0, 0.5}, {2}).to_string());
}

TEST(TrainingStep, TheFirstStepCannotBeCaptured) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  w.set_requires_grad();
  optim::AdamW adam({w});
  Program p;
  Recording recording(p, p.body.nodes, Device());
  Tensor x = recording.add_input("x", DType::f32, {2});
  sum(multiply(w, x)).backward();
  try {
    adam.step();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_ready);
    EXPECT_NE(std::string(e.what()).find("Run one step before capturing"), std::string::npos) << e.what();
  }
}

TEST(TrainingStep, GradientsLeftBehindComeBack) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  w.set_requires_grad();
  Program p;
  {
    Recording recording(p, p.body.nodes, Device());
    Tensor x = recording.add_input("x", DType::f32, {2});
    p.body.parameters = {recording.value(x)};
    sum(multiply(w, x)).backward();
    recording.finish();
  }
  EXPECT_FALSE(w.grad().defined());
  ASSERT_EQ(p.gradients.size(), 1u);
  Executable e(std::make_shared<Program>(p), Device());
  Result<Outcome> out = e.run(std::vector<Tensor>{Tensor::of<float>({3, 4}, {2})});
  ASSERT_TRUE(out) << out.status().text();
  ASSERT_EQ(out->gradients.size(), 1u);
  EXPECT_EQ(out->gradients[0].to_string(), Tensor::of<float>({3, 4}, {2}).to_string());
}

TEST(TrainingStep, AWriteBetweenForwardAndBackwardIsAnError) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  w.set_requires_grad();
  Program p;
  Recording recording(p, p.body.nodes, Device());
  Tensor x = recording.add_input("x", DType::f32, {2});
  Tensor y = exp(x), loss = sum(multiply(w, y));
  {
    NoGrad off;
    assign(y, x);
  }
  try {
    loss.backward();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("was written to after this call was recorded"), std::string::npos) << e.what();
  }
}

TEST(Recording, WritesToViewsAreRefused) {
  Program p;
  Recording recording(p, p.body.nodes, Device());
  Tensor x = recording.add_input("x", DType::f32, {4});
  Tensor y = add(x, x), half = slice(y, {0}, {2});
  EXPECT_THROW(assign(half, slice(x, {0}, {2})), Error);
  EXPECT_THROW(assign(y, x), Error);
  half = Tensor();
  assign(y, x);
}

}  // namespace
}  // namespace oarlock::graph
