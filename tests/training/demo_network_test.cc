// The residual network of examples/02_train_cnn on real images: the same bits from run to run, over many legal orders of
// the sim device, and as the references compute it; and within rounding of that with plugins.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

const std::string kSim = "OARLOCK_BACKENDS=" OARLOCK_TEST_PLUGIN_DIR "/sim";

struct Steps {
  std::vector<double> losses;
  std::string weights;  // a hash of their bits
};
Steps train(const std::string& environment, const std::string& device) {
  std::string command = environment + " " OARLOCK_TRAIN_CNN " --steps 2 --batch 4 --device " + device + " 2>&1", text;
  std::FILE* pipe = popen(command.c_str(), "r");
  char piece[4096];
  while (size_t n = pipe ? fread(piece, 1, sizeof piece, pipe) : 0) text.append(piece, n);
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0) << text;
  Steps s;
  for (size_t at = 0; (at = text.find("loss ", at)) != text.npos; ++at) s.losses.push_back(std::atof(&text[at + 5]));
  if (size_t at = text.find("weights "); at != text.npos) s.weights = text.substr(at + 8, 16);
  EXPECT_EQ(s.losses.size(), 2u) << text;
  EXPECT_EQ(s.weights.size(), 16u) << text;
  return s;
}
int seeds() {
  const char* given = std::getenv("OARLOCK_SEEDS");
  return given ? std::atoi(given) : 3;
}

TEST(DemoNetwork, TrainsOnSimToTheSameBitsAsTheReferences) {
  Steps host = train("OARLOCK_BACKENDS=", "cpu");
  for (int seed = 0; seed < seeds(); ++seed) {
    Steps sim = train(kSim + " OARLOCK_SIM_DELAY_US=" + std::to_string(seed % 3 * 20) +
                          (seed % 2 ? " OARLOCK_SIM_POOL=host" : "") + " OARLOCK_SIM_SEED=" + std::to_string(seed),
                      "sim");
    ASSERT_EQ(sim.weights, host.weights) << "seed " << seed;
  }
}

TEST(DemoNetwork, PluginsRepeatTheirBitsAndStayNearTheReferences) {
  const std::string plugins = "OARLOCK_BACKENDS=" OARLOCK_BACKENDS_DIR;
  Steps host = train("OARLOCK_BACKENDS=", "cpu"), first = train(plugins, "cpu"), again = train(plugins, "cpu");
  EXPECT_EQ(first.weights, again.weights);
  // Ten layers of sums of at most 576 products each way; the second loss follows a step with all of their errors.
  EXPECT_NEAR(first.losses[0], host.losses[0], 1e-5 * host.losses[0]);
  EXPECT_NEAR(first.losses[1], host.losses[1], 1e-3 * host.losses[1]);
}

}  // namespace
