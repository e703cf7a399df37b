// Training on the sim device: bit for bit the same over many legal orders, and each of its faults an error that the host
// survives.
#include <gtest/gtest.h>

#include <cstdio>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Outcome {
  std::string text;
  int status = -1;
};
Outcome run_command(const std::string& command_line) {
  std::string command = command_line + " 2>&1";
  Outcome o;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return o;
  char piece[4096];
  while (size_t n = fread(piece, 1, sizeof piece, pipe)) o.text.append(piece, n);
  o.status = pclose(pipe);
  return o;
}
Outcome run(const std::string& environment, const std::string& device, int steps) {
  return run_command(environment + " " OARLOCK_TRAIN_ON " " + device + " " + std::to_string(steps));
}
const std::string kSim = "OARLOCK_BACKENDS=" OARLOCK_TEST_PLUGIN_DIR "/sim";

std::vector<double> losses(const std::string& text) {
  std::vector<double> all;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    if (word == "loss" && in >> word) all.push_back(std::stod(word));
  return all;
}

TEST(SimTraining, IsBitwiseEqualOverSeeds) {
  Outcome first = run(kSim + " OARLOCK_SIM_SEED=0", "sim", 3);
  ASSERT_EQ(first.status, 0) << first.text;
  ASSERT_NE(first.text.find("hash "), std::string::npos) << first.text;
  for (int seed = 1; seed < OARLOCK_SIM_SEEDS; ++seed) {
    Outcome o = run(kSim + " OARLOCK_SIM_DELAY_US=" + std::to_string(seed % 3 * 40) +
                        (seed % 2 ? " OARLOCK_SIM_POOL=host" : "") + " OARLOCK_SIM_SEED=" + std::to_string(seed),
                    "sim", 3);
    ASSERT_EQ(o.text, first.text) << "seed " << seed;
  }
}

TEST(SimTraining, AgreesWithTheReferences) {
  std::vector<double> sim = losses(run(kSim, "sim", 5).text), host = losses(run("OARLOCK_BACKENDS=", "cpu", 5).text);
  ASSERT_EQ(sim.size(), 5u);
  ASSERT_EQ(host.size(), 5u);
  // About 60 sums and products lie between parameters and loss: 4 ulp x sqrt of what each reads, summed generously.
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(sim[i], host[i], 2e-6 * std::abs(host[i])) << i;
  EXPECT_NE(sim[0], sim[4]);
}

// x is 2, 3, ... 61 after each step, so the total is 64 times their sum.
TEST(Streams, KeepOrderOverSeeds) {
  for (int seed = 0; seed < OARLOCK_SIM_SEEDS; ++seed) {
    Outcome o = run_command(kSim + " OARLOCK_SIM_DELAY_US=30" + (seed % 2 ? " OARLOCK_SIM_POOL=host" : "") +
                            " OARLOCK_SIM_SEED=" + std::to_string(seed) + " " OARLOCK_STREAMS " sim");
    ASSERT_EQ(o.text, "sum 120960\n") << "seed " << seed;
  }
  EXPECT_EQ(run_command("OARLOCK_BACKENDS= " OARLOCK_STREAMS " cpu").text, "sum 120960\n");
}

TEST(Fork, TheChildIsToldAndTheParentGoesOn) {
  Outcome o = run_command(kSim + " " OARLOCK_FORK_AFTER " sim");
  EXPECT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("before 4 1.04858e+06"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("this process was forked after the device was opened"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("child on the host 2.09715e+06"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("child ended 0, after 4"), std::string::npos) << o.text;
}

TEST(Layers, ValidationFindsNothingWrongWithHostOrSim) {
  Outcome plain = run(kSim, "sim", 2), checked = run(kSim + " OARLOCK_VALIDATE=1", "sim", 2);
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.text, plain.text);
}

TEST(Layers, ARecordedFailureReplaysWithoutTheApplication) {
  std::string log = testing::TempDir() + "oarlock_failure.log";
  std::string fault = " OARLOCK_SIM_FAULT=fail_at_once:20";
  Outcome o = run(kSim + fault + " OARLOCK_RECORD=" + log, "sim", 2);
  ASSERT_NE(o.text.find("4242"), std::string::npos) << o.text;
  std::string replay = " " OARLOCK_PROGRAM " replay " + log + " " OARLOCK_TEST_PLUGIN_DIR "/sim/liboarlock_sim.so";
  Outcome again = run_command("OARLOCK_BACKENDS=" + fault + replay);  // the fault strikes again: all is as recorded
  EXPECT_EQ(again.status, 0) << again.text;
  Outcome healthy = run_command("OARLOCK_BACKENDS=" + replay);  // a plugin without the fault answers otherwise
  EXPECT_NE(healthy.status, 0) << healthy.text;
  EXPECT_NE(healthy.text.find("kernel_decl.run: returned 0 (ok), recorded was -9"), std::string::npos) << healthy.text;
  remove(log.c_str());
}

TEST(SimTraining, EachFaultIsAnErrorAndTheHostLives) {
  struct {
    const char* fault;
    const char* says;
  } faults[] = {{"fail:20", "sim"},  {"fail_at_once:20", "4242"}, {"hang:20", "not done after 300 ms"},
                {"lose:20", "lost"}, {"oom:15", "memory"},        {"wrong_size:1", "sim"},
                {"fail:1+", "sim"},  {"oom:1+", "memory"}};
  for (auto& f : faults) {
    Outcome o = run(kSim + " OARLOCK_SYNC_TIMEOUT_MS=300 OARLOCK_SIM_FAULT=" + f.fault, "sim", 2);
    EXPECT_EQ(o.status, 0) << f.fault << "\n" << o.text;
    EXPECT_NE(o.text.find("error: "), std::string::npos) << f.fault << "\n" << o.text;
    EXPECT_NE(o.text.find(f.says), std::string::npos) << f.fault << "\n" << o.text;
    EXPECT_NE(o.text.find("alive 6"), std::string::npos) << f.fault << "\n" << o.text;
  }
}

}  // namespace
