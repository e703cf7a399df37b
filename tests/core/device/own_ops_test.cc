// Ops that plugins define: called by name, differentiated, listed, and refused where two plugins disagree.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <oarlock/oarlock.h>

#include "core/op/attrs.h"

namespace oarlock {
namespace {

std::string path(const std::string& name) {
  return std::string(OARLOCK_TEST_PLUGIN_DIR) + "/abi/" + name + "/lib" + name + ".so";
}
PluginInfo loaded(const char* name) {
  Result<PluginInfo> p = load_plugin(path(name));
  throw_if(p.status());
  return *p;
}
Tensor call(std::string_view op, std::vector<Tensor> in, std::vector<oar_attr_t> attrs = {}) {
  return call_op(op, in, attrs).at(0);
}
Tensor zeros(Shape shape) { return full(shape, 0); }
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}
std::vector<double> numbers(const Tensor& t) {
  Tensor d = cast(t, DType::f64);
  std::vector<double> v(size_t(d.element_count()));
  d.copy_to_host(v.data());
  return v;
}
Tensor leaf(std::vector<double> v, Shape shape) {
  Tensor t = Tensor::from_host(v.data(), shape, DType::f64);
  t.set_requires_grad();
  return t;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(OwnOps, AProbeListsThemBeforeTheyAreLoaded) { EXPECT_EQ(probe_plugin(path("own_ops")).ops.size(), 9u); }

TEST(OwnOps, AreCalledByNameWithAttributes) {
  PluginInfo info = loaded("own_ops");
  EXPECT_EQ(info.ops.size(), 9u);
  EXPECT_TRUE(info.warnings.empty()) << info.warnings[0];
  EXPECT_EQ(op_info("toy.swish").gradient, "toy.swish_gradient(x, grad y) -> (grad x)");
  Tensor x = Tensor::of<float>({-1, 0, 2}, {3});
  std::vector<double> y = numbers(call("toy.swish", {x})), y2 = numbers(call("toy.swish", {x}, {op::attr_real(2)}));
  for (int i = 0; i < 3; ++i) {
    double v = x.data_as<float>()[i];
    EXPECT_NEAR(y[size_t(i)], v * sigmoid(v), 1e-6);
    EXPECT_NEAR(y2[size_t(i)], v * sigmoid(2 * v), 1e-6);
  }
  EXPECT_EQ(error_of([&] { call("toy.swish", {x}, {op::attr_real(-1)}); }),
            "toy.swish: attribute beta is -1, needs at least 0.");
  EXPECT_NE(error_of([&] { call("toy.swish", {cast(x, DType::i32)}); }).find("x is i32, which toy.swish does not take"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              call("toy.scale", {reshape(x, {1, 3}), Tensor::of<float>({1, 2}, {2})});
            }).find("N disagrees"),
            std::string::npos);
}

TEST(OwnOps, ShapeRulesAreAskedAndBelievedOnlyWhereTheyFit) {
  loaded("own_ops");
  EXPECT_EQ(call("toy.pairs", {Tensor::of<float>({1, 2, 3, 4}, {4})}).shape(), Shape({2, 2}));
  EXPECT_EQ(infer_op("toy.pairs", std::vector<Tensor>{zeros({10})}).shapes.at(0), Shape({5, 2}));
  EXPECT_NE(error_of([] { call("toy.pairs", {zeros({3})}); }).find("own_ops: 3 elements make no pairs"),
            std::string::npos);
  loaded("lying_infer");
  Tensor x = zeros({4});
  auto lie = [&](int64_t how) { return error_of([&] { call("toy.lie", {x}, {op::attr_integer(how)}); }); };
  EXPECT_EQ(lie(0), "");
  EXPECT_NE(lie(1).find("says that y is [-2, 2]: sizes are not negative"), std::string::npos) << lie(1);
  EXPECT_NE(lie(2).find("says rank 17 of y"), std::string::npos) << lie(2);
  EXPECT_NE(lie(3).find("gives it rank 2"), std::string::npos) << lie(3);
  EXPECT_NE(lie(4).find("makes axis 1 2"), std::string::npos) << lie(4);
  EXPECT_NE(lie(5).find("says rank 4294967295"), std::string::npos) << lie(5);
  EXPECT_NE(lie(6).find("without a text"), std::string::npos) << lie(6);
}

TEST(OwnOps, GradientsAgreeWithClosedForms) {
  loaded("own_ops");
  Tensor x = leaf({-1.5, 0.25, 2}, {3});
  sum(call("toy.swish", {x}, {op::attr_real(2)})).backward();
  for (int i = 0; i < 3; ++i) {
    double v = x.data_as<double>()[i], s = sigmoid(2 * v);
    EXPECT_NEAR(numbers(x.grad())[size_t(i)], s + 2 * v * s * (1 - s), 1e-12);
  }
  Tensor a = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), w = leaf({10, 20, 30}, {3});
  sum(call("toy.scale", {a, w})).backward();
  EXPECT_EQ(numbers(a.grad()), (std::vector<double>{10, 20, 30, 10, 20, 30}));
  EXPECT_EQ(numbers(w.grad()), (std::vector<double>{5, 7, 9}));
  Tensor b = leaf({3, 9, 4}, {3});
  std::vector<Tensor> out = call_op("toy.largest", std::vector<Tensor>{b});
  ASSERT_EQ(out.size(), 1u) << "the hidden output is the gradient's alone";
  out[0].backward();
  EXPECT_EQ(numbers(b.grad()), (std::vector<double>{0, 1, 0}));
  Tensor c = leaf({1, 2}, {2});
  sum(call("toy.opposite", {call("toy.opposite", {call("toy.opposite", {c})})})).backward();
  EXPECT_EQ(numbers(c.grad()), (std::vector<double>{-1, -1}));
}

TEST(OwnOps, SecondOrderWhereTheGradientOpHasOne) {
  loaded("own_ops");
  Tensor x = leaf({-1.5, 0.25, 2}, {3});
  Tensor y = call("toy.swish", {x});
  Tensor g = gradients(std::vector<Tensor>{sum(y)}, std::vector<Tensor>{x}, {}, true, true).at(0);
  Tensor h = gradients(std::vector<Tensor>{sum(g)}, std::vector<Tensor>{x}).at(0);
  for (int i = 0; i < 3; ++i) {
    double v = x.data_as<double>()[i], s = sigmoid(v), t = s * (1 - s);
    EXPECT_NEAR(numbers(h)[size_t(i)], 2 * t + v * t * (1 - 2 * s), 1e-12);
  }
  Tensor w = leaf({2}, {1});  // toy.scale_gradient has no gradient: the second order ends there
  Tensor z = call("toy.scale", {leaf({3}, {1, 1}), w});
  Tensor gw = gradients(std::vector<Tensor>{sum(z)}, std::vector<Tensor>{w}, {}, true, true).at(0);
  EXPECT_FALSE(gw.requires_grad());
}

TEST(OwnOps, BroadcastOperandsAreSummed) {
  loaded("own_ops");
  Tensor x = leaf({1, 2, 3}, {3}), y = leaf({1, 1, 1, 1, 1, 1}, {2, 3});
  sum(multiply(call("toy.swish", {x}), y)).backward();
  EXPECT_EQ(x.grad().shape(), Shape({3}));
  double s = sigmoid(1);
  EXPECT_NEAR(numbers(x.grad())[0], 2 * (s + s * (1 - s)), 1e-12);
}

TEST(OwnOps, WhatNoKernelTakesIsAnErrorThatSaysSo) {
  loaded("own_ops");
  std::string text =
      error_of([] { call_op("toy.swish", std::vector<Tensor>{zeros({2})}, {}, {.route = Route::reference}); });
  EXPECT_NE(text.find("no reference"), std::string::npos) << text;
  loaded("lying_infer");
  Tensor x = Tensor::of<float>({1, 2, 3}, {3});
  x.set_requires_grad();
  text = error_of([&] { sum(call("toy.lie", {x})).backward(); });
  EXPECT_NE(text.find("toy.lie_gradient gave x a gradient of shape [3, 2], x is [3]"), std::string::npos) << text;
}

TEST(OwnOps, OnADeviceWithoutTheirKernelsTheyFallBackAsOthersDo) {
  loaded("own_ops");
  throw_if(load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so").status());
  Tensor x = Tensor::of<float>({1, 2}, {2}).to(Device("sim:0"));
  Tensor y = call("toy.swish", {x});
  EXPECT_EQ(y.device().name(), "sim:0");
  EXPECT_NEAR(numbers(y.to(Device()))[0], sigmoid(1), 1e-6);
  throw_if(set_setting("fallback", "off"));
  std::string text = error_of([&] { call("toy.swish", {x}); });
  throw_if(set_setting("fallback", "warn"));
  EXPECT_NE(text.find("toy.swish on sim:0: no kernel takes this call"), std::string::npos) << text;
}

TEST(OwnOps, TwoPluginsMayAgreeButNotDisagree) {
  loaded("own_ops");
  PluginInfo same = loaded("same_ops");
  EXPECT_TRUE(same.warnings.empty()) << same.warnings[0];
  EXPECT_EQ(same.ops.size(), 9u);
  PluginInfo other = loaded("other_ops");
  ASSERT_EQ(other.warnings.size(), 1u);
  EXPECT_NE(other.warnings[0].find("toy.swish: own_ops registered it already, with "), std::string::npos)
      << other.warnings[0];
  PluginInfo orphan = loaded("unknown_gradient");
  ASSERT_EQ(orphan.warnings.size(), 1u);
  EXPECT_NE(orphan.warnings[0].find("toy.orphan: gradient: there is no op toy.nobody. Register it before."),
            std::string::npos)
      << orphan.warnings[0];
  EXPECT_THROW(op_info("toy.orphan"), Error);
  EXPECT_NEAR(call("toy.swish", {Tensor::of<float>({1}, {1})}).item(), sigmoid(1), 1e-6);
}

}  // namespace
}  // namespace oarlock
