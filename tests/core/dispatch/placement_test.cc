// Where things run: device scopes, operands of several devices, and the report of it. On sim, whose memory is its own.
#include <gtest/gtest.h>

#include <thread>

#include <oarlock/oarlock.h>

namespace oarlock {
namespace {

Device sim() {
  Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so");
  throw_if(p.status());
  return Device("sim");
}
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}
std::vector<float> floats(const Tensor& t) {
  std::vector<float> v(size_t(t.element_count()));
  t.copy_to_host(v.data());
  return v;
}
// A setting for the life of a block.
struct With {
  const char* name;
  With(const char* which, const char* value) : name(which) { throw_if(set_setting(name, value)); }
  ~With() { throw_if(set_setting(name, std::string_view(name) == "placement" ? "0" : "off")); }
};
PlacementRow row(std::string_view op, std::string_view device, std::string_view reason = "") {
  for (const PlacementRow& r : placement())
    if (r.op == op && r.device == device && r.reason.find(reason) != std::string::npos) return r;
  return {};
}

TEST(DeviceScope, PlacesWhatNoOperandPlaces) {
  Device device = sim();
  EXPECT_TRUE(current_device().is_host());
  {
    DeviceScope on(device);
    EXPECT_EQ(current_device(), device);
    EXPECT_EQ(full({2}, 7).device(), device);
    EXPECT_EQ(arange(Dim(3)).device(), device);
    EXPECT_TRUE(Tensor::of<float>({1}, {1}).device().is_host());
    EXPECT_TRUE(negative(Tensor::of<float>({1}, {1})).device().is_host()) << "an operand decides";
    {
      DeviceScope home{Device()};
      EXPECT_TRUE(full({2}, 7).device().is_host());
    }
    EXPECT_EQ(full({2}, 7).device(), device);
    Device elsewhere = device;
    std::thread([&] { elsewhere = full({2}, 7).device(); }).join();
    EXPECT_TRUE(elsewhere.is_host()) << "a scope is of its thread";
  }
  EXPECT_TRUE(full({2}, 7).device().is_host());
  set_device(device);
  EXPECT_EQ(floats(full({2}, 7)), (std::vector<float>{7, 7}));
  EXPECT_EQ(full({2}, 7).device(), device);
  set_device(Device());
}

TEST(AcrossDevices, IsAnErrorWithAdviceUnlessAllowed) {
  Tensor here = Tensor::of<float>({1, 2, 3}, {3}), there = Tensor::of<float>({10, 20, 30}, {3}).to(sim());
  std::string said = error_of([&] { add(here, there); });
  EXPECT_NE(said.find("add: devices disagree: a is on cpu, b is on sim:0. Move one of them with .to(...)."),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("across_devices=allow"), std::string::npos) << said;
  With policy("across_devices", "allow");
  for (const Tensor& sum : {add(here, there), add(there, here)}) {
    EXPECT_EQ(sum.device(), sim());
    EXPECT_EQ(floats(sum), (std::vector<float>{11, 22, 33}));
  }
  EXPECT_TRUE(add(here, here).device().is_host());
}

TEST(AcrossDevices, GradientsGoHome) {
  With policy("across_devices", "allow");
  Tensor here = Tensor::of<float>({1, 2, 3}, {3}), there = Tensor::of<float>({10, 20, 30}, {3}).to(sim());
  here.set_requires_grad(true);
  there.set_requires_grad(true);
  sum(multiply(here, there)).backward();
  EXPECT_TRUE(here.grad().device().is_host());
  EXPECT_EQ(there.grad().device(), sim());
  EXPECT_EQ(floats(here.grad()), (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(floats(there.grad()), (std::vector<float>{1, 2, 3}));
}

TEST(AcrossDevices, WhatIsWrittenToStays) {
  With policy("across_devices", "warn");
  Tensor here = Tensor::of<float>({0, 0}, {2}), there = Tensor::of<float>({5, 6}, {2}).to(sim());
  assign(here, there);
  EXPECT_TRUE(here.device().is_host());
  EXPECT_EQ(floats(here), (std::vector<float>{5, 6}));
  assign(there, Tensor::of<float>({7, 8}, {2}));
  EXPECT_EQ(there.device(), sim());
  EXPECT_EQ(floats(there), (std::vector<float>{7, 8}));
}

TEST(Placement, TellsTransfersWithWhatTheyAreFor) {
  With policy("across_devices", "allow");
  Tensor here = Tensor::of<float>({1, 2, 3}, {3}), there = here.to(sim());
  reset_placement();
  add(here, there);
  PlacementRow copied = row("transfer", "sim:0", "from cpu, for add, a");
  EXPECT_EQ(copied.calls, 1u);
  EXPECT_EQ(copied.bytes, 12u);
  EXPECT_EQ(copied.route, "transfer");
  there.to(Device());
  EXPECT_EQ(row("transfer", "cpu", "from sim:0, asked for by the program").calls, 1u);
  erf_inverse(there);
  EXPECT_EQ(row("erf_inverse", "sim:0").route, "fallback");
  EXPECT_NE(row("erf_inverse", "sim:0").reason, "");
  EXPECT_EQ(row("transfer", "cpu", "for the fallback of erf_inverse").calls, 1u);
  EXPECT_EQ(row("transfer", "sim:0", "for the fallback of erf_inverse").calls, 1u);
}

TEST(Placement, TimesWhatRanAndWaitsForTheDevice) {
  Tensor x = full({64, 64}, 0.5).to(sim());
  With time("placement", "1");
  reset_placement();
  softmax(x, -1);
  PlacementRow whole = row("softmax", "sim:0"), part = row("exp", "sim:0");
  EXPECT_EQ(whole.route, "decomposition");
  EXPECT_NE(whole.reason, "");
  EXPECT_EQ(part.route, "kernel");
  EXPECT_EQ(part.plugin, "sim");
  EXPECT_GT(part.host_ns, 0u);
  EXPECT_GT(whole.host_ns, part.host_ns) << "a decomposition includes what it calls";
  std::vector<PlacementRow> rows = placement();
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i - 1].host_ns, rows[i].host_ns);
  std::string table = to_string(rows);
  EXPECT_EQ(table.rfind("op ", 0), 0u) << table;
  EXPECT_NE(table.find("\nsoftmax "), std::string::npos) << table;
  EXPECT_NE(table.find("\ncalls: "), std::string::npos) << table;
  EXPECT_EQ(to_string(std::vector<PlacementRow>()), "nothing ran");
}

}  // namespace
}  // namespace oarlock
