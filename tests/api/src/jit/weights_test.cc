// Weights of exported programs in files: the same answers, and nothing that isn't the program's.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <oarlock/oarlock.h>

namespace oarlock::jit {
namespace {

struct ExportedWeights : testing::Test {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "oarlock_exported_weights";
  std::string path = (folder / "w.safetensors").string();
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  // Weights that differ by seed.
  static ExportedProgram program(uint64_t seed, int64_t out = 3) {
    set_seed(seed);
    nn::Linear net(2, out);
    return export_layer(net, {{.shape = {"N", 2}, .name = "x"}}, {.name = "net"});
  }
  static std::vector<float> answer(const ExportedProgram& p) {
    Tensor y = inference::Predictor(inference::Config(p)).run({{Tensor::of<float>({1, 2}, {1, 2})}})[0];
    std::vector<float> out(size_t(y.element_count()));
    y.copy_to_host(out.data());
    return out;
  }
  std::string error(const ExportedProgram& p) const {
    try {
      p.with_weights(path);
    } catch (const Error& e) { return e.what(); }
    return "no error";
  }
};

TEST_F(ExportedWeights, ComeBack) {
  ExportedProgram a = program(1), b = program(2);
  ASSERT_NE(answer(a), answer(b));
  a.save_weights(path);
  EXPECT_EQ(answer(b.with_weights(path)), answer(a));
  EXPECT_EQ(oarlock::load(path).size(), 2u);
}

TEST_F(ExportedWeights, EveryDisagreementIsNamed) {
  ExportedProgram p = program(1);
  program(1, 4).save_weights(path);
  EXPECT_NE(error(p).find("weight is f32[4, 2] there, f32[3, 2] in the program"), std::string::npos) << error(p);
  EXPECT_NE(error(p).find("bias is f32[4] there, f32[3] in the program"), std::string::npos) << error(p);
  NamedTensors weights = p.parameters();
  oarlock::save(path, {{"weight", find(weights, "weight")}, {"scale", find(weights, "bias")}});
  EXPECT_NE(error(p).find("it has no bias (f32[3])"), std::string::npos) << error(p);
  EXPECT_NE(error(p).find("its scale (f32[3]) is not in the program"), std::string::npos) << error(p);
  oarlock::save(path, {{"weight", find(weights, "weight")}, {"bias", Tensor::of<int32_t>({1, 2, 3}, {3})}});
  EXPECT_NE(error(p).find("bias is i32[3] there, f32[3] in the program"), std::string::npos) << error(p);
}

TEST_F(ExportedWeights, CutAnywhereIsAnError) {
  ExportedProgram p = program(1);
  p.save_weights(path);
  auto size = std::filesystem::file_size(path);
  std::ifstream in(path, std::ios::binary);
  std::string whole(size_t(size), '\0');
  in.read(whole.data(), std::streamsize(size));
  for (size_t n = 0; n < whole.size(); ++n) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, n);
    EXPECT_NE(error(p), "no error") << n << " of " << whole.size();
  }
  std::filesystem::remove(path);
  EXPECT_NE(error(p).find(path), std::string::npos);
}

}  // namespace
}  // namespace oarlock::jit
