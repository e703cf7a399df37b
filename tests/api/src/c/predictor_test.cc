// Predictors from C: right answers, and what they answer to nonsense.
#include <filesystem>
#include <thread>

#include <oarlock/app.h>

#include "tests/same.h"

namespace oarlock {
namespace {

namespace fs = std::filesystem;

struct CPredictor : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / "oarlock_c_predictor";
  std::string path = (folder / "net.oarp").string();
  oar_predictor_t* p = nullptr;
  void SetUp() override {
    fs::create_directories(folder);
    jit::save(
        jit::export_function(
            [](std::span<const Tensor> x) {
              return std::vector<Tensor>{x[0] + x[1], x[0] * x[1]};
            },
            {{.shape = {"N", 3}, .name = "a"}, {.shape = {"N", 3}, .name = "b"}}, {.output_names = {"sum", "product"}}),
        path);
    ASSERT_EQ(oar_predictor_create(oar_text(path.c_str()), nullptr, &p), OAR_OK) << oar_error_text();
  }
  void TearDown() override {
    EXPECT_EQ(oar_predictor_release(p), OAR_OK) << oar_error_text();
    fs::remove_all(folder);
  }
  static oar_tensor_t* tensor(std::vector<float> values) {
    int64_t shape[] = {int64_t(values.size()) / 3, 3};
    oar_tensor_t* t = nullptr;
    EXPECT_EQ(oar_tensor_create(OAR_DTYPE_F32, 2, shape, values.data(), 0, &t), OAR_OK);
    return t;
  }
  static void expect_error(oar_status_t status, const char* part) {
    EXPECT_NE(status, OAR_OK) << part;
    EXPECT_NE(std::string(oar_error_text()).find(part), std::string::npos) << oar_error_text();
  }
};

TEST_F(CPredictor, RunsFromManyThreads) {
  size_t inputs = 0, outputs = 0;
  ASSERT_EQ(oar_predictor_count(p, &inputs, &outputs), OAR_OK);
  EXPECT_EQ(inputs, 2u);
  EXPECT_EQ(outputs, 2u);
  char name[16];
  ASSERT_EQ(oar_predictor_input_name(p, 1, name, sizeof name, nullptr), OAR_OK);
  EXPECT_STREQ(name, "b");
  size_t length = 0;
  ASSERT_EQ(oar_predictor_output_name(p, 1, name, 4, &length), OAR_OK);
  EXPECT_STREQ(name, "pro");
  EXPECT_EQ(length, 7u);
  int32_t ranks[] = {2, 2};
  int64_t sizes[] = {1, 3, 1, 3};
  ASSERT_EQ(oar_predictor_warm_up(p, ranks, 2, sizes), OAR_OK) << oar_error_text();
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([this, t] {
      for (int run = 0; run < 50; ++run) {
        std::vector<float> values(size_t(t) * 3, float(run)), got(values.size());
        oar_tensor_t *in[] = {tensor(values), tensor(values)}, *out[2] = {};
        ASSERT_EQ(oar_predictor_run(p, in, 2, out, 2), OAR_OK) << oar_error_text();
        ASSERT_EQ(oar_tensor_read(out[1], got.data(), got.size() * 4), OAR_OK);
        for (float v : got) EXPECT_EQ(v, float(run * run));
        for (oar_tensor_t* x : {in[0], in[1], out[0], out[1]}) EXPECT_EQ(oar_tensor_release(x), OAR_OK);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST_F(CPredictor, NonsenseIsAnError) {
  oar_tensor_t *a = tensor({1, 2, 3}), *out[2] = {}, *in[] = {a, a}, *half[] = {a, nullptr};
  expect_error(oar_predictor_run(nullptr, in, 2, out, 2), "the predictor is NULL");
  expect_error(oar_predictor_run(reinterpret_cast<oar_predictor_t*>(a), in, 2, out, 2), "not alive");
  expect_error(oar_predictor_run(p, in, 1, out, 2), "takes 2 inputs");
  expect_error(oar_predictor_run(p, in, 2, out, 1), "has 2 outputs, given room for 1");
  expect_error(oar_predictor_run(p, half, 2, out, 2), "input b has no value");
  expect_error(oar_predictor_run(p, nullptr, 2, out, 2), "inputs is NULL");
  expect_error(oar_predictor_run(p, in, 2, nullptr, 2), "out_tensors is NULL");
  EXPECT_EQ(out[0], nullptr);
  char name[4];
  expect_error(oar_predictor_input_name(p, 2, name, 4, nullptr), "there is no input 2, there are 2");
  int32_t ranks[] = {2, -1};
  int64_t sizes[] = {1, 3, 1, 3};
  expect_error(oar_predictor_warm_up(p, ranks, 2, sizes), "rank -1");
  expect_error(oar_predictor_warm_up(p, ranks, 1, sizes), "has 2 inputs");
  oar_predictor_t* other = nullptr;
  expect_error(oar_predictor_create(oar_text("/nowhere/net.oarp"), nullptr, &other), "/nowhere/net.oarp");
  oar_predictor_config_t config = OAR_PREDICTOR_CONFIG_INIT;
  config.device = 99;
  expect_error(oar_predictor_create(oar_text(path.c_str()), &config, &other), "there is no device 99");
  config = OAR_PREDICTOR_CONFIG_INIT;
  oar_str_t pass = oar_text("no_such_pass");
  config.passes_off = &pass;
  config.n_passes_off = 1;
  expect_error(oar_predictor_create(oar_text(path.c_str()), &config, &other), "no_such_pass");
  config.struct_size = 4;
  expect_error(oar_predictor_create(oar_text(path.c_str()), &config, &other), "struct_size");
  EXPECT_EQ(other, nullptr);
  ASSERT_EQ(oar_predictor_create(oar_text(path.c_str()), nullptr, &other), OAR_OK);
  ASSERT_EQ(oar_predictor_release(other), OAR_OK);
  expect_error(oar_predictor_release(other), "not alive");
  expect_error(oar_predictor_count(other, nullptr, nullptr), "not alive");
  EXPECT_EQ(oar_predictor_release(nullptr), OAR_OK);
  EXPECT_EQ(oar_tensor_release(a), OAR_OK);
}

}  // namespace
}  // namespace oarlock
