// The profile is Chrome trace-event JSON that a strict reader takes.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include <oarlock/oarlock.h>

namespace oarlock {
namespace {

TEST(Profile, IsChromeTraceJson) {
  std::string path = testing::TempDir() + "oarlock_profile.json";
  Tensor x = full({64, 64}, 1).set_requires_grad();
  profile_start();
  sum(matmul(x, x)).backward();
  ASSERT_TRUE(profile_stop(path).ok());
  subtract(x, x);  // after the stop: not in the file

  nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::set<std::string> names;
  for (const auto& e : trace["traceEvents"]) {
    EXPECT_EQ(e["ph"], "X");
    EXPECT_GE(e["dur"].get<double>(), 0);
    EXPECT_GT(e["ts"].get<double>(), 0);
    EXPECT_TRUE(e["tid"].is_number_integer());
    names.insert(e["cat"].get<std::string>() + ":" + e["name"].get<std::string>());
  }
  EXPECT_TRUE(names.count("reference:matmul")) << trace.dump();
  EXPECT_TRUE(names.count("gradient:matmul"));
  EXPECT_TRUE(names.count("gradient:sum"));
  EXPECT_FALSE(names.count("reference:subtract"));
  remove(path.c_str());
}

TEST(Profile, AFileThatCannotBeWrittenIsAnError) {
  profile_start();
  EXPECT_NE(profile_stop("/nowhere/at/all.json").text().find("/nowhere/at/all.json"), std::string::npos);
}

TEST(Placement, CountsTimeWhileItsSettingIsOn) {
  Tensor x = full({256, 256}, 1);
  reset_placement();
  ASSERT_TRUE(set_setting("placement", "1").ok());
  exp(x);
  uint64_t timed = 0, untimed = 0;
  for (const PlacementRow& r : placement())
    if (r.op == "exp") timed += r.host_ns;
  ASSERT_TRUE(set_setting("placement", "0").ok());
  reset_placement();
  exp(x);
  for (const PlacementRow& r : placement())
    if (r.op == "exp") untimed += r.host_ns;
  EXPECT_GT(timed, 0u);
  EXPECT_EQ(untimed, 0u);
}

}  // namespace
}  // namespace oarlock
