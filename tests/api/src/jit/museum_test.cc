// Programs that earlier builds saved: each still reads, and answers as it did (tests/museum).
#include <filesystem>

#include "tests/api/near.h"
#include "tests/same.h"

namespace oarlock::jit {
namespace {

namespace fs = std::filesystem;

TEST(Museum, EveryExhibitAnswersAsItDid) {
  int exhibits = 0;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(OARLOCK_SOURCE_DIR "/tests/museum")) {
    if (e.path().extension() != ".oarp") continue;
    ++exhibits;
    const std::string stem = e.path().string().substr(0, e.path().string().size() - 5);
    NamedTensors answers = oarlock::load(stem + ".answers.safetensors");
    std::vector<Tensor> in;
    ExportedProgram p = load(stem);
    for (size_t i = 0; i < p.input_names().size(); ++i) in.push_back(find(answers, "in" + std::to_string(i)));
    for (Device device : {Device(), sim()}) {
      std::vector<Tensor> out = inference::Predictor(inference::Config(p).set_device(device)).run(in);
      ASSERT_EQ(out.size(), p.output_names().size()) << stem;
      for (size_t i = 0; i < out.size(); ++i) {
        SCOPED_TRACE(stem + " on " + device.name() + ", output " + std::to_string(i));
        const Tensor want = find(answers, "out" + std::to_string(i));
        ASSERT_EQ(out[i].dtype(), want.dtype());
        ASSERT_EQ(to_string(out[i].shape()), to_string(want.shape()));
        expect_near(out[i].to(Device()), values(want), 1e-5);
      }
    }
  }
  EXPECT_GE(exhibits, 4);
}

}  // namespace
}  // namespace oarlock::jit
