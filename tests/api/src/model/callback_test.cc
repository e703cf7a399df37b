#include <oarlock/model/callback.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include <oarlock/model/event_file.h>
#include <oarlock/random.h>
#include <oarlock/save.h>

#include "tests/api/src/model/blobs.h"

namespace oarlock {
using namespace callbacks;
namespace {

namespace fs = std::filesystem;
using test::bits;
using test::Blobs;
using test::contents;
using test::error_of;
using test::TemporaryFolder;

std::string with_output(const std::function<void(std::FILE*)>& f) {
  std::FILE* out = std::tmpfile();
  f(out);
  std::string all(size_t(std::ftell(out)), 0);
  std::rewind(out);
  all.resize(std::fread(all.data(), 1, all.size(), out));
  std::fclose(out);
  return all;
}
std::vector<std::string> lines(const std::string& text, char end = '\n') {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size();) {
    size_t stop = std::min(text.find(end, at), text.size());
    all.push_back(text.substr(at, stop - at));
    at = stop + 1;
  }
  return all;
}

TEST(ProgBarLogger, IsPlainLinesWhereThereIsNoTerminal) {
  set_seed(1);
  Blobs b(400, 3);
  Model& model = b.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = b.loader(4, true), test = b.loader(50, false);
  std::string out = with_output([&](std::FILE* file) {
    model.fit(train, {.epochs = 2, .eval = &test, .callbacks = {std::make_shared<ProgBarLogger>(1, file)}});
  });
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_EQ(out.find('\033'), std::string::npos);
  std::vector<std::string> all = lines(out);
  ASSERT_EQ(all.size(), 20u) << out;  // nine tenths and the whole, twice
  EXPECT_EQ(all[0].find("epoch 1/2  step 10/100  loss "), 0u) << all[0];
  EXPECT_NE(all[0].find(" samples/s  0:0"), std::string::npos) << all[0];
  EXPECT_EQ(all[9].find("epoch 1/2  step 100/100  loss "), 0u) << all[9];
  EXPECT_NE(all[9].find("  val_acc 0."), std::string::npos) << all[9];
}

TEST(ProgBarLogger, RedrawsOneLineOnATerminal) {
  set_seed(1);
  Blobs b(40, 3);
  Model& model = b.model({});
  data::DataLoader train = b.loader(4, true);
  std::string out = with_output([&](std::FILE* file) {
    model.fit(train, {.epochs = 2, .callbacks = {std::make_shared<ProgBarLogger>(1, file, 1)}});
  });
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2) << out;
  EXPECT_EQ(out.find("\repoch 1/2  step 1/10"), 0u) << out;
  for (const std::string& draw : lines(out, '\r')) EXPECT_LE(draw.size(), 79u + 5);
}

TEST(ProgBarLogger, VerbosityAndEvaluation) {
  set_seed(1);
  Blobs b(40, 3);
  Model& model = b.model({});
  data::DataLoader train = b.loader(4, true);
  EXPECT_EQ(lines(with_output([&](std::FILE* file) {
              model.fit(train, {.epochs = 3, .callbacks = {std::make_shared<ProgBarLogger>(2, file)}});
            })).size(),
            3u);
  std::string out = with_output([&](std::FILE* file) {
    model.evaluate(train, {.verbose = 0, .callbacks = {std::make_shared<ProgBarLogger>(1, file)}});
  });
  EXPECT_EQ(out.find("evaluate  loss "), 0u) << out;
}

TEST(ModelCheckpoint, WritesItsFiles) {
  TemporaryFolder folder;
  set_seed(1);
  Blobs b(64, 3);
  Model& model = b.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = b.loader(16, true);
  auto checkpoint = std::make_shared<ModelCheckpoint>(
      folder.path() + "/deep/er",
      ModelCheckpointOptions{.every_epochs = 2, .every_steps = 3, .keep = 2, .monitor = "acc"});
  model.fit(train, {.epochs = 8, .verbose = 0, .callbacks = {checkpoint}});
  std::set<std::string> names;
  for (auto& f : fs::directory_iterator(folder.path() + "/deep/er")) names.insert(f.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"5.safetensors", "7.safetensors", "last.safetensors", "best.safetensors",
                                          "final.safetensors"}));
  Checkpoint c = load_checkpoint(folder.path() + "/deep/er/7.safetensors");
  EXPECT_EQ(c.part("model").size(), 4u);
  data::DataLoader again = b.loader(16, true);
  auto wrong = std::make_shared<ModelCheckpoint>(folder.path(), ModelCheckpointOptions{.monitor = "val_acc"});
  EXPECT_EQ(error_of([&] { model.fit(again, {.verbose = 0, .callbacks = {wrong}}); }),
            "ModelCheckpoint: there is no value \"val_acc\" to watch; there are loss, acc, lr.");
  EXPECT_NE(error_of([] { ModelCheckpoint("x", {.monitor = "a", .mode = "up"}); }).find("\"up\""), std::string::npos);
  auto nowhere = std::make_shared<ModelCheckpoint>("/proc/nowhere");
  EXPECT_NE(error_of([&] { model.fit(again, {.verbose = 0, .callbacks = {nowhere}}); }).find("can't be made"),
            std::string::npos);
}

TEST(EarlyStopping, StopsWhenNothingGetsBetter) {
  auto epochs_of = [](std::vector<double> values, EarlyStoppingOptions o) {
    Blobs b(4, 3);
    Model model(b.net);
    EarlyStopping stop(o);
    stop.set_model(&model);
    struct Probe : Callback {
      EarlyStopping& stop;
      std::vector<double> values;
      Probe(EarlyStopping& s, std::vector<double> v) : stop(s), values(std::move(v)) {}
      void on_epoch_end(int64_t epoch, const Logs&) override {
        stop.on_epoch_end(epoch, {{stop_name, values[size_t(epoch)]}});
      }
      std::string stop_name;
    };
    auto probe = std::make_shared<Probe>(stop, values);
    probe->stop_name = o.monitor;
    model.prepare(b.optimizer, b.loss);
    data::DataLoader train = b.loader(4, false);
    return model.fit(train, {.epochs = int64_t(values.size()), .verbose = 0, .callbacks = {probe}})["loss"].size();
  };
  EXPECT_EQ(epochs_of({5, 4, 3, 2, 1}, {.monitor = "val_loss"}), 5u);
  EXPECT_EQ(epochs_of({5, 4, 4, 2, 1}, {.monitor = "val_loss"}), 3u);
  EXPECT_EQ(epochs_of({5, 4, 4, 3, 3, 3, 1}, {.monitor = "val_loss", .patience = 1}), 6u);
  EXPECT_EQ(epochs_of({.5, .6, .55, .7}, {.monitor = "val_acc", .patience = 1}), 4u);
  EXPECT_EQ(epochs_of({.5, .6, .55, .7}, {.monitor = "val_acc"}), 3u);
  EXPECT_EQ(epochs_of({5, 4.95, 4}, {.monitor = "x", .min_delta = 0.1}), 2u);
  EXPECT_EQ(epochs_of({5, 6, 7}, {.monitor = "x", .mode = "max"}), 3u);
}

TEST(EarlyStopping, KeepsTheBestWeights) {
  TemporaryFolder folder;
  set_seed(1);
  Blobs b(64, 3);
  Model& model = b.model({});
  data::DataLoader train = b.loader(16, true);
  auto stop = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.monitor = "loss", .patience = 100, .best_path = folder.path() + "/best"});
  History h = model.fit(train, {.epochs = 4, .verbose = 0, .callbacks = {stop}});
  EXPECT_EQ(stop->best(), *std::min_element(h["loss"].begin(), h["loss"].end()));
  EXPECT_EQ(load(folder.path() + "/best").size(), 4u);
}

TEST(CSVLogger, WritesARowAnEpochAndAppends) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/log.csv";
  set_seed(1);
  Blobs b(64, 3);
  Model& model = b.model({std::make_shared<metric::Accuracy>()});
  data::DataLoader train = b.loader(16, true);
  History h = model.fit(train, {.epochs = 2, .verbose = 0, .callbacks = {std::make_shared<CSVLogger>(path)}});
  std::vector<std::string> rows = lines(contents(path));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], "epoch,loss,acc,lr");
  std::vector<std::string> cells = lines(rows[2], ',');
  EXPECT_EQ(cells[0], "1");
  EXPECT_EQ(std::stod(cells[1]), h["loss"][1]);
  model.fit(train, {.epochs = 1, .verbose = 0, .callbacks = {std::make_shared<CSVLogger>(path, true)}});
  EXPECT_EQ(lines(contents(path)).size(), 4u);
  model.fit(train, {.epochs = 1, .verbose = 0, .callbacks = {std::make_shared<CSVLogger>(path)}});
  EXPECT_EQ(lines(contents(path)).size(), 2u);
  auto nowhere = std::make_shared<CSVLogger>("/nonexistent/x.csv");
  EXPECT_NE(error_of([&] { model.fit(train, {.verbose = 0, .callbacks = {nowhere}}); }).find("can't be written"),
            std::string::npos);
}

TEST(LRScheduler, StepsByBatchOrByEpoch) {
  auto steps = [](std::vector<CallbackPtr> callbacks, int64_t accumulate = 1) {
    Blobs b(64, 3);
    auto schedule = std::make_shared<optim::lr::StepDecay>(0.1, 1000);
    b.optimizer = std::make_shared<optim::SGD>(b.net->parameters(), optim::SGDOptions{.learning_rate = schedule});
    data::DataLoader train = b.loader(16, true);
    b.model({}).fit(train, {.epochs = 3, .verbose = 0, .callbacks = callbacks, .accumulate_grad_batches = accumulate});
    return schedule->last_epoch();
  };
  EXPECT_EQ(steps({}), 12);  // one is added
  EXPECT_EQ(steps({}, 2), 6);
  EXPECT_EQ(steps({std::make_shared<LRScheduler>(false, true)}), 3);
  EXPECT_EQ(steps({std::make_shared<LRScheduler>(false, false)}), 0);
  EXPECT_NE(error_of([] { LRScheduler(true, true); }), "");
  Blobs b(64, 3);
  auto plateau = std::make_shared<optim::lr::ReduceOnPlateau>(0.0, "min", 0.5, 0);  // a rate of 0: the loss stays
  b.optimizer = std::make_shared<optim::SGD>(b.net->parameters(), optim::SGDOptions{.learning_rate = plateau});
  data::DataLoader train = b.loader(64, false);
  b.model({}).fit(train, {.epochs = 3, .verbose = 0});
  EXPECT_EQ(plateau->last_epoch(), 3);
}

TEST(Callback, CallsComeInOrderAndErrorsEndTheRun) {
  struct Trace : Callback {
    std::string log;
    bool fail = false;
    void on_train_begin() override { log += "("; }
    void on_train_end(const Logs&) override { log += ")"; }
    void on_train_failed() override { log += "!"; }
    void on_epoch_begin(int64_t e) override { log += "[" + std::to_string(e); }
    void on_epoch_end(int64_t, const Logs& logs) override { log += find(logs, "val_loss") ? "v]" : "]"; }
    void on_train_batch_begin(int64_t s) override { log += "<" + std::to_string(s); }
    void on_train_batch_end(int64_t s, const Logs& logs) override {
      log += find(logs, "loss") ? ">" : "?";
      if (fail && s == 2) throw std::runtime_error("enough");
    }
    void on_eval_begin(int64_t n) override { log += "{" + std::to_string(n); }
    void on_eval_batch_end(int64_t, const Logs&) override { log += "."; }
    void on_eval_end(const Logs&) override { log += "}"; }
  };
  Blobs b(20, 3);
  Model& model = b.model({});
  data::DataLoader train = b.loader(10, false), test = b.loader(8, false);
  auto trace = std::make_shared<Trace>();
  model.fit(train, {.epochs = 2, .eval = &test, .verbose = 0, .callbacks = {trace}});
  EXPECT_EQ(trace->log, "([0<1><2>{3...}v][1<1><2>{3...}v])");
  auto failing = std::make_shared<Trace>();
  failing->fail = true;
  EXPECT_THROW(model.fit(train, {.epochs = 2, .verbose = 0, .callbacks = {failing}}), std::runtime_error);
  EXPECT_EQ(failing->log, "([0<1><2>!");
  struct Stop : Callback {
    void on_train_batch_end(int64_t s, const Logs&) override {
      if (s == 1) model().stop_training();
    }
  };
  auto cut = std::make_shared<Trace>();
  model.fit(train, {.epochs = 2, .verbose = 0, .callbacks = {cut, std::make_shared<Stop>()}});
  EXPECT_EQ(cut->log, "([0<1>)");
}

// RFC 3720, appendix B.4.
TEST(EventFile, Crc32cOfPublishedVectors) {
  EXPECT_EQ(crc32c(std::string(32, 0)), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, char(0xFF))), 0x62A8AB43u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
}

// What tensorboard's own RecordWriter makes of the same event.
TEST(EventFile, BytesAreTensorBoards) {
  TemporaryFolder folder;
  std::string path;
  {
    EventWriter w(folder.path());
    w.add_scalar("train/loss", 300, 0.25, 1234.5);
    w.flush();
    path = w.path();
  }
  EXPECT_NE(path.find("events.out.tfevents."), std::string::npos);
  std::string hex, tail = contents(path);
  ASSERT_GT(tail.size(), 49u);
  EXPECT_NE(tail.find("brain.Event:2"), std::string::npos);
  for (char c : tail.substr(tail.size() - 49)) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", uint8_t(c));
    hex += two;
  }
  EXPECT_EQ(hex, "2100000000000000017becf60900000000004a934010ac022a130a110a0a747261696e2f6c6f7373150000803ef9b422eb");
  EXPECT_NE(error_of([] { EventWriter("/proc/nowhere"); }).find("can't be made"), std::string::npos);
}

TEST(TensorBoard, WritesStepsAndEpochs) {
  TemporaryFolder folder;
  set_seed(1);
  Blobs b(64, 3);
  Model& model = b.model({});
  data::DataLoader train = b.loader(16, true);
  model.fit(train,
            {.epochs = 2, .log_freq = 2, .verbose = 0, .callbacks = {std::make_shared<TensorBoard>(folder.path())}});
  std::string all;
  for (auto& f : fs::directory_iterator(folder.path())) all += contents(f.path());
  auto count = [&](const std::string& tag) {
    int n = 0;
    for (size_t at = all.find(tag); at != std::string::npos; at = all.find(tag, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("train/loss"), 4);
  EXPECT_EQ(count("train/lr"), 4);
  EXPECT_EQ(count("epoch/loss"), 2);
}

}  // namespace
}  // namespace oarlock
