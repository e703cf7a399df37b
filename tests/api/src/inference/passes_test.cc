// Whole networks with each pass alone, all and none: what the layer gives, on the host and on sim. Passes that round stay
// within the tolerance of ops.md, of 64 ulps and sums of a few dozen elements; the others give every bit.
#include <algorithm>
#include <cmath>

#include "core/graph/compile.h"
#include "core/graph/executable.h"
#include "tests/core/graph/compiled.h"

namespace oarlock::inference {
namespace {

constexpr double kRoom = 64 * 0x1p-23 * 8;

struct Residual : nn::Layer {
  std::shared_ptr<nn::Conv2D> one, two, by;
  std::shared_ptr<nn::BatchNorm2D> norm_one, norm_two;
  Residual() {
    one = add_sublayer("one", std::make_shared<nn::Conv2D>(3, 8, 3, nn::ConvOptions{.padding = 1}));
    norm_one = add_sublayer("norm_one", std::make_shared<nn::BatchNorm2D>(8));
    two = add_sublayer("two", std::make_shared<nn::Conv2D>(8, 8, 3, nn::ConvOptions{.padding = 1}));
    norm_two = add_sublayer("norm_two", std::make_shared<nn::BatchNorm2D>(8));
    by = add_sublayer("by", std::make_shared<nn::Conv2D>(3, 8, 1));
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = relu((*norm_one)((*one)(x)));
    h = (*norm_two)((*two)(h));
    return mean(relu(add(h, (*by)(x))), {2, 3});
  }
};

// An encoder layer in small ops.
struct Spelled : nn::Layer {
  static constexpr int64_t kWidth = 8, kHeads = 2;
  std::vector<std::shared_ptr<nn::Linear>> in;
  std::shared_ptr<nn::Linear> up, down;
  Tensor &scale, &shift;
  Spelled()
      : scale(add_parameter("scale", uniform({kWidth}, 21, 0.5, 2))),
        shift(add_parameter("shift", uniform({kWidth}, 22))) {
    for (const char* name : {"q", "k", "v"})
      in.push_back(add_sublayer(name, std::make_shared<nn::Linear>(kWidth, kWidth)));
    up = add_sublayer("up", std::make_shared<nn::Linear>(kWidth, 16));
    down = add_sublayer("down", std::make_shared<nn::Linear>(16, kWidth));
  }
  static Tensor number(double v) { return full({}, v); }
  Tensor norm(const Tensor& x) {
    Tensor centred = subtract(x, mean(x, {-1}, true));
    Tensor var = mean(multiply(centred, centred), {-1}, true);
    return add(multiply(divide(centred, sqrt(add(var, number(1e-5)))), scale), shift);
  }
  Tensor head(const Tensor& x, size_t i) {
    Tensor y = (*in[i])(x);
    return permute(reshape(y, {y.shape()[0], y.shape()[1], kHeads, kWidth / kHeads}), {0, 2, 1, 3});
  }
  Tensor forward(const Tensor& x) override {
    Tensor scores = multiply(matmul(head(x, 0), matrix_transpose(head(x, 1))), number(0.5));
    Tensor e = exp(subtract(scores, max(scores, {-1}, true)));
    Tensor mixed = permute(matmul(divide(e, sum(e, {-1}, true)), head(x, 2)), {0, 2, 1, 3});
    Tensor h = norm(add(x, reshape(mixed, x.shape())));
    Tensor wide = (*up)(h);
    wide = multiply(multiply(wide, number(0.5)), add(number(1), erf(multiply(wide, number(std::sqrt(0.5))))));
    Tensor y = norm(add(h, (*down)(wide)));
    return multiply(y, sigmoid(y));
  }
};

struct Net {
  const char* name;
  std::shared_ptr<nn::Layer> layer;
  std::vector<jit::Size> sizes;
  Tensor x;
};
std::vector<Net> nets() {
  set_seed(5);
  auto mlp = std::make_shared<nn::Sequential>(std::make_shared<nn::Linear>(6, 16),
                                              std::make_shared<nn::BatchNorm1D>(16), std::make_shared<nn::GELU>(),
                                              std::make_shared<nn::Dropout>(0.5), std::make_shared<nn::Linear>(16, 4));
  std::vector<Net> out{
      {"mlp", mlp, {"N", 6}, uniform({3, 6}, 1)},
      {"residual", std::make_shared<Residual>(), {"N", 3, 9, 9}, uniform({2, 3, 9, 9}, 2)},
      {"spelled encoder", std::make_shared<Spelled>(), {"N", 5, 8}, uniform({2, 5, 8}, 3)},
      {"encoder", std::make_shared<nn::TransformerEncoderLayer>(8, 2, 16), {"N", 5, 8}, uniform({2, 5, 8}, 4)}};
  for (Net& net : out)
    for (auto& [name, t] : net.layer->named_buffers()) {
      NoGrad off;
      if (t.dtype() == DType::f32) assign(t, uniform(t.shape(), int64_t(name.size()), 0.5, 2));
    }
  return out;
}

TEST(Passes, EachAloneAllAndNone) {
  const std::vector<std::string>&all = graph::pass_names(), &rounding = graph::rounding_pass_names();
  for (Device device : {Device(), sim()}) {
    for (Net& net : nets()) {
      DeviceScope scope(device);
      net.layer->to(device);
      net.layer->eval();
      const Tensor want = (*net.layer)(net.x.to(device));
      jit::ExportedProgram program = jit::export_layer(*net.layer, {{.shape = net.sizes, .name = "x"}});
      std::vector<std::vector<std::string>> sets = {all, {}};
      for (const std::string& name : all) sets.push_back({"freeze_states", name});
      for (const std::vector<std::string>& on : sets) {
        const std::string who = device.name() + " " + net.name + " " + (on.empty() ? "none" : on.back());
        Config config(program);
        config.set_device(device);
        for (const std::string& name : graph::all_but(on)) config.delete_pass(name);
        const Tensor got = create_predictor(config).run({{net.x}})[0];
        const bool rounds = std::any_of(on.begin(), on.end(), [&](const std::string& name) {
          return std::count(rounding.begin(), rounding.end(), name) > 0;
        });
        if (rounds) graph::expect_close(got, want, kRoom, who);
        else expect_same(got, want, who);
      }
    }
  }
}

TEST(Passes, FindWhatANetworkConsistsOf) {
  std::vector<std::string> want = {
      "matrix_transpose matmul add gelu matrix_transpose matmul add",
      "conv relu conv conv add relu mean",
      "",
  };
  std::vector<Net> all = nets();
  for (size_t i = 0; i < want.size(); ++i) {
    Net& net = all[i];
    net.layer->eval();
    NoGrad off;
    graph::Program p = graph::capture(
        [&](std::span<const Tensor> x) { return std::vector<Tensor>{(*net.layer)(x[0])}; }, graph::types_of({net.x}));
    Status s = graph::compile(p);
    ASSERT_TRUE(s.ok()) << s.text();
    const std::string ops = graph::ops_of(p);
    if (!want[i].empty()) {
      EXPECT_EQ(ops, want[i]) << net.name;
      continue;
    }
    EXPECT_NE(ops.find("attention"), ops.npos) << ops;
    EXPECT_NE(ops.find("layer_norm"), ops.npos) << ops;
    EXPECT_NE(ops.find("gelu"), ops.npos) << ops;
    EXPECT_NE(ops.find("silu"), ops.npos) << ops;
    for (const char* gone : {"softmax", "exp", "sqrt", "erf", "sigmoid", "subtract"})
      EXPECT_EQ(ops.find(gone), ops.npos) << ops;
  }
}

// All passes on, rows as many as they come.
TEST(Passes, FiftyInputsOnSim) {
  std::vector<Net> all = nets();
  Net& net = all[2];
  net.layer->eval();
  jit::ExportedProgram program = jit::export_layer(*net.layer, {{.shape = net.sizes, .name = "x"}});
  Predictor there = create_predictor(Config(program).set_device(sim()));
  for (int64_t seed = 0; seed < 50; ++seed) {
    const Tensor x = uniform({1 + seed % 4, 5, 8}, seed);
    graph::expect_close(there.run({{x}})[0], (*net.layer)(x), kRoom, "seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace oarlock::inference
