// The residual network of examples/02_train_cnn on real images: the same bits from run to run, over many legal orders of
// the sim device, and as the references compute it; and within rounding of that with plugins and on other devices.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace {

const std::string kSim = "OARLOCK_BACKENDS=" OARLOCK_TEST_PLUGIN_DIR "/sim";

struct Steps {
  std::vector<double> losses;
  std::string weights;  // a hash of their bits
};
std::string run(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char piece[4096];
  while (size_t n = pipe ? fread(piece, 1, sizeof piece, pipe) : 0) text.append(piece, n);
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0) << text;
  return text;
}
Steps train(const std::string& environment, const std::string& device) {
  std::string text = run(environment + " " OARLOCK_TRAIN_CNN " --steps 2 --batch 4 --device " + device);
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

// The same weights on every device: their answers for 64 test images differ by rounding alone.
TEST(DemoNetwork, AnswersAlikeOnEveryDevice) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("demo_network." + std::to_string(getpid()));
  const std::string out = folder.string(), plugins = "OARLOCK_BACKENDS=" OARLOCK_BACKENDS_DIR;
  run(plugins + " " OARLOCK_TRAIN_CNN " --steps 20 --out " + out);
  auto logits = [&](const std::string& environment, const std::string& device) {
    run(environment + " " OARLOCK_TRAIN_CNN " --check " + out +
        "/weights.safetensors --batches 1 --batch 64 --device " + device + " --out " + out);
    std::ifstream file(out + "/logits.npy", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<float> values(64 * 10);
    EXPECT_GT(bytes.size(), values.size() * sizeof(float)) << device;
    std::memcpy(values.data(), bytes.data() + bytes.size() - values.size() * sizeof(float),
                values.size() * sizeof(float));
    return values;
  };
  const std::vector<float> want = logits("OARLOCK_BACKENDS=", "cpu");
  float largest = 0;
  for (float v : want) largest = std::max(largest, std::abs(v));
  ASSERT_GT(largest, 0.1f);
  // Ten layers of sums of at most 576 products, each within 4 eps sqrt(576) of its largest value.
  const float bound = 10 * 4 * std::numeric_limits<float>::epsilon() * 24 * largest;
  std::vector<std::pair<std::string, std::string>> places = {{plugins, "cpu"}, {kSim, "sim"}};
  if (run(plugins + " " OARLOCK_PROGRAM " devices").find("opencl:0") != std::string::npos)
    places.emplace_back(plugins, "opencl");
  for (const auto& [environment, device] : places) {
    const std::vector<float> got = logits(environment, device);
    float most = 0;
    for (size_t i = 0; i < want.size(); ++i) most = std::max(most, std::abs(got[i] - want[i]));
    EXPECT_LE(most, bound) << environment << " " << device;
    std::printf("%s: off by at most %.2g of the bound\n", device.c_str(), double(most / bound));
  }
  std::filesystem::remove_all(folder);
}

TEST(DemoNetwork, TrainsOnOpencl) {
  const std::string plugins = "OARLOCK_BACKENDS=" OARLOCK_BACKENDS_DIR;
  if (run(plugins + " " OARLOCK_PROGRAM " devices").find("opencl:0") == std::string::npos)
    GTEST_SKIP() << "no OpenCL device here";
  Steps host = train("OARLOCK_BACKENDS=", "cpu"), opencl = train(plugins, "opencl"), again = train(plugins, "opencl");
  EXPECT_EQ(opencl.weights, again.weights) << "two runs give the same bits";
  EXPECT_NEAR(opencl.losses[0], host.losses[0], 1e-5 * host.losses[0]);
  EXPECT_NEAR(opencl.losses[1], host.losses[1], 1e-3 * host.losses[1]);
}

}  // namespace
