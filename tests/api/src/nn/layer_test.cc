#include <oarlock/nn/containers.h>
#include <oarlock/nn/layer.h>
#include <oarlock/nn/linear.h>

#include "api/near.h"

namespace oarlock::nn {
namespace {

struct Net : Layer {
  std::shared_ptr<Linear> fc = add_sublayer("fc", std::make_shared<Linear>(3, 2));
  Tensor& scale = add_parameter("scale", full({2}, 2));
  Tensor& seen = add_buffer("seen", full({1}, 0));
  Tensor& scratch = add_buffer("scratch", full({1}, 0), {.persistable = false});
  Tensor forward(const Tensor& x) override { return (*fc)(x)*scale; }
};
struct Two : Layer {  // several in, several out
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {in[0] + in[1], in[0] - in[1]}; }
};
struct Nothing : Layer {};
std::vector<std::string> names(const NamedTensors& named) {
  std::vector<std::string> out;
  for (auto& [name, tensor] : named) out.push_back(name);
  return out;
}
using Names = std::vector<std::string>;

TEST(Layers, NamesComeInTorchsOrder) {
  Net net;
  EXPECT_EQ(names(net.named_parameters()), (Names{"scale", "fc.weight", "fc.bias"}));
  EXPECT_EQ(names(net.named_parameters("net", false)), (Names{"net.scale"}));
  EXPECT_EQ(names(net.named_buffers()), (Names{"seen", "scratch"}));
  EXPECT_EQ(names(net.state_dict()), (Names{"scale", "seen", "fc.weight", "fc.bias"}));
  EXPECT_EQ(names(net.state_dict("m")), (Names{"m.scale", "m.seen", "m.fc.weight", "m.fc.bias"}));
  EXPECT_EQ(net.parameters().size(), 3u);
  EXPECT_EQ(net.parameter("fc.weight").impl(), net.fc->weight.impl());
  EXPECT_EQ(net.buffer("seen").impl(), net.seen.impl());
  EXPECT_EQ(net.sublayer("fc").get(), net.fc.get());
  EXPECT_ERROR(net.parameter("fc.wait"), "Linear: there is no parameter \"wait\"; there are weight, bias.");
  EXPECT_ERROR(net.parameter("fd.weight"), "Net: there is no sublayer \"fd\"");
  EXPECT_ERROR(net.sublayer("fd"), "there are fc");
}
TEST(Layers, ForwardInBothForms) {
  Net net;
  net.fc->weight = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  net.fc->bias = Tensor::of<float>({10, 20}, {2});
  Tensor x = Tensor::of<float>({1, 1, 1}, {1, 3});
  expect_near(net(x), {2 * (6 + 10), 2 * (15 + 20)});
  expect_near(net.call({x})[0], {32, 70});
  Two two;
  auto both = two.call({x, x * 2.0});
  ASSERT_EQ(both.size(), 2u);
  expect_near(both[1], {-1, -1, -1});
  EXPECT_ERROR(two(x, x), "gives 2 tensors, one was asked for");
  EXPECT_ERROR(net(x, x), "takes one input, given 2");
  Nothing nothing;
  EXPECT_ERROR(nothing(x), "Nothing: it has no forward");
  EXPECT_ERROR(nothing.call({x}), "Nothing: it has no forward");
  EXPECT_ERROR(net(Tensor::of<float>({1, 2}, {1, 2})), "in_features is 3, x has shape [1, 2]");
}
TEST(Layers, RegistrationRefusesWhatHasNoPlace) {
  Net net;
  EXPECT_ERROR(net.add_parameter("", full({1}, 0)), "has no name");
  EXPECT_ERROR(net.add_buffer("a.b", full({1}, 0)), "dot in its name");
  EXPECT_ERROR(net.add_parameter("fc", full({1}, 0)), "something of that name already");
  EXPECT_ERROR(net.add_parameter("n", full({1}, 0, DType::i64)), "dtype i64, parameters are floating");
  EXPECT_ERROR(net.add_sublayer("l", std::shared_ptr<Linear>()), "is null");
  auto a = std::make_shared<Sequential>(), b = std::make_shared<Sequential>();
  a->append(b);
  EXPECT_ERROR(b->append(a), "would hold itself");
  EXPECT_ERROR(a->append(a), "would hold itself");
  EXPECT_ERROR(net.remove("none"), "no \"none\" to remove");
}
TEST(Layers, ASharedParameterCountsOnce) {
  struct Tied : Layer {
    std::shared_ptr<Embedding> in = add_sublayer("in", std::make_shared<Embedding>(5, 4));
    std::shared_ptr<Linear> out = add_sublayer("out", std::make_shared<Linear>(4, 5, ParamAttr(), false));
    Tied() { out->weight = in->weight; }
  } net;
  EXPECT_EQ(names(net.named_parameters()), (Names{"in.weight"}));
  EXPECT_EQ(names(net.state_dict()), (Names{"in.weight", "out.weight"}));
  Tensor logits = (*net.out)((*net.in)(Tensor::of<int64_t>({1}, {1})));
  expect_near(logits, values(matmul(slice(net.in->weight, {1, 0}, {1, 4}), matrix_transpose(net.in->weight))), 1e-6);
  auto same = std::make_shared<Linear>(2, 2);
  Sequential twice(same, same);
  EXPECT_EQ(twice.parameters().size(), 2u);
  EXPECT_EQ(twice.sublayers().size(), 1u);
  EXPECT_EQ(names(twice.state_dict()), (Names{"0.weight", "0.bias", "1.weight", "1.bias"}));
  Tensor x = full({1, 2}, 1);
  EXPECT_EQ(values(twice(x)), values((*same)((*same)(x))));
}
TEST(Layers, StateDictRoundTrip) {
  Net a, b;
  a.seen = full({1}, 5);
  NamedTensors state = a.state_dict();
  EXPECT_FALSE(state[0].second.requires_grad());
  StateReport report = b.set_state_dict(state);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  for (auto& [name, tensor] : b.state_dict()) EXPECT_EQ(values(tensor), values(find(state, name))) << name;
  EXPECT_NE(b.fc->weight.impl(), a.fc->weight.impl());
  EXPECT_TRUE(b.fc->weight.requires_grad());
  Tensor x = full({1, 3}, 1);
  EXPECT_EQ(values(a(x)), values(b(x)));
}
TEST(Layers, StateThatDoesNotFitChangesNothing) {
  Net net;
  auto before = values(net.fc->bias);
  NamedTensors state{
      {"scale", full({2}, 9)}, {"fc.weight", full({3, 2}, 0)}, {"fc.bias", full({1}, 0)}, {"extra", full({1}, 0)}};
  EXPECT_ERROR(net.set_state_dict(state),
               "set_state_dict of Net: shapes disagree: fc.weight is [2, 3] here, [3, 2] in the state, fc.bias is [2] "
               "here, [1] in the state. missing: seen. unexpected: extra.");
  EXPECT_ERROR(net.set_state_dict(state, false), "fc.weight is [2, 3] here");
  EXPECT_EQ(values(net.scale), (std::vector<double>{2, 2}));
  EXPECT_EQ(values(net.fc->bias), before);
  state = {{"scale", full({2}, 9, DType::f64)}, {"extra", full({1}, 0)}};
  EXPECT_ERROR(net.set_state_dict(state), "missing: seen, fc.weight, fc.bias. unexpected: extra. Rename them");
  StateReport report = net.set_state_dict(state, false);
  EXPECT_EQ(report.missing, (Names{"seen", "fc.weight", "fc.bias"}));
  EXPECT_EQ(report.unexpected, (Names{"extra"}));
  expect_near(net.scale, {9, 9});
  EXPECT_EQ(net.scale.dtype(), DType::f32);
  state.push_back(state[0]);
  EXPECT_ERROR(net.set_state_dict(state, false), "\"scale\" twice");
}
TEST(Layers, DtypeChangesInPlace) {
  Net net;
  Tensor handle = net.fc->weight;
  net.fc->weight.set_grad(full({2, 3}, 1));
  net.add_buffer("count", full({1}, 3, DType::i64));
  net.to(DType::f64);
  EXPECT_EQ(handle.dtype(), DType::f64);
  EXPECT_EQ(handle.grad().dtype(), DType::f64);
  EXPECT_TRUE(handle.requires_grad());
  EXPECT_EQ(net.seen.dtype(), DType::f64);
  EXPECT_EQ(net.buffer("count").dtype(), DType::i64);
  EXPECT_EQ(net(full({1, 3}, 1, DType::f64)).dtype(), DType::f64);
  EXPECT_ERROR(net.to(DType::i32), "dtype is i32");
}
TEST(Layers, OldElementsAreNotTakenForNewOnes) {
  Tensor w = Tensor::of<float>({2}, {1}), x = Tensor::of<float>({3}, {1});
  w.set_requires_grad();
  x.set_requires_grad();
  Tensor y = w * x;
  w.set_data(Tensor::of<float>({5}, {1}));
  EXPECT_ERROR(y.backward(), "was written to after this call was recorded");
  EXPECT_ERROR((w * x).set_data(w), "only leaves can be set");
  EXPECT_ERROR(w.set_data(Tensor::of<int64_t>({1}, {1})), "only floating dtypes");
}
TEST(Layers, ModeFreezingAndGradients) {
  Net net;
  auto drop = net.add_sublayer("drop", std::make_shared<Dropout>());
  EXPECT_TRUE(net.training() && drop->training());
  net.eval();
  EXPECT_FALSE(net.training() || drop->training());
  net.train();
  EXPECT_TRUE(drop->training());
  sum(net(full({1, 3}, 1))).backward();
  EXPECT_TRUE(net.scale.grad().defined());
  net.clear_gradients();
  EXPECT_FALSE(net.scale.grad().defined());
  net.freeze();
  EXPECT_FALSE(net(full({1, 3}, 1)).requires_grad());
  net.unfreeze();
  EXPECT_TRUE(net(full({1, 3}, 1)).requires_grad());
  std::string order;
  net.apply([&](Layer& l) { order += l.type_name() + " "; });
  EXPECT_EQ(order, "Linear Dropout Net ");
}
TEST(Layers, HooksSeeAndReplace) {
  Net net;
  Tensor x = full({1, 3}, 1);
  auto plain = values(net(x));
  int calls = 0;
  HookHandle pre = net.register_forward_pre_hook([&](Layer& l, std::span<const Tensor> in) {
    EXPECT_EQ(&l, &net);
    ++calls;
    return std::vector<Tensor>{in[0] * 0.0};
  });
  HookHandle post =
      net.register_forward_post_hook([&](Layer&, std::span<const Tensor> in, std::span<const Tensor> out) {
        EXPECT_EQ(values(in[0]), (std::vector<double>{0, 0, 0}));
        EXPECT_EQ(values(out[0]), values(net.fc->bias * 2.0));
        return std::vector<Tensor>{out[0] + 1.0};
      });
  expect_near(net(x), values(net.fc->bias * 2.0 + 1.0));
  EXPECT_EQ(calls, 1);
  post.remove();
  expect_near(net(x), values(net.fc->bias * 2.0));
  pre.remove();
  pre.remove();
  EXPECT_EQ(values(net(x)), plain);
  EXPECT_EQ(calls, 2);
  HookHandle self;
  self = net.register_forward_pre_hook([&](Layer&, std::span<const Tensor>) {
    self.remove();  // while the hooks run
    ++calls;
    return std::vector<Tensor>();
  });
  net(x);
  net(x);
  EXPECT_EQ(calls, 3);
  HookHandle outlives;
  {
    Net gone;
    outlives = gone.register_forward_pre_hook([](Layer&, std::span<const Tensor>) { return std::vector<Tensor>(); });
  }
  outlives.remove();
}
TEST(Layers, PrintAsTorchDoes) {
  auto inner = std::make_shared<Sequential>(std::vector<std::pair<std::string, LayerPtr>>{
      {"a", std::make_shared<Linear>(2, 3)}, {"b", std::make_shared<Identity>()}});
  Sequential net(inner, std::make_shared<Dropout>(0.1), std::make_shared<Linear>(3, 1, ParamAttr(), false));
  EXPECT_EQ(net.to_string(),
            "Sequential(\n"
            "  (0): Sequential(\n"
            "    (a): Linear(in_features=2, out_features=3, bias=True)\n"
            "    (b): Identity()\n"
            "  )\n"
            "  (1): Dropout(p=0.1)\n"
            "  (2): Linear(in_features=3, out_features=1, bias=False)\n"
            ")");
  EXPECT_EQ(Net().type_name(), "Net");
}

}  // namespace
}  // namespace oarlock::nn
