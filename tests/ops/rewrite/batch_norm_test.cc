// What goes into weights: batch norms with their running statistics, and additions for each channel.
#include "tests/ops/rewrite/rewritten.h"

namespace oarlock::graph {
namespace {

const Rewritten fold{{"fold_batch_norm"}, 2e-6}, bias_in{{"fold_conv_bias"}, 2e-6};

struct Parts {
  DType t;
  Tensor w, b, mean, var, scale, bias;
  explicit Parts(Shape weights, int64_t channels = 6, DType of = DType::f32)
      : t(of),
        w(cast(uniform(weights, 1), t)),
        b(cast(uniform({channels}, 2), t)),
        mean(uniform({channels}, 3)),
        var(uniform({channels}, 4, 0.5, 2)),
        scale(uniform({channels}, 5)),
        bias(uniform({channels}, 6)) {}
  Tensor norm(const Tensor& x, bool training = false) const {
    return batch_norm(x, mean, var, scale, bias, training, 0.9, 1e-3).out;
  }
};
Tensor image() { return uniform({2, 3, 7, 7}, 9); }

TEST(FoldBatchNorm, IntoAConvolution) {
  const Parts p({6, 3, 3, 3});
  EXPECT_EQ(fold([&](const Tensor& x) { return p.norm(conv(x, p.w, p.b)); }, image()), "conv");
  EXPECT_EQ(fold([&](const Tensor& x) { return p.norm(conv(x, p.w, {}, {2, 1}, {1}, {1, 2})); }, image()), "conv");
  EXPECT_EQ(
      fold([&](const Tensor& x) { return relu(batch_norm(conv(x, p.w), p.mean, p.var, {}, {}, false).out); }, image()),
      "conv relu");
  const Parts grouped({6, 1, 3, 3});
  EXPECT_EQ(fold([&](const Tensor& x) { return grouped.norm(conv(x, grouped.w, grouped.b, {}, {}, {}, 3)); }, image()),
            "conv");
  const Parts wide({6, 3, 3, 3}, 6, DType::f64);
  EXPECT_EQ(fold([&](const Tensor& x) { return wide.norm(conv(x, wide.w, wide.b)); }, cast(image(), DType::f64)),
            "conv");
}
TEST(FoldBatchNorm, IntoAMatrixProduct) {
  const Parts p({6, 4}), rows({4, 6});
  const Tensor x = uniform({5, 4}, 9);
  EXPECT_EQ(fold([&](const Tensor& a) { return p.norm(add(matmul(a, matrix_transpose(p.w)), p.b)); }, x),
            "matrix_transpose matmul add");
  EXPECT_EQ(fold([&](const Tensor& a) { return rows.norm(matmul(a, rows.w)); }, x), "matmul add");
}
TEST(FoldBatchNorm, NotWhereItCannotGo) {
  const Parts p({6, 3, 3, 3}), half({6, 3, 3, 3}, 6, DType::f16), square({6, 6});
  const Rewritten loose{{"fold_batch_norm"}, 2e-3};
  EXPECT_EQ(fold([&](const Tensor& x) { return p.norm(conv(x, p.w, p.b), true); }, image()), "conv batch_norm")
      << "of its own statistics";
  EXPECT_EQ(loose([&](const Tensor& x) { return half.norm(conv(x, half.w, half.b)); }, cast(image(), DType::f16)),
            "conv batch_norm");
  EXPECT_EQ(fold(
                [&](std::span<const Tensor> x) {
                  Tensor y = conv(x[0], p.w, p.b);
                  return std::vector<Tensor>{p.norm(y), y};
                },
                std::vector<Tensor>{image()}),
            "conv batch_norm")
      << "what goes in is a result";
  EXPECT_EQ(fold(
                [&](std::span<const Tensor> x) {
                  return std::vector<Tensor>{p.norm(conv(x[0], p.w, p.b)), conv(x[1], p.w)};
                },
                std::vector<Tensor>{image(), image()}),
            "conv batch_norm conv")
      << "the weights are those of another as well";
  EXPECT_EQ(fold([&](std::span<const Tensor> x) { return std::vector<Tensor>{p.norm(conv(x[0], x[1], p.b))}; },
                 std::vector<Tensor>{image(), p.w}),
            "conv batch_norm")
      << "weights that are not known";
  // [N, C, F]: the channels are not the last axis.
  EXPECT_EQ(fold([&](const Tensor& x) { return square.norm(matmul(x, square.w)); }, uniform({2, 6, 6}, 9)),
            "matmul batch_norm");
  EXPECT_EQ(fold(
                [&](std::span<const Tensor> x) {
                  BatchNormResult r = batch_norm(conv(x[0], p.w), p.mean, p.var, {}, {}, false);
                  return std::vector<Tensor>{r.out, r.new_mean};
                },
                std::vector<Tensor>{image()}),
            "conv batch_norm")
      << "its statistics are a result";
}
TEST(FoldConvBias, OneElementForEachChannel) {
  const Parts p({6, 3, 3, 3});
  EXPECT_EQ(bias_in(
                [&](const Tensor& x) {
                  return add(conv(x, p.w), reshape(p.b, {6, 1, 1}));
                },
                image()),
            "reshape reshape conv");
  EXPECT_EQ(bias_in(
                [&](const Tensor& x) {
                  return add(reshape(p.b, {1, 6, 1, 1}), conv(x, p.w, {}, {2}, {1}));
                },
                image()),
            "reshape reshape conv");
}
TEST(FoldConvBias, NotAnythingElse) {
  const Parts p({6, 3, 3, 3}), even({6, 3, 2, 2});
  EXPECT_EQ(bias_in(
                [&](const Tensor& x) {
                  return add(conv(x, p.w, p.b), reshape(p.b, {6, 1, 1}));
                },
                image()),
            "conv reshape add");
  EXPECT_EQ(bias_in([&](const Tensor& x) { return add(conv(x, even.w), p.b); }, image()), "conv add")
      << "along the last axis";
  EXPECT_EQ(bias_in([&](const Tensor& x) { return add(conv(x, p.w), num(1)); }, image()), "conv add");
  EXPECT_EQ(bias_in([&](const Tensor& x) { return add(conv(x, p.w), uniform({1, 6, 5, 5}, 3)); }, image()), "conv add");
}

}  // namespace
}  // namespace oarlock::graph
