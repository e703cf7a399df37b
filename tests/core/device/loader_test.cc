// How the loader answers each plugin of tests/abi: a reason in words, and the process lives.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <fstream>

#include <oarlock/oarlock.h>

namespace oarlock {
namespace {

std::string plugin(const std::string& name) {
  return std::string(OARLOCK_TEST_PLUGIN_DIR) + "/abi/" + name + "/lib" + name + ".so";
}

struct Refusal {
  const char* name;
  const char* says;
};
class Refused : public testing::TestWithParam<Refusal> {};
TEST_P(Refused, WithItsReason) {
  Result<PluginInfo> p = load_plugin(plugin(GetParam().name));
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().text().find(GetParam().says), std::string::npos) << p.status().text();
  EXPECT_NE(p.status().text().find(GetParam().name), std::string::npos) << p.status().text();
}
INSTANTIATE_TEST_SUITE_P(Loader, Refused,
                         testing::Values(Refusal{"liar", "ELF note says ABI 1, oar_plugin_query says 1-3"},
                                         Refusal{"abi_zero", "versions count from 1"},
                                         Refusal{"table_zero", "kernel table has version 0"},
                                         Refusal{"future", "speaks ABI 101, this core speaks 1"},
                                         Refusal{"query_without_answer", "gave no description"},
                                         Refusal{"undefined_symbol", "it can't be opened"},
                                         Refusal{"missing_function", "memory table lacks the required function alloc"},
                                         Refusal{"world_writable", "everyone may write to it"},
                                         Refusal{"foreign_arch", "this process is"}, Refusal{"truncated", "cut short"},
                                         Refusal{"not_elf", "no ELF header"}),
                         [](auto& info) { return std::string(info.param.name); });

TEST(Loader, PathsThatAreNone) {
  EXPECT_NE(load_plugin("relative.so").status().text().find("not an absolute path"), std::string::npos);
  EXPECT_NE(load_plugin("/nowhere/at/all.so").status().text().find("can't be found"), std::string::npos);
  EXPECT_FALSE(load_plugin("").ok());
  EXPECT_FALSE(load_plugin("/usr/lib").ok());
  std::string unended(100, 'x');
  EXPECT_FALSE(load_plugin(std::string_view(unended.data(), 3)).ok());
}

TEST(Loader, AGoodPackServesItsOp) {
  Result<PluginInfo> p = load_plugin(plugin("good_pack"));
  ASSERT_TRUE(p.ok()) << p.status().text();
  EXPECT_EQ(p->kernel_count, 1);
  std::vector<Tensor> in{Tensor::of<float>({0, 1, -2}, {3})};
  bool chosen = false;
  for (const Candidate& c : explain("tanh", in)) chosen |= c.chosen && c.plugin == p->name;
  EXPECT_TRUE(chosen);
  Tensor out = call_op("tanh", in, {}, {.route = Route::kernel, .plugin = p->name})[0];
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(out.data_as<float>()[i], std::tanh(in[0].data_as<float>()[i]), 1e-6);
}

TEST(Loader, OlderAndNewerPluginsWork) {
  for (const char* name : {"older", "newer"}) {
    Result<PluginInfo> p = load_plugin(plugin(name));
    ASSERT_TRUE(p.ok()) << p.status().text();
    Tensor out = call_op("tanh", std::vector<Tensor>{Tensor::of<float>({0.5f}, {1})}, {},
                         {.route = Route::kernel, .plugin = p->name})[0];
    EXPECT_NEAR(out.item(), std::tanh(0.5), 1e-6) << name;
  }
}

TEST(Loader, AFailureInALaunchKeepsTextAndCode) {
  Result<PluginInfo> p = load_plugin(plugin("fails_in_launch"));
  ASSERT_TRUE(p.ok()) << p.status().text();
  try {
    call_op("tanh", std::vector<Tensor>{Tensor::of<float>({0.5f, 1}, {2})}, {},
            {.route = Route::kernel, .plugin = p->name});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("tanh on cpu: " + p->name), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("77"), std::string::npos) << e.what();
  }
  // The process and the other routes live.
  EXPECT_NEAR(
      call_op("tanh", std::vector<Tensor>{Tensor::of<float>({0.5f}, {1})}, {}, {.route = Route::reference})[0].item(),
      std::tanh(0.5), 1e-6);
}

TEST(Loader, ExceptionsOfAKitPluginBecomeErrors) {
  Result<PluginInfo> p = load_plugin(plugin("throws"));
  ASSERT_TRUE(p.ok()) << p.status().text();
  auto error_of = [&](float x) {
    try {
      call_op("tanh", std::vector<Tensor>{Tensor::of<float>({x}, {1})}, {},
              {.route = Route::kernel, .plugin = p->name});
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string("no error");
  };
  EXPECT_EQ(error_of(0.5f), "no error");
  EXPECT_NE(error_of(-1).find("minus one at 0 (its code 31)"), std::string::npos) << error_of(-1);
  EXPECT_NE(error_of(-2).find("minus two"), std::string::npos) << error_of(-2);
  EXPECT_NE(error_of(-3), "no error");
  EXPECT_NE(error_of(-4), "no error");
}

TEST(Loader, WarnsOfAMissingNoteAndOfTooManySymbols) {
  Result<PluginInfo> p = load_plugin(plugin("no_note"));
  ASSERT_TRUE(p.ok()) << p.status().text();
  ASSERT_FALSE(p->warnings.empty());
  EXPECT_NE(p->warnings[0].find("ELF note"), std::string::npos);
  p = load_plugin(plugin("exports_too_much"));
  ASSERT_TRUE(p.ok()) << p.status().text();
  ASSERT_FALSE(p->warnings.empty());
  EXPECT_NE(p->warnings[0].find("oar_extra_number"), std::string::npos) << p->warnings[0];
  EXPECT_NE(p->warnings[0].find("oar_extra_function"), std::string::npos) << p->warnings[0];
}

TEST(Loader, ASecondCopyIsRefused) {
  ASSERT_TRUE(load_plugin(plugin("good_pack")).ok());
  std::string copy = testing::TempDir() + "second_good_pack.so";
  std::filesystem::copy_file(plugin("good_pack"), copy, std::filesystem::copy_options::overwrite_existing);
  chmod(copy.c_str(), 0755);
  Result<PluginInfo> p = load_plugin(copy);
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().text().find("is loaded already, from"), std::string::npos) << p.status().text();
  unlink(copy.c_str());
}

TEST(Loader, AManifestThatDisagreesIsAReason) {
  std::string copy = testing::TempDir() + "with_manifest.so", manifest = testing::TempDir() + "with_manifest.json";
  std::filesystem::copy_file(plugin("query_without_answer"), copy, std::filesystem::copy_options::overwrite_existing);
  chmod(copy.c_str(), 0755);
  auto reason = [&](const std::string& text) {
    std::ofstream(manifest) << text;
    return std::string(load_plugin(copy).status().text());
  };
  EXPECT_NE(reason("not json").find("is not a JSON object"), std::string::npos);
  EXPECT_NE(reason("{\"abi\": [2, 3]}").find("says ABI 2-3, the file says 1"), std::string::npos);
  EXPECT_NE(reason("{\"abi\": 7}").find("[lowest, highest]"), std::string::npos);
  EXPECT_NE(reason("{\"depends\": [\"libnobodyhas.so.9\"]}").find("libnobodyhas.so.9"), std::string::npos);
  EXPECT_NE(reason("{\"depends\": 3}").find("has to be an array"), std::string::npos);
  EXPECT_NE(reason("{\"architecture\": \"s390x\"}").find("says architecture s390x, the file is built for"),
            std::string::npos);
  EXPECT_NE(reason("{\"sha256\": \"00ff\"}").find("says sha256 00ff, the file has "), std::string::npos);

  // The digest by another program; one changed byte is noticed.
  auto digest = [&] {
    std::unique_ptr<FILE, int (*)(FILE*)> tool(popen(("sha256sum " + copy).c_str(), "r"), pclose);
    char hex[65] = {};
    return tool && fread(hex, 1, 64, tool.get()) == 64 ? std::string(hex) : std::string();
  };
  std::string right = digest();
  ASSERT_EQ(right.size(), 64u);
  std::string all = "{\"abi\": [1, 1], \"depends\": [\"libc.so.6\"], \"sha256\": \"" + right + "\"}";
  EXPECT_NE(reason(all).find("gave no description"), std::string::npos) << reason(all);  // so the manifest was no bar
  std::ofstream(copy, std::ios::app) << 'x';
  EXPECT_NE(reason(all).find("it was changed or damaged"), std::string::npos);
  unlink(copy.c_str());
  unlink(manifest.c_str());
}

TEST(Probe, CrashesAndHangsAreReasons) {
  PluginInfo crash = probe_plugin(plugin("crash_on_load"));
  EXPECT_EQ(crash.state, PluginState::failed);
  EXPECT_NE(crash.reason.find("it crashed"), std::string::npos) << crash.reason;
  EXPECT_NE(probe_plugin(plugin("crash_in_query")).reason.find("it crashed"), std::string::npos);
  EXPECT_NE(probe_plugin(plugin("hangs_in_open"), 300).reason.find("within 300 ms"), std::string::npos);
  EXPECT_EQ(probe_plugin(plugin("wrong_answer")).state, PluginState::loaded);
  EXPECT_EQ(probe_plugin(plugin("future")).state, PluginState::refused);
}

TEST(Search, NeverTheWorkingDirectoryNorRelativePaths) {
  for (const SearchFolder& f : plugin_search_path()) EXPECT_EQ(f.path[0], '/');
  ASSERT_TRUE(set_setting("backends", "relative:/absolute").ok());
  auto path = plugin_search_path();
  ASSERT_EQ(path.size(), 2u);
  EXPECT_NE(path[0].note.find("not an absolute path"), std::string::npos);
  EXPECT_EQ(path[1].path, "/absolute");
  ASSERT_TRUE(set_setting("backends", "").ok());
  EXPECT_TRUE(plugin_search_path().empty());
}

}  // namespace
}  // namespace oarlock
