#include <oarlock/nn/transformer.h>

#include "api/nn/ramp.h"

namespace oarlock::nn {
namespace {

const std::vector<double> kSelf{0.3478232894, -0.3047678887, 0.04479410775, 0.4141522795, -0.9931543592, -3.061323758,
                                -2.927734563, 1.72926166,    -2.500868793,  0.7105432099, -0.9372063899, 0.8128417333};

TEST(Attention, SelfEqualsTorch) {
  MultiHeadAttention m(4, 2);
  expect_torch(
      fill(m), ramp({1, 3, 4}), {1, 3, 4}, kSelf,
      {{-3.284718811, -0.6718423607, 1.087722803, 2.730356367, 2.146902989, -1.784230908, 1.546818924, -1.335298356,
        -0.07038031525, 2.746640471, -1.868193727, -2.087312113},
       {-0.207292681,   -1.107669905,  0.428826662,    -0.4215536085,  0.1204334764,  0.6011975159,  -0.2406729796,
        0.2349740908,   -0.1373582763, 1.012903738,    -0.06522247124, -0.1648707909, -0.0877954593, 0.6811234223,
        -0.04842922516, -0.1008705973, -0.5960937481,  1.636682411,    0.2687572659,  -0.5960937481, -2.495703935,
        3.929820107,    1.709739914,   -2.495703935,   0.6421406268,   0.650339926,   -0.772208612,  0.6421406268,
        0.01254088735,  0.02633703461, -0.01780829428, 0.01254088735,  0.1255864695,  0.7131595603,  -0.2682183816,
        0.2974614695,   -0.2384202408, -0.6927327628,  0.3769667933,   -0.1290452408, -0.1403427428, -3.250258779,
        0.7903944985,   0.07840725724, -0.5084137284,  -1.132915974,   0.7349969231,  -0.3521637284},
       {0.8570437102, -0.4581624577, 0.1100500581, 0.05230055214, 0, 0, 0, 0, -0.6875, -0.4375, -0.875, -0.625},
       {0.1040210768, -0.1532050247, -0.2787370616, -2.912821915, -0.1077270755, 0.385852332, 1.316745232,
        -0.4015288939, 0.8259302519, -0.887391988, -0.4278177681, -2.613263951, 0.6141820996, -0.3483346313,
        1.167664526, -0.1019709298},
       {-0.25, 0.75, -1, 0}},
      1e-8);
}
TEST(Attention, MasksEqualTorch) {
  for (bool weights : {false, true}) {  // the fused op and the written-out way
    SCOPED_TRACE(weights);
    MultiHeadAttention m(4, 2, {.need_weights = weights});
    fill(m);
    Tensor x = ramp({1, 3, 4}),
           mask = Tensor::of<bool>({true, false, true, true, true, false, false, true, true}, {3, 3});
    std::vector<double> want{-2.421478002, 0.8302324106, -0.2789629208, -1.37725614, -0.9860471155, -3.080463004,
                             -2.940503892, 1.743822597,  -1.380161006,  1.103200376, -1.278101272,  -1.063631245};
    auto out = m.call({x, x, x, mask});
    expect_near(out[0], want, 1e-8);
    Tensor added = where(mask, full({}, 0, DType::f64), full({}, -INFINITY, DType::f64));
    expect_near(m.call({x, {}, {}, added})[0], want, 1e-8);
    if (weights) {
      expect_shape(out[1], {1, 2, 3, 3});
      expect_near(out[1],
                  {0.002265374055, 0, 0.9977346259, 0.4799852156, 0.5200147844, 0, 0, 0.6041068626, 0.3958931374,
                   0.1278967611, 0, 0.8721032389, 0.9995882768, 0.0004117232259, 0, 0, 0.06128422741, 0.9387157726},
                  1e-8);
    }
    out = m.call({ramp({1, 2, 4}), ramp({1, 3, 4}, 5), ramp({1, 3, 4}, 6)});
    expect_near(out[0],
                {-1.950435683, 0.4897021249, 0.06878118349, -1.555221242, -1.860688699, 0.1558934959, -1.127524459,
                 0.7378810267},
                1e-8);
    MultiHeadAttention causal(4, 2, {.need_weights = weights, .causal = true});
    fill(causal);
    expect_near(causal.call({x})[0],
                {-2.953125, -3.609375, -2.03125, 4.359375, -0.9860471155, -3.080463004, -2.940503892, 1.743822597,
                 kSelf[8], kSelf[9], kSelf[10], kSelf[11]},
                1e-8);
    // Nobody to look at: 0 before the last projection, its bias after it.
    out = m.call({x, x, x, full({3, 3}, 0, DType::boolean)});
    expect_near(slice(out[0], {0, 1, 0}, {1, 1, 4}), values(m.parameter("out_proj.bias")), 1e-12);
  }
}
TEST(Attention, OtherWidthsEqualTorch) {
  MultiHeadAttention m(4, 2, {.kdim = 3, .vdim = 2});
  std::string names;
  for (auto& [name, tensor] : m.state_dict()) names += name + " ";
  EXPECT_EQ(names, "q_proj_weight k_proj_weight v_proj_weight in_proj_bias out_proj.weight out_proj.bias ");
  fill(m);
  expect_near(m(ramp({1, 2, 4}), ramp({1, 3, 3}), ramp({1, 3, 2})),
              {-0.2641184886, -0.0141184886, 0.2358815114, 0.4858815114, 0.09150502605, 0.3415050261, 0.5915050261,
               0.8415050261},
              1e-8);
}
TEST(Attention, DropoutFollowsTheSeed) {
  MultiHeadAttention m(4, 2, {.dropout = 0.5});
  Tensor x = ramp({2, 5, 4}, 7, DType::f32);
  set_seed(4);
  auto a = values(m(x));
  EXPECT_NE(a, values(m(x)));
  set_seed(4);
  EXPECT_EQ(a, values(m(x)));
  m.eval();
  EXPECT_EQ(values(m(x)), values(m(x)));
}
TEST(Attention, WrongUseIsRefused) {
  EXPECT_ERROR(MultiHeadAttention(5, 2), "embed_dim is 5, num_heads 2");
  EXPECT_ERROR(MultiHeadAttention(4, 2, {.dropout = 2}), "dropout is 2");
  MultiHeadAttention m(4, 2);
  EXPECT_ERROR(m(full({2, 3}, 0)), "query has shape [2, 3], wants [N, L, 4]");
  EXPECT_ERROR(m(full({1, 2, 4}, 0), full({1, 2, 3}, 0)), "key has shape [1, 2, 3], wants [N, L, 4]");
  EXPECT_ERROR(m.call({}), "given 0 tensors");
}

TEST(Encoders, EqualTorch) {
  struct Golden {
    bool before;
    const char* activation;
    std::vector<double> want;
  };
  for (auto& [before, activation, want] :
       std::vector<Golden>{{false,
                            "relu",
                            {0.06251506789, 1.821979952, -0.08454235782, -1.731399059, 0.1432686204, 1.690088208,
                             -0.09250730107, -1.404475215}},
                           {false,
                            "gelu",
                            {-0.02941885014, 1.854941218, -0.08205457297, -1.989996512, 0.06793673508, 1.75964127,
                             -0.09367633447, -1.685591423}},
                           {true,
                            "relu",
                            {-0.8778700549, -1.846177332, -0.07730904263, 1.708140243, -2.550266473, -1.34186966,
                             -0.7119321369, 0.8947727109}},
                           {true,
                            "gelu",
                            {-0.9166016117, -2.066261588, -0.07665569656, 1.52744089, -2.416536858, -1.406251809,
                             -0.5327637119, 0.8758293724}}}) {
    SCOPED_TRACE(activation);
    TransformerEncoderLayer m(4, 2, 6, {.activation = activation, .normalize_before = before});
    m.eval();
    expect_torch(fill(m), ramp({1, 2, 4}), {1, 2, 4}, want, {}, 1e-8);
  }
}
TEST(Encoders, NamesAreTorchs) {
  auto layer = std::make_shared<TransformerEncoderLayer>(4, 2, 6);
  TransformerEncoder net(layer, 2, std::make_shared<LayerNorm>(4));
  std::string names, want;
  for (auto& [name, tensor] : net.state_dict()) names += name + " ";
  for (const char* i : {"0", "1"})
    for (const char* name : {"self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                             "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight",
                             "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"})
      want += std::string("layers.") + i + "." + name + " ";
  EXPECT_EQ(names, want + "norm.weight norm.bias ");
  EXPECT_EQ(net.sublayer("layers.0").get(), layer.get());
  net.eval();
  Tensor x = ramp({2, 3, 4}, 7, DType::f32);
  auto first = std::static_pointer_cast<Layer>(layer), second = net.sublayer("layers.1");
  EXPECT_EQ(values(net(x)), values((*net.sublayer("norm"))((*second)((*first)(x)))));
  EXPECT_ERROR(TransformerEncoder(layer, 0), "num_layers is 0");
  EXPECT_ERROR(TransformerEncoderLayer(4, 2, 6, {.activation = "tanh"}), "activation is \"tanh\"");
}
TEST(Encoders, CausalOnesDoNotSeeTheFuture) {
  TransformerEncoderLayer m(8, 2, 16, {.causal = true});
  m.eval();
  Tensor x = ramp({1, 6, 8}, 7, DType::f32), part = slice(x, {0, 0, 0}, {1, 3, 8});
  expect_near(slice(m(x), {0, 0, 0}, {1, 3, 8}), values(m(part)), 1e-5);
}

}  // namespace
}  // namespace oarlock::nn
