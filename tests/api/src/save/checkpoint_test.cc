#include <oarlock/nn/containers.h>
#include <oarlock/nn/linear.h>
#include <oarlock/optim.h>
#include <oarlock/random.h>
#include <oarlock/save.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "api/near.h"

namespace oarlock {
namespace {

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/oarlock_checkpoint_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
};

// A run whose every step depends on weights, optimiser, schedule and random state.
struct Training {
  nn::Sequential net{std::make_shared<nn::Linear>(4, 8), std::make_shared<nn::Dropout>(0.3),
                     std::make_shared<nn::Linear>(8, 3)};
  std::shared_ptr<optim::lr::CosineAnnealingDecay> schedule =
      std::make_shared<optim::lr::CosineAnnealingDecay>(0.1, 10);
  optim::AdamW opt{net.parameters(), {.learning_rate = schedule, .weight_decay = 0.01}};

  double step() {
    Tensor x = random_uniform(default_generator().next(), {6, 4});
    Tensor y = cast(random_uniform(default_generator().next(), {6}) * 3.0, DType::i64);
    Tensor loss = mean(cross_entropy(net(x), y));
    loss.backward();
    opt.step();
    opt.clear_grad();
    schedule->step();
    return loss.item();
  }
  Checkpoint checkpoint() const {
    return {{{"model", net.state_dict()}, {"optimizer", opt.state_dict()}, {"empty", {}}}, {{"epoch", "4"}}};
  }
};

TEST(Checkpoints, ResumeIsBitForBit) {
  Folder folder;
  set_seed(21);
  Training whole;
  for (int i = 0; i < 4; ++i) whole.step();
  save_checkpoint(folder / "c", whole.checkpoint());
  std::vector<double> want;
  for (int i = 0; i < 5; ++i) want.push_back(whole.step());

  set_seed(99);
  Training again;
  again.step();
  Checkpoint c = load_checkpoint(folder / "c");
  EXPECT_EQ(c.metadata, (Metadata{{"epoch", "4"}}));
  EXPECT_TRUE(c.part("empty").empty());
  again.net.set_state_dict(c.part("model"));
  again.opt.set_state_dict(c.part("optimizer"));
  EXPECT_EQ(again.schedule->last_epoch(), 4);
  std::vector<double> got;
  for (int i = 0; i < 5; ++i) got.push_back(again.step());
  EXPECT_EQ(got, want);
  auto a = whole.net.state_dict(), b = again.net.state_dict();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(values(a[i].second), values(b[i].second)) << a[i].first;
}
TEST(Checkpoints, WrongOnesAreRefused) {
  Folder folder;
  Tensor t = full({1}, 0);
  EXPECT_ERROR(save_checkpoint(folder / "c", {{{"a/b", {}}}, {}}), "has no '/'");
  EXPECT_ERROR(save_checkpoint(folder / "c", {{{"a", {}}, {"a", {}}}, {}}), "\"a\" is there twice");
  EXPECT_ERROR(save_checkpoint(folder / "c", {{}, {{"oarlock.parts", "x"}}}), "kept for the library");
  save(folder / "plain", {{"a", t}});
  EXPECT_ERROR(load_checkpoint(folder / "plain"), "save_checkpoint did not write it");
  Metadata m{{"oarlock.checkpoint", "1"}, {"oarlock.parts", "a"}, {"oarlock.random", "1 2"}};
  auto with = [&](const char* key, const char* value, const std::string& name) {
    Metadata changed = m;
    changed[key] = value;
    save(folder / "x", {{name, t}}, changed);
    RandomState before = default_generator().state();
    std::string text = error_of([&] { load_checkpoint(folder / "x"); });
    if (text != "no error") { EXPECT_EQ(default_generator().state(), before); }
    return text;
  };
  EXPECT_EQ(with("oarlock.parts", "a", "a/w"), "no error");
  EXPECT_EQ(default_generator().state(), (RandomState{1, 2}));
  EXPECT_NE(with("oarlock.checkpoint", "2", "a/w").find("its format is \"2\""), std::string::npos);
  EXPECT_NE(with("oarlock.parts", "b", "a/w").find("belongs to no part"), std::string::npos);
  EXPECT_NE(with("oarlock.parts", "a", "w").find("belongs to no part"), std::string::npos);
  for (const char* random : {"", "1", "1 ", "a b", "1 2 3", "-1 2", "99999999999999999999 1"})
    EXPECT_NE(with("oarlock.random", random, "a/w").find("random state is unreadable"), std::string::npos) << random;
  EXPECT_ERROR(Checkpoint{}.part("model"), "no part \"model\"");
}

// Children that save over and over are killed at random moments; the file always is one of those that were saved whole.
// A child tells of each save that has returned; the parent lets some pass, so that most rounds move the file on
// however slow the machine is.
TEST(Checkpoints, AKillLeavesTheOldOrTheNewOne) {
  Folder folder;
  std::string path = folder / "c";
  auto state_of = [](int v) {
    return Checkpoint{{{"model", {{"a", full({3000}, v)}, {"b", full({500}, -v, DType::f64)}}}},
                      {{"v", std::to_string(v)}}};
  };
  save_checkpoint(path, state_of(0));
  int last = 0;
  for (int round = 0; round < 100; ++round) {
    int saved[2];
    ASSERT_EQ(pipe(saved), 0);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int v = last + 1;; ++v) {
        if (write(saved[1], "s", 1) != 1) _exit(1);
        save_checkpoint(path, state_of(v));
      }
    }
    close(saved[1]);
    int returned = round % 3;  // the first byte comes before the first save
    for (int i = 0; i <= returned; ++i) {
      char byte;
      ASSERT_EQ(read(saved[0], &byte, 1), 1);
    }
    usleep(useconds_t((round * 7919) % 9000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(saved[0]);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself";
    Checkpoint c = load_checkpoint(path);
    int v = std::stoi(c.metadata.at("v"));
    ASSERT_GE(v, last + returned);
    last = v;
    for (double x : values(find(c.part("model"), "a"))) ASSERT_EQ(x, v);
    for (double x : values(find(c.part("model"), "b"))) ASSERT_EQ(x, -v);
  }
}

}  // namespace
}  // namespace oarlock
