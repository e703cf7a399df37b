// Networks' ops against PyTorch 1.13.1 in f64: its outputs and gradients, each as one number.
#include <gtest/gtest.h>

#include <cmath>

#include <oarlock/base/autograd.h>
#include <oarlock/base/ops.h>

namespace oarlock {
namespace {

using In = std::vector<Tensor>;
struct Published {
  const char* name;
  In inputs;
  Tensor (*call)(const In&);
  std::vector<double> want;  // digests of the output and of the inputs' gradients
  double within = 1e-11;     // PyTorch keeps some constants in f32
};

// sin(0.7 * i + seed) at element i.
Tensor w(const Shape& shape, double seed, double scale = 1) {
  Tensor t = Tensor::empty(shape, DType::f64);
  for (int64_t i = 0; i < t.element_count(); ++i) t.data_as<double>()[i] = scale * std::sin(0.7 * double(i) + seed);
  return t;
}
Tensor all(const Shape& shape, double v) { return full(shape, v, DType::f64); }
Tensor labels() { return Tensor::of<int64_t>({2, 0, 1, -100, 1, 2, 0, 0}, {2, 4}); }

// The sum of element i times cos(0.3 * i): no two elements count alike.
double digest(const Tensor& t) {
  Tensor whole = t.detach().contiguous();
  double total = 0;
  for (int64_t i = 0; i < whole.element_count(); ++i) total += whole.data_as<double>()[i] * std::cos(0.3 * double(i));
  return total;
}

std::vector<Published> layers() {
  return {
      {"conv",
       {w({2, 4, 7, 6}, 1), w({6, 2, 3, 2}, 2), w({6}, 3)},
       [](const In& x) {
         return conv(x[0], x[1], x[2], {2, 1}, {1, 2}, {1, 2}, 2);
       },
       {22.7048339671447, -4.90215323819309, 6.43172181856202, -0.929303515611875}},
      {"conv, one axis",
       {w({2, 3, 9}, 1), w({4, 3, 3}, 2)},
       [](const In& x) { return conv(x[0], x[1], {}, {2}, {1}, {2}); },
       {-0.0081823220970755, -3.80048185418659, -5.16228863469453}},
      {"conv, three axes",
       {w({1, 2, 4, 3, 5}, 1), w({3, 2, 2, 2, 3}, 2)},
       [](const In& x) { return conv(x[0], x[1], {}, {1}, {1}); },
       {1.00217971980622, 6.41335516119968, 5.8177711686223}},
      {"conv_transpose",
       {w({2, 4, 3, 4}, 1), w({4, 3, 3, 2}, 2), w({6}, 3)},
       [](const In& x) {
         return conv_transpose(x[0], x[1], x[2], {2, 1}, {1, 0}, {1, 2}, 2, {1, 0});
       },
       {28.6312115887859, -1.04627861038461, 1.08712549002616, 0.668646119058213}},
      {"conv_transpose, padded by less than the dilation",
       {w({1, 2, 4}, 1), w({2, 3, 2}, 2)},
       [](const In& x) { return conv_transpose(x[0], x[1], {}, {1}, {1}, {3}, 1, {2}); },
       {8.27483782818719, -2.10311969667696, 3.63502855961468}},
      {"max_pool",
       {w({2, 2, 7, 6}, 1)},
       [](const In& x) {
         return max_pool(x[0], {3, 2}, {2}, {1}, {2, 1}, true);
       },
       {6.97735651518236, 1.18838509729609}},
      {"avg_pool",
       {w({2, 2, 7, 6}, 1)},
       [](const In& x) {
         return avg_pool(x[0], {3, 2}, {2}, {1}, {1}, true);
       },
       {-0.689128461400159, -0.800836549292147}},
      {"avg_pool, with padding",
       {w({2, 2, 7, 6}, 1)},
       [](const In& x) {
         return avg_pool(x[0], {3, 2}, {2}, {1}, {1}, true, true);
       },
       {-0.371258000901559, -0.270996452264573}},
      {"adaptive_avg_pool",
       {w({2, 2, 7, 5}, 1)},
       [](const In& x) {
         return adaptive_avg_pool(x[0], {3, 2});
       },
       {0.428874971137982, -1.30437856880115}},
      {"adaptive_avg_pool, more",
       {w({2, 2, 3, 5}, 1)},
       [](const In& x) {
         return adaptive_avg_pool(x[0], {5, 7});
       },
       {19.0810903920937, -1.44761173689906}},
      {"adaptive_max_pool",
       {w({2, 2, 7, 5}, 1)},
       [](const In& x) {
         return adaptive_max_pool(x[0], {3, 2});
       },
       {2.54587756103711, -1.23220254486427}},
      {"batch_norm",
       {w({3, 4, 2}, 1), w({4}, 2), w({4}, 3)},
       [](const In& x) { return batch_norm(x[0], all({4}, 0.25), all({4}, 2), x[1], x[2]).out; },
       {-1.01760917754595, 4.18130026729147, 4.60696140818395, 0.0708645510917176}},
      {"batch_norm, running",
       {w({3, 4, 2}, 1), w({4}, 2), w({4}, 3)},
       [](const In& x) { return batch_norm(x[0], all({4}, 0.25), all({4}, 2), x[1], x[2], false).out; },
       {-0.81310341396632, 0.976833365878768, 4.28772103572344, 0.0708645510917176}},
      {"layer_norm",
       {w({3, 2, 5}, 1), w({5}, 2), w({5}, 3)},
       [](const In& x) { return layer_norm(x[0], x[1], x[2]); },
       {2.23792575829376, -0.199035564010832, 4.50868022255806, 1.5078075778385}},
      {"group_norm",
       {w({3, 4, 5}, 1), w({4}, 2), w({4}, 3)},
       [](const In& x) { return group_norm(x[0], 2, x[1], x[2]); },
       {11.1274991259582, -0.305477878862712, 20.1662372769123, -1.71722231760908}},
      {"instance_norm",
       {w({3, 4, 5}, 1), w({4}, 2), w({4}, 3)},
       [](const In& x) { return instance_norm(x[0], x[1], x[2]); },
       {16.284182566398, 2.79935739216458, 18.7156757926278, -1.71722231760908}},
      {"rms_norm",
       {w({3, 5}, 1), w({5}, 2)},
       [](const In& x) { return rms_norm(x[0], x[1]); },
       {0.285551177004818, 1.86056787886152, 4.29669278318691}},
      {"attention",
       {w({2, 3, 4}, 1), w({2, 5, 4}, 2), w({2, 5, 2}, 3)},
       [](const In& x) { return attention(x[0], x[1], x[2]); },
       {0.600620030081494, 0.269654305138707, -0.573877512011432, -0.615993093329471}},
      {"attention, causal",
       {w({2, 3, 4}, 1), w({2, 5, 4}, 2), w({2, 5, 2}, 3)},
       [](const In& x) { return attention(x[0], x[1], x[2], {}, true, 0.3); },
       {0.600016841524211, 0.0403483070723104, 0.0800637261736411, -2.76165373829674}},
      {"prelu",
       {w({2, 3, 2}, 1), w({3}, 2)},
       [](const In& x) {
         return prelu(x[0], reshape(x[1], {3, 1}));
       },
       {0.167937901912633, -1.21434409142839, 0.929415047701228}},
      {"sigmoid",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return sigmoid(x[0]); },
       {0.525582905485646, -0.207638707527959}},
      {"log_sigmoid",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return log_sigmoid(x[0]); },
       {3.09471171811031, -1.00291464776811}},
      {"silu", {w({3, 4}, 0.1, 3)}, [](const In& x) { return silu(x[0]); }, {1.26779425188432, -0.6855040531795}},
      {"gelu", {w({3, 4}, 0.1, 3)}, [](const In& x) { return gelu(x[0]); }, {1.13674629121082, -0.691396057593054}},
      {"gelu, tanh",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return gelu(x[0], "tanh"); },
       {1.13664584506045, -0.691239276282365}},
      {"leaky_relu",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return leaky_relu(x[0], 0.1); },
       {1.47390148816222, -0.821878921412639}},
      {"elu", {w({3, 4}, 0.1, 3)}, [](const In& x) { return elu(x[0], 0.7); }, {2.0170006187937, -0.833882124224727}},
      {"selu", {w({3, 4}, 0.1, 3)}, [](const In& x) { return selu(x[0]); }, {3.38030046380382, -1.04515749088865}},
      {"celu",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return celu(x[0], 1.3); },
       {2.62879177768014, -0.96611530794852},
       1e-8},
      {"softplus",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return softplus(x[0], 2); },
       {1.21930857837554, -0.72642498087316}},
      {"softsign",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return softsign(x[0]); },
       {1.39920533551074, -0.19926654750613}},
      {"mish", {w({3, 4}, 0.1, 3)}, [](const In& x) { return mish(x[0]); }, {1.39357885558427, -0.68458217925909}},
      {"hard_sigmoid",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return hard_sigmoid(x[0], 1.0 / 6); },
       {0.468010632865725, -0.292498450006989},
       1e-8},
      {"hard_swish",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return hard_swish(x[0]); },
       {1.22074215208276, -0.648453652029751}},
      {"hard_tanh",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return hard_tanh(x[0], -0.5, 0.7); },
       {1.23376323087634, 0.0936690046141698}},
      {"relu6",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return relu6(multiply(x[0], all({}, 4))); },
       {3.52275935951528, -1.06919586453088}},
      {"thresholded_relu",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return thresholded_relu(x[0], 0.3, -2); },
       {1.6517006430255, -1.62749726753538}},
      {"shrink, hard",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return shrink(x[0], 0, 0.5); },
       {4.37149809982329, -1.8486596523533}},
      {"shrink, soft",
       {w({3, 4}, 0.1, 3)},
       [](const In& x) { return shrink(x[0], 0.5, 0.5); },
       {3.27856196310339, -1.8486596523533}},
      {"glu", {w({3, 4}, 0.1, 3)}, [](const In& x) { return glu(x[0], 1); }, {1.65108866640809, 2.39101111435666}},
  };
}

std::vector<Published> losses() {
  return {
      {"mse_loss, none",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return mse_loss(x[0], x[1], "none"); },
       {-1.47118756785592, 0.851372596123039, -0.851372596123039}},
      {"l1_loss, none",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return l1_loss(x[0], x[1], "none"); },
       {-0.839910407447019, 1.04052690781352, -1.04052690781352}},
      {"smooth_l1_loss, none",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return smooth_l1_loss(x[0], x[1], 0.5, "none"); },
       {-0.701864037370026, 0.622344806541361, -0.622344806541361}},
      {"huber_loss, none",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return huber_loss(x[0], x[1], 0.7, "none"); },
       {-0.467680167305309, 0.304336614023055, -0.304336614023055}},
      {"binary_cross_entropy_with_logits, none",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return binary_cross_entropy_with_logits(x[0], sigmoid(w({3, 4}, 2)), add(w({4}, 3), all({}, 2)), "none");
       },
       {-0.521759088238448, 0.310457550404316}},
      {"binary_cross_entropy, none",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return binary_cross_entropy(sigmoid(x[0]), sigmoid(w({3, 4}, 2)), "none");
       },
       {-0.535743373624148, 0.0845016676466786}},
      {"kl_div, none",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return kl_div(x[0], softmax(w({3, 4}, 2)), false, "none");
       },
       {-0.290261676427993, 0.291994550243973}},
      {"kl_div, logarithms, none",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return kl_div(x[0], x[1], true, "none"); },
       {-2.29103018664061, 2.46662802695755, -3.8485951201915}},
      {"nll_loss, none",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return nll_loss(x[0], labels(), add(w({3}, 3), all({}, 2)), 1, -100, "none"); },
       {-5.03269710304801, 0.784983122060754}},
      {"cross_entropy_loss, none",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return cross_entropy_loss(x[0], labels(), add(w({3}, 3), all({}, 2)), 1, -100, 0.1, "none"); },
       {3.41905207146368, 1.15599617450376}},
      {"cross_entropy_loss, plain, none",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return cross_entropy_loss(x[0], labels(), {}, 1, -100, 0, "none"); },
       {3.58660150486937, 1.31054077592637}},
      {"mse_loss, mean",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return mse_loss(x[0], x[1], "mean"); },
       {1.53197164445682, 0.21688978872998, -0.21688978872998}},
      {"l1_loss, mean",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return l1_loss(x[0], x[1], "mean"); },
       {1.13603497625734, 0.117987753380105, -0.117987753380105}},
      {"smooth_l1_loss, mean",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return smooth_l1_loss(x[0], x[1], 0.5, "mean"); },
       {0.894226971002519, 0.115609589545262, -0.115609589545262}},
      {"huber_loss, mean",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return huber_loss(x[0], x[1], 0.7, "mean"); },
       {0.564780678785156, 0.0757186915426001, -0.0757186915426001}},
      {"binary_cross_entropy_with_logits, mean",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return binary_cross_entropy_with_logits(x[0], sigmoid(w({3, 4}, 2)), add(w({4}, 3), all({}, 2)), "mean");
       },
       {0.930569994930996, 0.0270782318813942}},
      {"binary_cross_entropy, mean",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return binary_cross_entropy(sigmoid(x[0]), sigmoid(w({3, 4}, 2)), "mean");
       },
       {0.805860918583708, 0.0252620792266098}},
      {"kl_div, mean",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return kl_div(x[0], softmax(w({3, 4}, 2)), false, "mean");
       },
       {-0.449728823127195, 0.0155598738393104}},
      {"kl_div, logarithms, mean",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return kl_div(x[0], x[1], true, "mean"); },
       {-0.498054580415072, 0.189198783964439, -0.362801105088794}},
      {"nll_loss, mean",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return nll_loss(x[0], labels(), add(w({3}, 3), all({}, 2)), 1, -100, "mean"); },
       {0.583219356643764, -0.0487338201112084}},
      {"cross_entropy_loss, mean",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return cross_entropy_loss(x[0], labels(), add(w({3}, 3), all({}, 2)), 1, -100, 0.1, "mean"); },
       {2.51025257866494, 0.310967597754392}},
      {"cross_entropy_loss, plain, mean",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return cross_entropy_loss(x[0], labels(), {}, 1, -100, 0, "mean"); },
       {2.4573597861533, 0.309181602044558}},
      {"mse_loss, sum",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return mse_loss(x[0], x[1], "sum"); },
       {18.3836597334818, 2.60267746475976, -2.60267746475976}},
      {"l1_loss, sum",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return l1_loss(x[0], x[1], "sum"); },
       {13.6324197150881, 1.41585304056126, -1.41585304056126}},
      {"smooth_l1_loss, sum",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return smooth_l1_loss(x[0], x[1], 0.5, "sum"); },
       {10.7307236520302, 1.38731507454314, -1.38731507454314}},
      {"huber_loss, sum",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return huber_loss(x[0], x[1], 0.7, "sum"); },
       {6.77736814542187, 0.9086242985112, -0.9086242985112}},
      {"binary_cross_entropy_with_logits, sum",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return binary_cross_entropy_with_logits(x[0], sigmoid(w({3, 4}, 2)), add(w({4}, 3), all({}, 2)), "sum");
       },
       {11.166839939172, 0.32493878257673}},
      {"binary_cross_entropy, sum",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return binary_cross_entropy(sigmoid(x[0]), sigmoid(w({3, 4}, 2)), "sum");
       },
       {9.6703310230045, 0.303144950719318}},
      {"kl_div, sum",
       {w({3, 4}, 1, 2)},
       [](const In& x) {
         return kl_div(x[0], softmax(w({3, 4}, 2)), false, "sum");
       },
       {-5.39674587752634, 0.186718486071725}},
      {"kl_div, logarithms, sum",
       {w({3, 4}, 1, 2), w({3, 4}, 2)},
       [](const In& x) { return kl_div(x[0], x[1], true, "sum"); },
       {-5.97665496498087, 2.27038540757327, -4.35361326106553}},
      {"nll_loss, sum",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return nll_loss(x[0], labels(), add(w({3}, 3), all({}, 2)), 1, -100, "sum"); },
       {6.68397586885945, -0.558513145885891}},
      {"cross_entropy_loss, sum",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return cross_entropy_loss(x[0], labels(), add(w({3}, 3), all({}, 2)), 1, -100, 0.1, "sum"); },
       {28.7687084960507, 3.56383905251128}},
      {"cross_entropy_loss, plain, sum",
       {w({2, 3, 4}, 1, 2)},
       [](const In& x) { return cross_entropy_loss(x[0], labels(), {}, 1, -100, 0, "sum"); },
       {17.2015185030731, 2.16427121431191}},
  };
}

class Torch : public testing::TestWithParam<Published> {};
TEST_P(Torch, GivesTheSame) {
  const Published& p = GetParam();
  In leaves;
  for (auto& t : p.inputs) leaves.push_back(t.clone().set_requires_grad());
  Tensor out = p.call(leaves);
  EXPECT_NEAR(digest(out), p.want[0], 1e-12 * (1 + std::fabs(p.want[0])));
  sum(multiply(out, w(out.shape(), 2))).backward();
  for (size_t i = 0; i < leaves.size(); ++i) {
    ASSERT_TRUE(leaves[i].grad().defined()) << i;
    EXPECT_NEAR(digest(leaves[i].grad()), p.want[i + 1], p.within * (1 + std::fabs(p.want[i + 1]))) << "input " << i;
  }
}
auto named(const testing::TestParamInfo<Published>& info) {
  std::string name;
  for (const char* c = info.param.name; *c; ++c) name += std::isalnum(uint8_t(*c)) ? *c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Layers, Torch, testing::ValuesIn(layers()), named);
INSTANTIATE_TEST_SUITE_P(Losses, Torch, testing::ValuesIn(losses()), named);

}  // namespace
}  // namespace oarlock
