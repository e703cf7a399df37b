// Programs on the npu, which knows graphs only: what it takes is one step each, the rest runs on the host.
#include <gtest/gtest.h>

#include "core/graph/compile.h"
#include "core/graph/order_check.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {
namespace {

Device npu() {
  throw_if(load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/npu/liboarlock_npu.so").status());
  return Device("npu");
}
PlanInfo planned(const Program& p, const std::vector<Shape>& shapes, Device device, PlanOptions options = {}) {
  Executable e(std::make_shared<Program>(p), device, 64, UINT64_MAX, options);
  throw_if(e.prepare(shapes));
  return e.info(shapes);
}
std::string routes(const PlanInfo& info) {
  std::string out;
  for (const StepInfo& s : info.steps) out += (out.empty() ? "" : ", ") + s.route + " " + s.op;
  return out;
}
// The function on the host, and its program on the npu.
void expect_near(const Function& f, const Program& p, const std::vector<Tensor>& inputs, Device device) {
  std::vector<Tensor> want = f(inputs);
  Executable e(std::make_shared<Program>(p), device);
  for (int run = 0; run < 2; ++run) {
    Result<Outcome> got = e.run(inputs);
    ASSERT_TRUE(got) << got.status().text();
    ASSERT_EQ(got->results.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got->results[i].device(), device);
      Tensor a = got->results[i].to(Device()).contiguous(), b = want[i].contiguous();
      ASSERT_EQ(to_string(a.shape()), to_string(b.shape()));
      for (int64_t k = 0; k < a.element_count(); ++k)
        ASSERT_NEAR(a.data_as<float>()[k], b.data_as<float>()[k], 1e-5) << "result " << i << ", element " << k;
    }
  }
}

TEST(Groups, AModelRunsHalfOnTheNpu) {
  Tensor w = uniform({4, 2, 3, 3}, 1), v = uniform({36, 6}, 2), b = uniform({6}, 3);
  Function f = [w, v, b](std::span<const Tensor> x) {
    Tensor h = max_pool(relu(conv(x[0], w)), {2, 2}, {2, 2});
    h = layer_norm(reshape(h, {h.shape()[0], 36}), Tensor(), Tensor());  // not on the npu
    return std::vector<Tensor>{softmax(add(matmul(h, v), b), 1), h};
  };
  Device device = npu();
  Program p = capture(f, {{{"N", "2", "8", "8"}}});
  ASSERT_TRUE(compile(p).ok());  // the weights become constants, which the npu keeps
  for (int64_t n : {2, 1, 3}) expect_near(f, p, {uniform({n, 2, 8, 8}, n)}, device);
  PlanInfo info = planned(p, {{2, 2, 8, 8}}, device);
  std::string all = routes(info), first = "group conv+relu+max_pool+reshape, ", last = ", group matmul+add+softmax";
  ASSERT_EQ(all.find(first), 0u) << all;
  ASSERT_EQ(all.find(last), all.size() - last.size()) << all;
  EXPECT_EQ(all.find("group", 1), all.size() - last.size() + 2) << all;  // between them none, but copies to and fro
  EXPECT_NE(all.find("copy transfer"), std::string::npos) << all;
  EXPECT_EQ(info.steps[0].plugin, "npu");
  ASSERT_FALSE(info.refusals.empty());
  EXPECT_NE(info.refusals[0].find("layer_norm"), std::string::npos) << info.refusals[0];
  EXPECT_NE(info.refusals[0].find("npu: its graph table does not have this op"), std::string::npos);
}

TEST(Groups, NothingClaimedRunsOnTheHost) {
  Function f = [](std::span<const Tensor> x) { return std::vector<Tensor>{tanh(reshape(sin(x[0]), {6}))}; };
  Program p = capture(f, {{{"2", "3"}}});
  expect_near(f, p, {uniform({2, 3}, 1)}, npu());
  PlanInfo info = planned(p, {{2, 3}}, npu(), {.groups = false});
  for (const StepInfo& s : info.steps) EXPECT_NE(s.route, "group");
  EXPECT_TRUE(info.refusals.empty());
}

TEST(Groups, WithTheSettingFallbackOffTheRestIsAnError) {
  Function f = [](std::span<const Tensor> x) { return std::vector<Tensor>{sin(x[0])}; };
  Program p = capture(f, {{{"3"}}});
  Device device = npu();
  ASSERT_TRUE(set_setting("fallback", "off").ok());
  Executable e(std::make_shared<Program>(p), device);
  Result<Outcome> out = e.run(std::vector<Tensor>{uniform({3}, 1)});
  ASSERT_TRUE(set_setting("fallback", "warn").ok());
  ASSERT_FALSE(out);
  EXPECT_NE(out.status().text().find("sin on npu"), std::string::npos) << out.status().text();
}

// Two branches, of which one has to wait for the group and the group for the other, written in the wrong order.
TEST(Groups, AreRunWhereTheyFit) {
  Tensor w = uniform({5, 5}, 1);
  Function f = [w](std::span<const Tensor> x) {
    Tensor a = matmul(x[0], w);               // group
    Tensor late = sin(a);                     // reads the group
    Tensor early = cos(x[0]);                 // the group reads it
    Tensor b = add(matmul(early, w), early);  // group
    return std::vector<Tensor>{late, b};
  };
  Program p = capture(f, {{{"5", "5"}}});
  OrderCheck check(p, p.body);
  std::vector<int> owner = {0, -1, -1, 0, 0};
  ASSERT_EQ(p.body.nodes.size(), 5u);
  ASSERT_EQ(check.closes_cycle({0, 3, 4}, std::vector<int>(5, -1)), -1);
  check.join({0, 3, 4}, 0);
  EXPECT_EQ(check.order(owner), (std::vector<int>{2, -1, 1}));
  expect_near(f, p, {uniform({5, 5}, 2)}, npu());
}

TEST(Groups, StatesAreReadAtEachRun) {
  Tensor w = uniform({3, 3}, 1);
  Program p;
  {
    Recording recording(p, p.body.nodes, Device());
    Tensor x = recording.add_input("x", DType::f32, {2, 3});
    p.body.parameters.push_back(recording.value(x));
    p.body.results.push_back(recording.value(relu(matmul(x, w))));
    p.result_names.resize(1);
    recording.finish();
  }
  Executable e(std::make_shared<Program>(p), npu());
  Tensor x = uniform({2, 3}, 2);
  for (int run = 0; run < 3; ++run) {
    Result<Outcome> out = e.run(std::vector<Tensor>{x});
    ASSERT_TRUE(out) << out.status().text();
    Tensor got = out->results[0].to(Device()), want = relu(matmul(x, w));
    for (int64_t k = 0; k < 6; ++k) EXPECT_NEAR(got.data_as<float>()[k], want.data_as<float>()[k], 1e-5);
    assign(w, multiply(w, full({}, 2)));
  }
}

}  // namespace
}  // namespace oarlock::graph
