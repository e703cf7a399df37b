// Calls of the ops of networks for gradient_test.cc.
#include "tests/ops/gradient_cases.h"

namespace oarlock::test {

std::vector<GradientCase> nn_gradient_cases() {
  Tensor labels = Tensor::of<int64_t>({2, 0, 1, 1}, {4}), rows = Tensor::of<int64_t>({3, -1, 0, 3, 1, 1}, {2, 3});
  Tensor weight = random_f64({3}, 4, 0.5, 2);
  return {
      {"conv",
       [](const In& x) {
         return In{conv(x[0], x[1], x[2], {2, 1}, {1, 0, 0, 2}, {1, 2})};
       },
       {r({2, 3, 5, 6}), q({4, 3, 3, 2}), r({4})}},
      {"conv, of groups",
       [](const In& x) { return In{conv(x[0], x[1], {}, {1}, {1}, {1}, 2)}; },
       {r({2, 4, 5}), q({6, 2, 3})}},
      {"conv, three axes", [](const In& x) { return In{conv(x[0], x[1])}; }, {r({1, 2, 3, 4, 3}), q({2, 2, 2, 2, 2})}},
      {"conv, without images",
       [](const In& x) { return In{conv(x[0], x[1], x[2])}; },
       {r({0, 2, 3}), q({3, 2, 2}), r({3})}},
      {"conv, without channels",
       [](const In& x) { return In{conv(x[0], x[1], x[2])}; },
       {r({2, 0, 3}), q({3, 0, 2}), r({3})}},
      {"conv, without elements",
       [](const In& x) {
         return In{conv(x[0], x[1], x[2], {}, {1}), conv(x[0], x[1], x[2])};
       },
       {r({2, 2, 0}), q({3, 2, 2}), r({3})}},
      {"conv, without results",
       [](const In& x) { return In{conv(x[0], x[1], x[2])}; },
       {r({2, 2, 3}), q({0, 2, 2}), r({0})}},
      {"conv_input_gradient",
       [](const In& x) {
         return In{conv_input_gradient(x[0], x[1], {5, 6}, {2, 1}, {1, 0, 0, 2}, {1, 2})};
       },
       {r({2, 4, 2, 6}), q({4, 3, 3, 2})}},
      {"conv_weight_gradient",
       [](const In& x) {
         return In{conv_weight_gradient(x[0], x[1], {3, 2}, {2, 1}, {1, 0, 0, 2}, {1, 2})};
       },
       {r({2, 4, 2, 6}), q({2, 3, 5, 6})}},
      {"max_pool",
       [](const In& x) {
         return In{max_pool(x[0], {3, 2}, {2}, {1, 0}), max_pool(x[0], {2}, {2}, {0}, {1}, true),
                   max_pool(x[0], {2}, {1}, {1}, {2})};
       },
       {apart({1, 2, 5, 5})}},
      {"max_pool, without elements",
       [](const In& x) {
         return In{max_pool(x[0], {3, 2}, {1}, {1, 0}), max_pool(x[0], {1})};
       },
       {apart({1, 2, 0, 5})}},
      {"max_pool, without images", [](const In& x) { return In{max_pool(x[0], {2})}; }, {apart({0, 2, 5})}},
      {"avg_pool",
       [](const In& x) {
         return In{avg_pool(x[0], {3, 2}, {2}, {1, 0}), avg_pool(x[0], {2}, {2}, {1}, {1}, true, true),
                   avg_pool(x[0], {2}, {1}, {1}, {2})};
       },
       {r({1, 2, 5, 5})}},
      {"avg_pool, without elements",
       [](const In& x) {
         return In{avg_pool(x[0], {3, 2}, {1}, {1, 0}), avg_pool(x[0], {1})};
       },
       {r({1, 2, 0, 5})}},
      {"avg_pool_gradient",
       [](const In& x) {
         return In{avg_pool_gradient(x[0], {5, 5}, {3, 2}, {2}, {1, 0})};
       },
       {r({1, 2, 3, 2})}},
      {"batch_norm",
       [](const In& x) {
         auto a = batch_norm(x[0], full({3}, 0.5, DType::f64), full({3}, 2, DType::f64), x[1], x[2]);
         auto b = batch_norm(x[0], full({3}, 0.5, DType::f64), full({3}, 2, DType::f64), x[1], {}, false);
         auto c = batch_norm(x[0], full({3}, 0.5, DType::f64), full({3}, 2, DType::f64), {}, x[2]);
         return In{a.out, a.new_mean, a.new_var, b.out, c.out};
       },
       {r({4, 3, 2}), q({3}), r({3})}},
      {"batch_norm, without axes behind",
       [](const In& x) {
         return In{batch_norm(x[0], full({3}, 0.5, DType::f64), full({3}, 2, DType::f64), x[1], x[2]).out};
       },
       {r({4, 3}), q({3}), r({3})}},
      {"batch_norm, statistics alone",
       [](const In& x) {
         auto a = batch_norm(x[0], full({3}, 0.5, DType::f64), full({3}, 2, DType::f64));
         return In{a.new_mean, a.new_var};
       },
       {r({4, 3, 2})}},
      {"batch_norm, without images",
       [](const In& x) {
         auto a = batch_norm(x[0], full({3}, 0.5, DType::f64), full({3}, 2, DType::f64), x[1], x[2]);
         return In{a.out, a.new_mean, a.new_var};
       },
       {r({0, 3, 2}), q({3}), r({3})}},
      {"batch_norm_gradient",
       [](const In& x) {
         auto a = batch_norm_gradient(x[0], x[1], x[2], x[3], x[4]);
         auto b = batch_norm_gradient(x[0], x[1], x[2], x[3], {}, false);
         return In{a.dx, a.dscale, a.dbias, b.dx};
       },
       {r({4, 3, 2}), q({4, 3, 2}), r({3}), q({3}, 0.5, 2), r({3})}},
      {"conv_transpose",
       [](const In& x) {
         return In{conv_transpose(x[0], x[1], x[2], {2, 1}, {1, 0}, {1, 2}, 2, {1, 0}),
                   conv_transpose(x[0], x[1], {}, {1, 2}, {1}, {2, 3}, 2, {1, 2})};
       },
       {r({1, 4, 2, 3}), q({4, 2, 2, 2}), r({4})}},
      {"conv_transpose, without elements",
       [](const In& x) { return In{conv_transpose(x[0], x[1], x[2])}; },
       {r({1, 2, 0}), q({2, 3, 2}), r({3})}},
      {"conv_transpose, without channels",
       [](const In& x) { return In{conv_transpose(x[0], x[1], x[2])}; },
       {r({1, 0, 2}), q({0, 3, 2}), r({3})}},
      {"adaptive_avg_pool",
       [](const In& x) {
         return In{adaptive_avg_pool(x[0], {3, 2}), adaptive_avg_pool(x[0], {1, 1}), adaptive_avg_pool(x[0], {5, 2}),
                   adaptive_avg_pool(x[0], {0, 2}), adaptive_avg_pool(x[0], {7, 4})};
       },
       {r({1, 2, 5, 4})}},
      {"adaptive_avg_pool, without elements",
       [](const In& x) {
         return In{adaptive_avg_pool(x[0], {3, 2})};
       },
       {r({1, 2, 5, 0})}},
      {"adaptive_max_pool",
       [](const In& x) {
         return In{adaptive_max_pool(x[0], {3, 2}), adaptive_max_pool(x[0], {1, 1}), adaptive_max_pool(x[0], {5, 2}),
                   adaptive_max_pool(x[0], {7, 4})};
       },
       {apart({1, 2, 5, 4})}},
      {"layer_norm",
       [](const In& x) {
         return In{layer_norm(x[0], x[1], x[2]), layer_norm(x[0], x[1]), layer_norm(x[0], {}, x[2])};
       },
       {r({2, 3, 4}), q({4}), r({4})}},
      {"layer_norm, without rows",
       [](const In& x) { return In{layer_norm(x[0], x[1], x[2])}; },
       {r({0, 4}), q({4}), r({4})}},
      {"layer_norm, without elements",
       [](const In& x) { return In{layer_norm(x[0], x[1], x[2])}; },
       {r({2, 0}), q({0}), r({0})}},
      {"layer_norm_gradient",
       [](const In& x) {
         auto d = layer_norm_gradient(x[0], x[1], x[2], x[3], x[4]);
         return In{d.dx, d.dscale, d.dbias};
       },
       {r({2, 3}), q({2, 3}), r({2}), q({2}, 0.5, 2), r({3})}},
      {"rms_norm",
       [](const In& x) {
         return In{rms_norm(x[0], x[1]), rms_norm(x[0])};
       },
       {r({2, 3, 4}), q({4})}},
      {"rms_norm, without elements", [](const In& x) { return In{rms_norm(x[0], x[1])}; }, {r({2, 0}), q({0})}},
      {"rms_norm_gradient",
       [](const In& x) {
         auto d = rms_norm_gradient(x[0], x[1], x[2], x[3]);
         return In{d.dx, d.dscale};
       },
       {r({2, 3}), q({2, 3}), r({2}, 0.5, 2), q({3})}},
      {"group_norm", [](const In& x) { return In{group_norm(x[0], 2, x[1], x[2])}; }, {r({2, 4, 3}), q({4}), r({4})}},
      {"group_norm, without elements",
       [](const In& x) { return In{group_norm(x[0], 2, x[1], x[2])}; },
       {r({2, 4, 0}), q({4}), r({4})}},
      {"instance_norm",
       [](const In& x) { return In{instance_norm(x[0], x[1], x[2])}; },
       {r({2, 3, 4}), q({3}), r({3})}},
      {"instance_norm, without images",
       [](const In& x) { return In{instance_norm(x[0], x[1], x[2])}; },
       {r({0, 3, 4}), q({3}), r({3})}},
      {"attention",
       [](const In& x) {
         return In{attention(x[0], x[1], x[2]), attention(x[0], x[1], x[2], {}, true, 0.7)};
       },
       {r({2, 3, 4}), q({1, 3, 4}), r({2, 3, 2})}},
      {"attention, masks",
       [](const In& x) {
         Tensor may = Tensor::of<bool>({false, true, true, false, false, false}, {2, 3});
         Tensor more = random_f64({2, 3}, 3);
         return In{attention(x[0], x[1], x[2], may), attention(x[0], x[1], x[2], more)};
       },
       {r({2, 4}), q({3, 4}), r({2, 3, 2})}},
      {"attention, of nothing",
       [](const In& x) { return In{attention(x[0], x[1], x[2])}; },
       {r({2, 3, 4}), q({0, 4}), r({0, 2})}},
      {"attention, one key",
       [](const In& x) { return In{attention(x[0], x[1], x[2])}; },
       {r({3, 4}), q({1, 4}), r({1, 2})}},
      {"attention_gradient",
       [](const In& x) {
         auto d = attention_gradient(x[0], x[1], x[2], x[3], x[4], x[5]);
         return In{d.dq, d.dk, d.dv};
       },
       {r({2, 3, 2}), q({2, 3, 4}), r({2, 3, 4}), q({2, 3, 2}), r({2, 3, 2}), q({2, 3}, 2, 3)}},
      {"sigmoid", [](const In& x) { return In{sigmoid(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"log_sigmoid", [](const In& x) { return In{log_sigmoid(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"silu", [](const In& x) { return In{silu(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"softsign", [](const In& x) { return In{softsign(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"mish", [](const In& x) { return In{mish(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"selu", [](const In& x) { return In{selu(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"hard_swish", [](const In& x) { return In{hard_swish(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"relu6", [](const In& x) { return In{relu6(x[0])}; }, {apart({2, 5}, 0.05)}},
      {"hard_tanh", [](const In& x) { return In{hard_tanh(x[0], -0.52, 0.71)}; }, {apart({2, 5}, 0.05)}},
      {"hard_sigmoid", [](const In& x) { return In{hard_sigmoid(x[0], 0.9)}; }, {apart({2, 5}, 0.05)}},
      {"relu_gradient",
       [](const In& x) {
         return In{relu_gradient(x[0], Tensor::of<double>({-1, 0.5, 2, 0}, {4}))};
       },
       {r({4})}},
      {"max_pool_gradient",
       [](const In& x) {
         return In{max_pool_gradient(x[0], Tensor::of<int64_t>({0, 3, 3, 6, 2, 5}, {1, 2, 3}), {6})};
       },
       {r({1, 2, 3})}},
      {"leaky_relu", [](const In& x) { return In{leaky_relu(x[0], 0.1)}; }, {apart({2, 5}, 0.05)}},
      {"elu", [](const In& x) { return In{elu(x[0], 0.7)}; }, {apart({2, 5}, 0.05)}},
      {"celu", [](const In& x) { return In{celu(x[0], 1.3)}; }, {apart({2, 5}, 0.05)}},
      {"softplus", [](const In& x) { return In{softplus(x[0], 2)}; }, {apart({2, 5}, 0.05)}},
      {"thresholded_relu", [](const In& x) { return In{thresholded_relu(x[0], 0.31, 2)}; }, {apart({2, 5}, 0.05)}},
      {"shrink", [](const In& x) { return In{shrink(x[0], 0.2, 0.51)}; }, {apart({2, 5}, 0.05)}},
      {"gelu",
       [](const In& x) {
         return In{gelu(x[0]), gelu(x[0], "tanh")};
       },
       {r({9}, -3, 3)}},
      {"gelu_gradient",
       [](const In& x) {
         return In{gelu_gradient(x[0], x[1]), gelu_gradient(x[0], x[1], "tanh")};
       },
       {r({9}), q({9})}},
      {"cross_entropy_gradient",
       [](const In& x) {
         return In{cross_entropy_gradient(x[0], x[1], Tensor::of<int64_t>({2, 0}, {2}))};
       },
       {r({2}), q({2, 3})}},
      {"glu",
       [](const In& x) {
         return In{glu(x[0]), glu(x[0], 0)};
       },
       {r({2, 4})}},
      {"prelu", two(prelu), {apart({2, 3}, 0.05), q({3})}},
      {"embedding",
       [=](const In& x) {
         return In{embedding(rows, x[0]), embedding(rows, x[0], -1)};
       },
       {r({4, 2})}},
      {"mse_loss",
       [](const In& x) {
         return In{mse_loss(x[0], x[1]), mse_loss(x[0], x[1], "none"), mse_loss(x[0], x[1], "sum")};
       },
       {apart({3, 4}), apart({3, 4}, 0.13)}},
      {"mse_loss, of nothing", [](const In& x) { return In{mse_loss(x[0], x[1], "sum")}; }, {r({0, 4}), r({0, 4})}},
      {"l1_loss",
       [](const In& x) {
         return In{l1_loss(x[0], x[1]), l1_loss(x[0], x[1], "none"), l1_loss(x[0], x[1], "sum")};
       },
       {apart({3, 4}), apart({3, 4}, 0.13)}},
      {"l1_loss, of nothing", [](const In& x) { return In{l1_loss(x[0], x[1], "sum")}; }, {r({0, 4}), r({0, 4})}},
      {"smooth_l1_loss",
       [](const In& x) {
         return In{smooth_l1_loss(x[0], x[1], 0.7), smooth_l1_loss(x[0], x[1], 0.7, "none"),
                   smooth_l1_loss(x[0], x[1], 0.7, "sum")};
       },
       {apart({3, 4}), apart({3, 4}, 0.13)}},
      {"smooth_l1_loss, of nothing",
       [](const In& x) { return In{smooth_l1_loss(x[0], x[1], 0.7, "sum")}; },
       {r({0, 4}), r({0, 4})}},
      {"huber_loss",
       [](const In& x) {
         return In{huber_loss(x[0], x[1], 0.7), huber_loss(x[0], x[1], 0.7, "none"),
                   huber_loss(x[0], x[1], 0.7, "sum")};
       },
       {apart({3, 4}), apart({3, 4}, 0.13)}},
      {"huber_loss, of nothing",
       [](const In& x) { return In{huber_loss(x[0], x[1], 0.7, "sum")}; },
       {r({0, 4}), r({0, 4})}},
      {"binary_cross_entropy",
       [](const In& x) {
         return In{binary_cross_entropy(x[0], x[1]), binary_cross_entropy(x[0], x[1], "none")};
       },
       {r({2, 3}, 0.1, 0.9), q({2, 3}, 0, 1)}},
      {"binary_cross_entropy_with_logits",
       [](const In& x) {
         Tensor weight = random_f64({3}, 4, 0.5, 2);
         return In{binary_cross_entropy_with_logits(x[0], x[1]),
                   binary_cross_entropy_with_logits(x[0], x[1], weight, "none"),
                   binary_cross_entropy_with_logits(x[0], x[1], weight)};
       },
       {r({2, 3}, 0.1, 2), q({2, 3}, 0, 1)}},
      {"kl_div",
       [](const In& x) {
         return In{kl_div(x[0], x[1]), kl_div(x[0], x[1], true), kl_div(x[0], x[1], false, "batchmean"),
                   kl_div(x[0], x[1], false, "none")};
       },
       {r({2, 3}), q({2, 3}, 0.1, 1)}},
      {"nll_loss",
       [=](const In& x) {
         return In{nll_loss(x[0], labels, weight, 1, 1), nll_loss(x[0], labels, {}, 1, -100, "none")};
       },
       {r({4, 3})}},
      {"cross_entropy_loss",
       [=](const In& x) {
         return In{cross_entropy_loss(x[0], labels, weight, 1, 1, 0.1), cross_entropy_loss(x[0], labels),
                   cross_entropy_loss(x[0], labels, {}, -1, -100, 0.2, "none")};
       },
       {r({4, 3})}},
      {"cross_entropy_loss, classes before places",
       [=](const In& x) {
         return In{cross_entropy_loss(x[0], reshape(labels, {2, 2}), weight, 1, -100, 0, "sum")};
       },
       {r({2, 3, 2})}},
      {"cross_entropy_loss, without rows",
       [](const In& x) { return In{cross_entropy_loss(x[0], Tensor::of<int64_t>({}, {0}), {}, 1, -100, 0.1, "sum")}; },
       {r({0, 3})}},
      {"resize",
       [](const In& x) {
         return In{resize(x[0], {5, 3}), resize(x[0], {2, 7}, "linear"),
                   resize(x[0], {5, 3}, "linear", "align_corners"), resize(x[0], {7, 2}, "cubic"),
                   resize(x[0], {5, 1}, "cubic", "asymmetric")};
       },
       {r({1, 2, 3, 4})}},
      {"resize, without elements",
       [](const In& x) {
         return In{resize(x[0], {0, 3}, "linear")};
       },
       {r({1, 2, 0, 4})}},
      {"resize_gradient",
       [](const In& x) {
         return In{resize_gradient(x[0], {5, 3}), resize_gradient(x[0], {2, 7}, "linear"),
                   resize_gradient(x[0], {7, 2}, "cubic")};
       },
       {r({1, 2, 3, 4})}},
  };
}

}  // namespace oarlock::test
