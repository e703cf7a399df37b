#include <gtest/gtest.h>

#include <oarlock/base/settings.h>

namespace oarlock {
namespace {

SettingInfo find(const char* name) {
  for (auto& s : settings())
    if (s.name == name) return s;
  ADD_FAILURE() << "no setting " << name;
  return {};
}

TEST(Settings, EachIsListedWithTypeVariableAndDefault) {
  SettingInfo s = find("kernel_cache");
  EXPECT_EQ(s.type, "integer");
  EXPECT_EQ(s.environment, "OARLOCK_KERNEL_CACHE");
  EXPECT_EQ(s.default_text, "1024");
  EXPECT_FALSE(s.about.empty());
}

TEST(Settings, AValueOfTheWrongTypeIsAnErrorThatNamesBoth) {
  Status s = set_setting("kernel_cache", "many");
  EXPECT_EQ(s.text(), "setting kernel_cache: \"many\" is not a whole number from 0 up. It stays at 1024.");
  EXPECT_EQ(set_setting("trace", "2").text(), "setting trace: \"2\" is not 0 or 1. It stays at 0.");
  EXPECT_EQ(set_setting("cache_limit", "-1").code(), Code::invalid_argument);
  EXPECT_EQ(set_setting("cache_limit", "99999999999999999999999").code(), Code::invalid_argument);
}

TEST(Settings, AnUnknownNameListsTheKnownOnes) {
  Status s = set_setting("colour", "blue");
  EXPECT_NE(s.text().find("colour"), s.text().npos);
  EXPECT_NE(s.text().find("kernel_cache"), s.text().npos);
}

TEST(Settings, WhatTheProgramSetsIsReadBack) {
  ASSERT_TRUE(set_setting("warn_reference_us", "250").ok());
  EXPECT_EQ(find("warn_reference_us").value_text, "250");
  EXPECT_EQ(find("warn_reference_us").origin, "program");
  ASSERT_TRUE(set_setting("warn_reference_us", "1000").ok());
}

TEST(Settings, FlagsTakeWordsToo) {
  ASSERT_TRUE(set_setting("placement", "on").ok());
  EXPECT_EQ(find("placement").value_text, "1");
  ASSERT_TRUE(set_setting("placement", "off").ok());
  EXPECT_EQ(find("placement").value_text, "0");
  EXPECT_EQ(find("across_devices").type, "choice off|warn|allow");
  EXPECT_EQ(find("across_devices").default_text, "off");
  ASSERT_TRUE(set_setting("across_devices", "warn").ok());
  EXPECT_EQ(find("across_devices").value_text, "warn");
  for (const char* wrong : {"sometimes", "", "of", "offf", "off|warn"}) {
    Status s = set_setting("across_devices", wrong);
    EXPECT_NE(std::string(s.text()).find("is not off|warn|allow. It stays at warn."), std::string::npos) << s.text();
  }
  ASSERT_TRUE(set_setting("across_devices", "off").ok());
}

}  // namespace
}  // namespace oarlock
