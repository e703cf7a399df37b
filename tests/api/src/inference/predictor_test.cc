// Exported programs in a predictor, against the layer itself: bit for bit, on the host and on sim.
#include <atomic>
#include <thread>

#include "core/graph/compile.h"
#include "core/device/device.h"
#include "tests/same.h"

namespace oarlock::inference {
namespace {

std::shared_ptr<nn::Sequential> network() {
  set_seed(3);
  return std::make_shared<nn::Sequential>(std::make_shared<nn::Linear>(6, 8), std::make_shared<nn::BatchNorm1D>(8),
                                          std::make_shared<nn::Dropout>(0.5), std::make_shared<nn::Linear>(8, 5));
}
jit::ExportedProgram exported(nn::Layer& net) {
  return jit::export_layer(net, {{.shape = {"N", 6}, .name = "x"}}, {.name = "net", .output_names = {"y"}});
}
// Without the passes that may round.
Config exact(const jit::ExportedProgram& program) {
  Config config(program);
  for (const std::string& name : graph::rounding_pass_names()) config.delete_pass(name);
  return config;
}
// Two inputs, two outputs.
std::vector<Tensor> two(std::span<const Tensor> x) { return {add(x[0], x[1]), multiply(x[0], x[1])}; }
Predictor predictor_of_two() {
  return create_predictor(
      Config(jit::export_function(two, {{.shape = {"N", 3}, .name = "a"}, {.shape = {"N", 3}, .name = "b"}},
                                  {.output_names = {"sum", "product"}})));
}

TEST(Predictor, GivesWhatTheLayerGives) {
  auto net = network();
  for (Device device : {Device(), sim()}) {
    net->to(device);
    Predictor p = create_predictor(exact(exported(*net)).set_device(device));
    EXPECT_TRUE(net->training());
    net->eval();
    for (int64_t n : {1, 4, 9}) {
      Tensor x = uniform({n, 6}, n);
      Tensor got = p.run({{x}})[0];
      EXPECT_EQ(got.device(), device);
      EXPECT_TRUE(bytes(got) == bytes((*net)(x.to(device)))) << device.name() << " N=" << n;
    }
    net->train();
  }
}

TEST(Predictor, RunsElsewhereThanItWasExported) {
  auto net = network();
  Predictor here = create_predictor(Config(exported(*net)));
  Predictor there = create_predictor(Config(exported(*net)).set_device(sim()));
  Tensor x = uniform({3, 6}, 1);
  EXPECT_TRUE(bytes(here.run({{x}})[0]) == bytes(there.run({{x}})[0]));
}

TEST(Predictor, KeepsTheWeightsOfTheExport) {
  auto net = network();
  jit::ExportedProgram program = exported(*net);
  Tensor x = uniform({2, 6}, 1);
  std::string before = bytes(create_predictor(Config(program)).run({{x}})[0]);
  Tensor w = net->parameter("0.weight");
  EXPECT_TRUE(bytes(find(program.parameters(), "0.weight")) == bytes(w));
  NoGrad off;
  assign(w, add(w, w));
  EXPECT_FALSE(bytes(find(program.parameters(), "0.weight")) == bytes(w));
  EXPECT_TRUE(bytes(create_predictor(Config(program)).run({{x}})[0]) == before);
  std::string exactly = bytes(create_predictor(exact(program)).run({{x}})[0]);
  EXPECT_TRUE(bytes(create_predictor(exact(program).delete_pass("freeze_states")).run({{x}})[0]) == exactly);
}

TEST(Predictor, HandlesByName) {
  Predictor p = predictor_of_two();
  EXPECT_EQ(p.get_input_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(p.get_output_names(), (std::vector<std::string>{"sum", "product"}));
  const float a[] = {1, 2, 3};
  InputHandle in = p.get_input_handle("a");
  in.reshape({1, 3});
  in.copy_from_cpu(std::span<const float>(a));
  EXPECT_EQ(error_of([&] { p.run(); }), "main: input b has no value. Give its handle one first.");
  EXPECT_EQ(error_of([&] { p.get_output_handle("sum").tensor(); }), "output sum: there is none yet. Call run() first.");
  p.get_input_handle("b").share_external_data(Tensor::of<float>({4, 5, 6}, {1, 3}));
  p.run();
  float sum[3], product[3];
  p.get_output_handle("sum").copy_to_cpu(std::span<float>(sum));
  p.get_output_handle("product").copy_to_cpu(std::span<float>(product));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sum[i], float(5 + 2 * i));
    EXPECT_EQ(product[i], a[i] * float(4 + i));
  }
  Predictor other = p.clone();
  EXPECT_EQ(error_of([&] { other.run(); }), "main: input a has no value. Give its handle one first.");
  EXPECT_EQ(other.plan_memory().plans, 1);
}

TEST(Predictor, SaysWhatDisagrees) {
  Predictor p = predictor_of_two();
  Tensor a = uniform({2, 3}, 1);
  EXPECT_EQ(error_of([&] { p.get_input_handle("c"); }), "main: no input is called c. There are: a, b.");
  EXPECT_EQ(error_of([&] { p.get_output_handle("c"); }), "main: no output is called c. There are: sum, product.");
  EXPECT_EQ(error_of([&] { p.run({{a}}); }), "main: takes 2 inputs (a, b), given 1.");
  EXPECT_EQ(error_of([&] {
              p.run({{a, Tensor::of<int64_t>({1, 2, 3}, {1, 3})}});
            }),
            "main: input b is i64, the program takes f32. Cast it.");
  EXPECT_NE(error_of([&] { p.run({{a, uniform({4, 3}, 1)}}); }).find("input b"), std::string::npos);
  const float few[] = {1, 2};
  InputHandle in = p.get_input_handle("a");
  in.reshape({1, 3});
  EXPECT_NE(error_of([&] { in.copy_from_cpu(std::span<const float>(few)); }).find("(3 elements)"), std::string::npos);
  jit::ExportedProgram program = jit::export_function(two, {{.shape = {3}}, {.shape = {3}}});
  std::string all;
  for (const std::string& name : graph::pass_names()) all += (all.empty() ? "" : ", ") + name;
  EXPECT_EQ(error_of([&] { create_predictor(Config(program).delete_pass("magic")); }),
            "main: no pass is called magic. There are: " + all + ".");
}

TEST(Export, RefusesWhatWritesAndNamesThatClash) {
  Tensor w = Tensor::of<float>({1, 2}, {2});
  auto writes = [&](std::span<const Tensor> x) {
    assign(w, x[0]);
    return std::vector<Tensor>{add(x[0], x[0])};
  };
  EXPECT_NE(error_of([&] { jit::export_function(writes, {{.shape = {2}}}); }).find("it writes to"), std::string::npos);
  EXPECT_NE(error_of([&] {
              jit::export_function(two, {{.shape = {2}, .name = "a"}, {.shape = {2}, .name = "a"}});
            }).find("both called a"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              jit::export_function(two, {{.shape = {2}}, {.shape = {2}}}, {.output_names = {"y"}});
            }).find("it gives 2 results, output_names has 1"),
            std::string::npos);
}

TEST(Predictor, ManyThreadsManyShapesFlatMemory) {
  auto net = network();
  Predictor p = create_predictor(exact(exported(*net)).set_plan_limits(16, 1 << 20));
  net->eval();
  constexpr int kShapes = 100, kThreads = 10, kRuns = 1000;
  std::vector<Tensor> inputs;
  std::vector<std::string> want;
  for (int n = 1; n <= kShapes; ++n) {
    inputs.push_back(uniform({n, 6}, n));
    want.push_back(bytes((*net)(inputs.back())));
  }
  std::atomic<int> wrong = 0;
  auto round = [&](int runs) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < runs; ++i) {
          size_t k = size_t(t * 37 + i * 13) % kShapes;
          if (bytes(p.run({{inputs[k]}})[0]) != want[k]) ++wrong;
        }
      });
    for (std::thread& t : threads) t.join();
  };
  round(kRuns / 10);
  uint64_t before = memory_stats(Device()).in_use;
  round(kRuns);
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(p.plan_memory().plans, 16);
  EXPECT_LE(p.plan_memory().bytes, uint64_t(1) << 20);
  EXPECT_LE(memory_stats(Device()).in_use, before + (1 << 20));
}

TEST(Predictor, KeepsNoPlanAboveTheLimit) {
  auto net = network();
  Predictor none = create_predictor(Config(exported(*net)).set_plan_limits(64, 0));
  Predictor warm = create_predictor(Config(exported(*net)).warm_up({{2, 6}}).warm_up({{3, 6}}));
  EXPECT_EQ(warm.plan_memory().plans, 2);
  EXPECT_GT(warm.plan_memory().bytes, 0u);
  none.run({{uniform({2, 6}, 1)}});
  EXPECT_EQ(none.plan_memory().bytes, 0u);
}

TEST(Predictor, RunsWithinItsThreads) {
  auto net = network();
  Tensor x = uniform({64, 6}, 1);
  uint32_t all = thread_count();
  Predictor one = create_predictor(Config(exported(*net)).set_cpu_math_library_num_threads(1));
  EXPECT_TRUE(bytes(one.run({{x}})[0]) == bytes(create_predictor(Config(exported(*net))).run({{x}})[0]));
  EXPECT_EQ(thread_count(), all) << "the budget is the run's";
  {
    ThreadBudget two(2);
    EXPECT_EQ(thread_count(), 2u);
    ThreadBudget same(0);
    EXPECT_EQ(thread_count(), 2u);
    ThreadBudget inner(1);
    EXPECT_EQ(thread_count(), 1u);
  }
  EXPECT_EQ(thread_count(), all);
  EXPECT_THROW(Config(exported(*net)).set_cpu_math_library_num_threads(-1), Error);
}

}  // namespace
}  // namespace oarlock::inference
