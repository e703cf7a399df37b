#include <oarlock/model.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include <oarlock/base/autograd.h>
#include <oarlock/base/operators.h>
#include <oarlock/base/plugin.h>
#include <oarlock/data.h>
#include <oarlock/nn/containers.h>
#include <oarlock/nn/linear.h>
#include <oarlock/random.h>
#include <oarlock/save.h>

#include "tests/api/src/model/blobs.h"

namespace oarlock {
using namespace callbacks;
namespace {

using test::bits;
using test::Blobs;
using test::contents;
using test::error_of;
using test::softmax_loss;
using test::TemporaryFolder;

struct Line : nn::Layer {  // w * x
  Tensor& w = add_parameter("w", Tensor::of<double>({2}, {}));
  Tensor forward(const Tensor& x) override { return x * w; }
};
Tensor squares(const Tensor& y, const Tensor& t) { return mean((y - t) * (y - t)); }

TEST(Model, OneStepByHand) {
  auto line = std::make_shared<Line>();
  Model model(line);
  model.prepare(std::make_shared<optim::SGD>(line->parameters(), optim::SGDOptions{.learning_rate = 0.1}), squares,
                {std::make_shared<metric::Mean>()});
  Tensor x = Tensor::of<double>({1, 3}, {2}), t = Tensor::of<double>({0, 0}, {2});
  // loss = (2^2 + 6^2) / 2 = 20; d/dw = (2 * 2 * 1 + 2 * 6 * 3) / 2 = 20.
  Logs logs = model.train_batch({&x, 1}, {&t, 1});
  EXPECT_EQ(*find(logs, "loss"), 20);
  EXPECT_EQ(*find(logs, "mean"), 4);
  EXPECT_DOUBLE_EQ(line->w.item(), 2 - 0.1 * 20);
  // Two batches without a step add up.
  line->w = line->w;
  model.train_batch({&x, 1}, {&t, 1}, false);
  EXPECT_EQ(line->w.item(), 0);
  EXPECT_TRUE(model.gradients_pending());
  logs = model.eval_batch({&x, 1}, {&t, 1});
  EXPECT_EQ(*find(logs, "loss"), 0);
  EXPECT_TRUE(line->training());
  EXPECT_EQ(model.predict_batch({&x, 1})[0].to_string(), (x * 0.0).to_string());
}

TEST(Model, LearnsAndKeepsAHistory) {
  set_seed(1);
  Blobs b(400, 3);
  Model& model = b.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = b.loader(16, true), test = b.loader(50, false);
  History h = model.fit(train, {.epochs = 5, .eval = &test, .eval_freq = 2, .verbose = 0});
  ASSERT_EQ(h["loss"].size(), 5u);
  ASSERT_EQ(h["acc"].size(), 5u);
  ASSERT_EQ(h["lr"].size(), 5u);
  ASSERT_EQ(h["val_acc"].size(), 3u);  // after epochs 2, 4 and the last
  EXPECT_LT(h["loss"].back(), h["loss"].front() / 2);
  EXPECT_GT(h["val_acc"].back(), 0.95);
  Logs logs = model.evaluate(test, {.verbose = 0});
  EXPECT_EQ(*find(logs, "acc"), h["val_acc"].back());
  EXPECT_EQ(*find(logs, "loss"), h["val_loss"].back());
}

TEST(Model, LossIsTheMeanOverSamplesWhateverTheBatches) {
  set_seed(1);
  Blobs b(50, 0);
  Model& model = b.model({});
  data::DataLoader one = b.loader(50, false), ragged = b.loader(7, false);
  double whole = *find(model.evaluate(one, {.verbose = 0}), "loss");
  EXPECT_NEAR(*find(model.evaluate(ragged, {.verbose = 0}), "loss"), whole, 1e-6);
  std::vector<Tensor> all = model.predict(ragged);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].shape(), Shape({50, 3}));
  data::Batch batch = *one.next();
  EXPECT_EQ(bits(all[0]), bits(model.predict_batch({batch.data(), 1})[0]));
}

TEST(Model, EvaluationLeavesTheLoaderWhereItWas) {
  set_seed(1);
  Blobs b(30, 3);
  Model& model = b.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = b.loader(10, true), other = b.loader(10, true);
  other.set_state(train.state());
  while (train.next()) {}
  while (other.next()) {}
  Logs first = model.evaluate(train, {.verbose = 0});
  EXPECT_EQ(train.state().epoch, 1);
  EXPECT_EQ(bits((*train.next())[1]), bits((*other.next())[1]));
  EXPECT_EQ(model.evaluate(train, {.verbose = 0}), first);
  EXPECT_EQ(train.state().epoch, 2);
}

// Everything that changes while training: shuffle, dropout, Adam's state, a schedule by step, a metric, early stopping.
struct Full {
  Blobs blobs;
  optim::lr::SchedulerPtr schedule;
  explicit Full(int64_t samples = 90, double dropout = 0.3) : blobs(samples, 3, dropout) {
    schedule = std::make_shared<optim::lr::CosineAnnealingDecay>(0.05, 40);
    blobs.optimizer =
        std::make_shared<optim::AdamW>(blobs.net->parameters(), optim::AdamOptions{.learning_rate = schedule});
  }
};
std::string everything(Model& model) {
  std::string all;
  for (auto& [name, t] : model.network().state_dict()) all += name + bits(t);
  for (auto& [name, t] : model.optimizer()->state_dict()) all += name + bits(t);
  RandomState r = default_generator().state();
  return all + std::to_string(r.seed) + " " + std::to_string(r.offset);
}
std::string text(const History& h) {
  std::string all;
  char number[64];
  for (auto& [name, values] : h) {
    all += name;
    for (double v : values) all += (std::snprintf(number, sizeof number, " %a", v), number);
    all += "\n";
  }
  return all;
}

// Arguments are evaluated before the call: the model is looked at after its training.
std::string outcome(const History& h, Model& model) { return text(h) + everything(model); }

TEST(Model, TwoRunsOfOneSeedAreEqual) {
  std::string first;
  for (int run = 0; run < 2; ++run) {
    set_seed(5);
    Full f;
    Model& model = f.blobs.model({std::make_shared<metric::Accuracy>()});
    data::DataLoader train = f.blobs.loader(16, true, run * 2);
    std::string now = outcome(model.fit(train, {.epochs = 2, .verbose = 0}), model);
    if (run) { EXPECT_TRUE(now == first); }
    first = now;
  }
}

class Resume : public testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Model, Resume, testing::Combine(testing::Values(1, 4, 6, 9, 12, 17), testing::Values(1, 2)));

// Cut after some steps of 18 (6 an epoch), gone on from in a new process' worth of objects.
TEST_P(Resume, IsBitForBit) {
  auto [cut, accumulate] = GetParam();
  TemporaryFolder folder;
  auto options = [&, accumulate = accumulate] {
    return FitOptions{
        .epochs = 3,
        .verbose = 0,
        .callbacks = {std::make_shared<EarlyStopping>(EarlyStoppingOptions{.monitor = "loss", .patience = 5})},
        .accumulate_grad_batches = accumulate};
  };
  set_seed(5);
  Full whole;
  Model& a = whole.blobs.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = whole.blobs.loader(16, true);
  std::string expected = outcome(a.fit(train, options()), a);

  set_seed(5);
  Full first;
  Model& b = first.blobs.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train_b = first.blobs.loader(16, true);
  FitOptions o = options();
  o.max_steps = cut;
  o.callbacks.push_back(
      std::make_shared<ModelCheckpoint>(folder.path(), ModelCheckpointOptions{.every_epochs = 0, .every_steps = 1}));
  b.fit(train_b, o);

  set_seed(99);  // nothing of it may be left
  Full second;
  Model& c = second.blobs.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train_c = second.blobs.loader(16, true, 2);
  o = options();
  bool pending = cut % accumulate && cut % 6;
  o.resume = folder.path() + (pending ? "/last.safetensors" : "/final.safetensors");
  if (pending && cut < accumulate) return;  // nothing was saved yet
  std::string got = outcome(c.fit(train_c, o), c);
  EXPECT_TRUE(got == expected) << "cut after " << cut;
}

TEST(Model, ResumesFromAnEpochsCheckpointWithEvaluation) {
  TemporaryFolder folder;
  set_seed(3);
  Full whole;
  Model& a = whole.blobs.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = whole.blobs.loader(16, true), test = whole.blobs.loader(16, false);
  std::string expected =
      outcome(a.fit(train, {.epochs = 4, .eval = &test, .verbose = 0, .save_dir = folder.path()}), a);
  for (int epoch = 0; epoch < 4; ++epoch) {
    Full again;
    Model& b = again.blobs.model({std::make_shared<metric::Accuracy>()});
    data::DataLoader train_b = again.blobs.loader(16, true), test_b = again.blobs.loader(16, false);
    History h = b.fit(train_b, {.epochs = 4,
                                .eval = &test_b,
                                .verbose = 0,
                                .resume = folder.path() + "/" + std::to_string(epoch) + ".safetensors"});
    EXPECT_TRUE(outcome(h, b) == expected) << "from epoch " << epoch;
  }
}

TEST(Model, ALossThatIsNoNumberStopsBeforeItReachesTheWeights) {
  set_seed(1);
  Blobs b(40, 3);
  int calls = 0;
  b.loss = Loss([&](const Tensor& y, const Tensor& t) {
    Tensor loss = softmax_loss(y, t);
    return ++calls == 8 ? loss * std::numeric_limits<double>::quiet_NaN() : loss;
  });
  Model& model = b.model({});
  data::DataLoader train = b.loader(8, false);
  struct Watch : Callback {
    std::string before;
    bool failed = false;
    void on_train_batch_begin(int64_t) override { before = bits(model().parameters()[0]); }
    void on_train_failed() override { failed = true; }
  };
  auto watch = std::make_shared<Watch>();
  std::string why = error_of([&] { model.fit(train, {.epochs = 3, .verbose = 0, .callbacks = {watch}}); });
  EXPECT_EQ(why.find("Model.fit: the loss is NaN in epoch 2, step 3. Lower the learning rate"), 0u) << why;
  EXPECT_TRUE(watch->failed);
  EXPECT_EQ(bits(model.parameters()[0]), watch->before);
  // And it can be used again.
  EXPECT_EQ(model.fit(train, {.epochs = 1, .verbose = 0})["loss"].size(), 1u);
  calls = 7;
  History h = model.fit(train, {.epochs = 1, .verbose = 0, .stop_on_nan = false});
  EXPECT_TRUE(std::isnan(h["loss"][0]));
}

TEST(Model, AccumulatedBatchesAreOneLargeBatch) {
  auto weights = [](int64_t batch, int64_t accumulate) {
    set_seed(2);
    Blobs b(64, 3);
    b.optimizer = std::make_shared<optim::SGD>(b.net->parameters(), optim::SGDOptions{.learning_rate = 0.5});
    Model& model = b.model({});
    data::DataLoader train = b.loader(batch, false);
    model.fit(train, {.epochs = 2, .verbose = 0, .accumulate_grad_batches = accumulate});
    std::vector<float> w(size_t(model.parameters()[0].element_count()));
    model.parameters()[0].copy_to_host(w.data());
    return w;
  };
  std::vector<float> a = weights(32, 1), b = weights(8, 4);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST(Model, SavesAndLoadsWeightsAlone) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/weights.safetensors";
  set_seed(1);
  Blobs a(10, 3), b(10, 3);
  a.model({}).save(path, false);
  EXPECT_EQ(load(path).size(), 4u);
  EXPECT_NE(bits(a.net->parameters()[0]), bits(b.net->parameters()[0]));
  b.model({}).load(path);
  EXPECT_EQ(bits(a.net->parameters()[0]), bits(b.net->parameters()[0]));
  // A network of another form is left as it was, its optimiser and the random state too.
  std::string full = folder.path() + "/full.safetensors";
  a.model({}).save(full);
  auto other = std::make_shared<nn::Sequential>(std::make_shared<nn::Linear>(2, 5));
  Model wrong(other);
  wrong.prepare(std::make_shared<optim::SGD>(other->parameters()));
  std::string before = everything(wrong);
  EXPECT_NE(error_of([&] { wrong.load(full); }), "");
  EXPECT_NE(error_of([&] { wrong.load(path); }), "");
  EXPECT_EQ(everything(wrong), before);
  data::DataLoader train = b.loader(5, false);
  EXPECT_NE(error_of([&] { b.model({}).fit(train, {.verbose = 0, .resume = full}); }).find("nothing to resume"),
            std::string::npos);
  EXPECT_NE(error_of([&] { b.model({}).fit(train, {.verbose = 0, .resume = path}); }).find("weights alone"),
            std::string::npos);
}

TEST(Model, BadUseIsAnError) {
  Blobs b(10, 3);
  Model bare(b.net);
  data::DataLoader train = b.loader(5, false);
  EXPECT_NE(error_of([&] { bare.fit(train); }).find("Call prepare"), std::string::npos);
  EXPECT_NE(error_of([&] { Model(nullptr); }), "");
  EXPECT_NE(error_of([&] { Model(b.net, 0); }), "");
  EXPECT_NE(error_of([&] { b.model({}).fit(train, {.epochs = -1}); }).find("epochs"), std::string::npos);
  EXPECT_NE(error_of([&] { b.model({}).fit(train, {.log_freq = 0}); }).find("log_freq"), std::string::npos);
  b.model({}).prepare(b.optimizer, [](std::span<const Tensor> outputs, std::span<const Tensor> labels) {
    return softmax_loss(outputs[0], labels[0]);  // a function of all
  });
  b.loss = Loss([](const Tensor& y, const Tensor&) { return y; });
  EXPECT_NE(error_of([&] { b.model({}).fit(train, {.verbose = 0}); }).find("it must be one number"), std::string::npos);
  Model two(b.net, 3);
  two.prepare(b.optimizer, b.loss);
  EXPECT_NE(error_of([&] { two.fit(train, {.verbose = 0}); }).find("2 fields, the network takes 3"), std::string::npos);
}

// On a device that runs late: the same history, though its losses are looked at ten steps at a time.
TEST(Model, TrainsOnADeviceToTheSameBits) {
  if (!load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so").ok())
    GTEST_SKIP() << "no sim device";
  std::string expected;
  for (Device device : {Device(), Device("sim")}) {
    set_seed(4);
    Full f(60, 0);
    f.blobs.net->to(device);
    Model& model = f.blobs.model({});
    data::DataLoader train = f.blobs.loader(8, true, 2);
    std::string got = text(model.fit(train, {.epochs = 2, .log_freq = 3, .verbose = 0}));
    f.blobs.net->to(Device());
    for (Tensor& p : model.parameters()) got += bits(p);
    if (device.is_host()) expected = got;
    else EXPECT_TRUE(got == expected);
  }
}

}  // namespace
}  // namespace oarlock
