// Exported programs in files: what comes back answers the same, on every device; what is damaged says where.
#include <filesystem>
#include <fstream>

#include "tests/same.h"

namespace oarlock::jit {
namespace {

namespace fs = std::filesystem;

struct ProgramFile : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / "oarlock_program_file";
  std::string stem = (folder / "net").string();
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  static ExportedProgram program(uint64_t seed = 1, int64_t width = 5) {
    set_seed(seed);
    nn::Sequential net(std::make_shared<nn::Conv2D>(3, 4, 3), std::make_shared<nn::BatchNorm2D>(4),
                       std::make_shared<nn::ReLU>(), std::make_shared<nn::Flatten>(),
                       std::make_shared<nn::Linear>(4 * 6 * 6, width));
    return export_layer(net, {{.shape = {"N", 3, 8, 8}, .name = "image"}}, {.name = "net", .output_names = {"scores"}});
  }
  static Tensor answer(const ExportedProgram& p, Device device = Device()) {
    return inference::Predictor(inference::Config(p).set_device(device)).run({{uniform({2, 3, 8, 8}, 9)}})[0];
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string error() const {
    try {
      load(stem);
    } catch (const Error& e) { return e.what(); }
    return "no error";
  }
};

TEST_F(ProgramFile, ComesBackOnEveryDevice) {
  ExportedProgram p = program();
  save(p, stem);
  for (const char* name : {"", ".oarp"}) {
    ExportedProgram q = load(stem + name);
    EXPECT_EQ(q.text(), p.text());
    EXPECT_EQ(q.input_names(), std::vector<std::string>{"image"});
    EXPECT_EQ(q.output_names(), std::vector<std::string>{"scores"});
    for (Device d : {Device(), sim()}) expect_same(answer(q, d), answer(p, d), d.name());
  }
  inference::Predictor from_path{inference::Config(stem + ".oarp")};
  expect_same(from_path.run({{uniform({2, 3, 8, 8}, 9)}})[0], answer(p), "Config(path)");
  save(load(stem), (folder / "again").string());
  EXPECT_EQ(read((folder / "again.oarp").string()), read(stem + ".oarp"));
}

TEST_F(ProgramFile, AProgramWithoutWeightsIsOneFile) {
  save(export_function([](std::span<const Tensor> x) { return std::vector<Tensor>{x[0] * 2.0}; },
                       {{.shape = {"N"}, .name = "x"}}),
       stem);
  fs::remove(stem + ".safetensors");
  expect_same(inference::Predictor(inference::Config(stem)).run({{Tensor::of<float>({1, 2}, {2})}})[0],
              Tensor::of<float>({2, 4}, {2}), "twice");
}

TEST_F(ProgramFile, WeightsOfAnotherSaveAreNoticed) {
  save(program(1), stem);
  std::string first = read(stem + ".oarp");
  save(program(1, 6), stem);
  write(stem + ".oarp", first);
  EXPECT_NE(error().find("were saved with another program"), std::string::npos) << error();
  save(program(2), (folder / "other").string());
  expect_same(answer(load(stem, (folder / "other.safetensors").string())), answer(program(2)), "named weights");
  fs::remove(stem + ".safetensors");
  EXPECT_NE(error().find("net.safetensors"), std::string::npos) << error();
  fs::remove(stem + ".oarp");
  EXPECT_NE(error().find("net.oarp"), std::string::npos) << error();
}

TEST_F(ProgramFile, CutAtEveryLengthIsAnError) {
  save(program(), stem);
  for (const char* part : {".oarp", ".safetensors"}) {
    const std::string path = stem + part, whole = read(path);
    const size_t step = whole.size() > 65536 ? whole.size() / 1000 : 1;
    for (size_t n = 0; n < whole.size(); n += step) {
      write(path, whole.substr(0, n));
      ASSERT_NE(error(), "no error") << part << " cut to " << n << " of " << whole.size();
    }
    write(path, whole);
  }
  EXPECT_EQ(error(), "no error");
}

TEST_F(ProgramFile, AFolderThatIsNotThereIsNamed) {
  try {
    save(program(), (folder / "nowhere" / "net").string());
    FAIL() << "saved into a folder that is not there";
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("nowhere"), std::string::npos) << e.what(); }
}

}  // namespace
}  // namespace oarlock::jit
