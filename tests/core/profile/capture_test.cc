// The settings that oarlock bisect and oarlock advise run a program with.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include <oarlock/base/op.h>
#include <oarlock/base/ops.h>
#include <oarlock/base/plugin.h>
#include <oarlock/base/settings.h>

namespace oarlock {
namespace {

TEST(Capture, HoldsKernelCallsWithOperandsAndResults) {
  std::string plugin = std::string(OARLOCK_TEST_PLUGIN_DIR) + "/abi/good_pack/libgood_pack.so";
  ASSERT_TRUE(load_plugin(plugin).ok());
  std::string path = testing::TempDir() + "oarlock_capture";
  std::remove(path.c_str());
  ASSERT_TRUE(set_setting("capture", path).ok());
  ASSERT_TRUE(set_setting("capture_calls", "2").ok());
  Tensor x = Tensor::of<float>({0, 0.5f, -1}, {3});
  CallOptions mine;  // other tests may have loaded others
  mine.route = Route::kernel;
  mine.plugin = "good_pack";
  for (int i = 0; i < 5; ++i) call_op("tanh", std::span(&x, 1), {}, mine);
  tanh(cast(x, DType::f64));  // by the reference: no kernel call
  ASSERT_TRUE(set_setting("capture", "").ok());
  call_op("tanh", std::span(&x, 1), {}, mine);

  std::ifstream file(path, std::ios::binary);
  int calls = 0;
  for (std::string line; std::getline(file, line); ++calls) {
    nlohmann::json j = nlohmann::json::parse(line);
    EXPECT_EQ(j["op"], "tanh");
    EXPECT_EQ(j["plugin"], "good_pack");
    EXPECT_EQ(j["path"], plugin);
    EXPECT_EQ(j["route"], "kernel");
    EXPECT_EQ(j["device"], "cpu");
    ASSERT_EQ(j["operands"].size(), 1u);
    EXPECT_EQ(j["operands"][0]["shape"], nlohmann::json::array({3}));
    float values[6];
    ASSERT_TRUE(file.read(reinterpret_cast<char*>(values), sizeof values));
    EXPECT_EQ(values[1], 0.5f);
    EXPECT_NEAR(values[4], 0.46211716, 1e-6);  // tanh(1/2)
    EXPECT_NEAR(values[5], -0.76159416, 1e-6);
  }
  EXPECT_EQ(calls, 2);
  ASSERT_TRUE(set_setting("capture_calls", "4").ok());
}

TEST(Capture, AFileThatCannotBeWrittenStopsNoCall) {
  ASSERT_TRUE(set_setting("capture", "/nowhere/at/all").ok());
  EXPECT_NEAR(tanh(Tensor::of<float>({0.5f}, {1})).item(), 0.46211716, 1e-6);
  ASSERT_TRUE(set_setting("capture", "").ok());
}

}  // namespace
}  // namespace oarlock
