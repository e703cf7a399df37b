#include "tests/ops/rewrite/rewritten.h"

namespace oarlock::graph {
namespace {

Tensor ramp() { return uniform({2, 3, 8}, 1, -4, 4); }

TEST(RecogniseSilu, AsPeopleSpellIt) {
  const Rewritten silu{{"recognise_silu"}, 1e-6};
  EXPECT_EQ(silu([](const Tensor& x) { return multiply(x, sigmoid(x)); }, ramp()), "silu");
  EXPECT_EQ(silu([](const Tensor& x) { return multiply(sigmoid(x), x); }, ramp()), "silu");
  EXPECT_EQ(silu([](const Tensor& x) { return divide(x, add(num(1), exp(negative(x)))); }, ramp()), "silu");
  EXPECT_EQ(
      silu([](const Tensor& x) { return multiply(divide(num(1), add(exp(multiply(x, num(-1))), num(1))), x); }, ramp()),
      "silu");
  EXPECT_EQ(silu([](const Tensor& x) { return reciprocal(add(num(1), exp(negative(x)))); }, ramp()), "sigmoid");
  const Tensor far = Tensor::of<float>({-1000, 1000, 0, NAN, INFINITY, -INFINITY}, {6});
  EXPECT_EQ(silu([](const Tensor& x) { return multiply(x, sigmoid(x)); }, far), "silu");
}
TEST(RecogniseSilu, NotWhatIsSomethingElse) {
  const Rewritten silu{{"recognise_silu"}, 1e-6};
  EXPECT_EQ(silu([](const Tensor& x) { return multiply(x, sigmoid(negative(x))); }, ramp()),
            "negative sigmoid multiply");
  EXPECT_EQ(silu([](const Tensor& x) { return divide(x, add(num(2), exp(negative(x)))); }, ramp()),
            "negative exp add divide");
  EXPECT_EQ(silu([](const Tensor& x) { return divide(x, add(num(1), exp(x))); }, ramp()), "exp add divide");
  EXPECT_EQ(silu([](const Tensor& x) { return multiply(x, sigmoid(x)); }, cast(ramp(), DType::f16)),
            "sigmoid multiply");
  EXPECT_EQ(silu(
                [](std::span<const Tensor> x) {
                  Tensor s = sigmoid(x[0]);
                  return std::vector<Tensor>{multiply(x[0], s), s};
                },
                std::vector<Tensor>{ramp()}),
            "sigmoid multiply");
}

TEST(RecogniseGelu, ByErf) {
  const Rewritten by{{"recognise_gelu"}, 1e-6};
  auto gate = [](const Tensor& x) { return add(num(1), erf(divide(x, num(std::sqrt(2))))); };
  EXPECT_EQ(by([&](const Tensor& x) { return multiply(multiply(x, num(0.5)), gate(x)); }, ramp()), "gelu");
  EXPECT_EQ(by([&](const Tensor& x) { return multiply(num(0.5), multiply(x, gate(x))); }, ramp()), "gelu");
  EXPECT_EQ(by([&](const Tensor& x) { return divide(multiply(gate(x), x), num(2)); }, ramp()), "gelu");
  EXPECT_EQ(by([&](const Tensor& x) { return multiply(x, multiply(gate(x), num(0.5))); }, ramp()), "gelu");
  EXPECT_EQ(by(
                [&](const Tensor& x) {
                  return multiply(multiply(x, num(0.5)), add(erf(multiply(x, num(0.70710678))), num(1)));
                },
                ramp()),
            "gelu");
  EXPECT_EQ(by([&](const Tensor& x) { return multiply(divide(x, sqrt(num(4))), gate(x)); }, ramp()), "gelu")
      << "constants are folded first";
}
TEST(RecogniseGelu, ByTanh) {
  const Rewritten by{{"recognise_gelu"}, 1e-6};
  const double k = std::sqrt(2 / M_PI), c = 0.044715;
  auto with = [](const Tensor& x, const Tensor& inner) {
    return multiply(multiply(num(0.5), x), add(num(1), tanh(inner)));
  };
  EXPECT_EQ(by([&](const Tensor& x) { return with(x, multiply(num(k), add(x, multiply(num(c), power(x, num(3)))))); },
               ramp()),
            "gelu");
  EXPECT_EQ(by(
                [&](const Tensor& x) {
                  return with(x, multiply(add(x, multiply(multiply(x, multiply(x, x)), num(c))), num(k)));
                },
                ramp()),
            "gelu");
  EXPECT_EQ(by(
                [&](const Tensor& x) {
                  return with(x, multiply(multiply(num(k), x), add(num(1), multiply(multiply(num(c), x), x))));
                },
                ramp()),
            "gelu");
  Program p = compiled(
      capture(
          [&](std::span<const Tensor> x) {
            return std::vector<Tensor>{with(x[0], multiply(num(k), add(x[0], multiply(num(c), power(x[0], num(3))))))};
          },
          {{{"N"}}}),
      {"constant_folding", "recognise_gelu"});
  ASSERT_EQ(ops_of(p), "gelu");
  EXPECT_EQ(p.body.nodes[0].attrs.view().text(0), "tanh");
}
TEST(RecogniseGelu, NotWithOtherConstantsTypesOrReaders) {
  const Rewritten by{{"recognise_gelu"}, 2e-3};
  auto f = [](double half, double root, double one) {
    return [=](const Tensor& x) {
      DType t = x.dtype();
      return multiply(multiply(x, num(half, t)), add(num(one, t), erf(multiply(x, num(root, t)))));
    };
  };
  const double root = std::sqrt(0.5);
  const char* as_it_was = "multiply multiply erf add multiply";
  EXPECT_EQ(by(f(0.5, root, 1), ramp()), "gelu");
  EXPECT_EQ(by(f(0.51, root, 1), ramp()), as_it_was);
  EXPECT_EQ(by(f(0.5, 0.7071, 1), ramp()), as_it_was);
  EXPECT_EQ(by(f(0.5, root, 2), ramp()), as_it_was);
  EXPECT_EQ(by(f(0.5, root, 1), cast(ramp(), DType::f16)), as_it_was);
  EXPECT_EQ(by(f(0.5, root, 1), cast(ramp(), DType::f64)), "gelu");
  EXPECT_EQ(by(
                [&](std::span<const Tensor> x) {
                  Tensor e = erf(multiply(x[0], num(root)));
                  return std::vector<Tensor>{multiply(multiply(x[0], num(0.5)), add(num(1), e)), e};
                },
                std::vector<Tensor>{ramp()}),
            "multiply erf multiply add multiply");
}

Tensor softmax_of(const Tensor& x, Integers axes, Integers over, bool keep = true) {
  Tensor e = exp(subtract(x, max(x, axes, true)));
  return divide(e, sum(e, over, keep));
}
TEST(RecogniseSoftmax, AlongAnyAxis) {
  const Rewritten by{{"recognise_softmax"}, 1e-6};
  EXPECT_EQ(by([](const Tensor& x) { return softmax_of(x, {-1}, {-1}); }, ramp()), "softmax");
  EXPECT_EQ(by([](const Tensor& x) { return softmax_of(x, {1}, {1}); }, ramp()), "softmax");
  EXPECT_EQ(by([](const Tensor& x) { return softmax_of(x, {0}, {1}); }, ramp()), "max subtract exp sum divide");
  EXPECT_EQ(by([](const Tensor& x) { return softmax_of(x, {0, 1}, {0, 1}); }, ramp()), "max subtract exp sum divide");
  EXPECT_EQ(by([](const Tensor& x) { return divide(exp(x), sum(exp(x), {-1}, true)); }, ramp()), "exp sum divide")
      << "exp may overflow";
  EXPECT_EQ(by([](const Tensor& x) { return softmax_of(x, {-1}, {-1}, false); }, uniform({4, 4}, 1)),
            "max subtract exp sum divide");
}

struct Heads {
  Tensor q = uniform({2, 4, 5, 8}, 1), k = uniform({2, 4, 6, 8}, 2), v = uniform({2, 4, 6, 3}, 3);
  std::vector<Tensor> all() const { return {q, k, v}; }
};
Function attend(const std::function<Tensor(const Tensor&)>& between, int64_t axis = -1) {
  return [=](std::span<const Tensor> x) {
    return std::vector<Tensor>{matmul(softmax(between(matmul(x[0], matrix_transpose(x[1]))), axis), x[2])};
  };
}
TEST(RecogniseAttention, AsPeopleSpellIt) {
  const Rewritten by{{"recognise_attention", "identity_views"}, 2e-6};
  const Heads h;
  const double root = 1 / std::sqrt(8);
  EXPECT_EQ(by(attend([&](const Tensor& s) { return multiply(s, num(root)); }), h.all()), "attention");
  EXPECT_EQ(by(attend([&](const Tensor& s) { return divide(s, num(1 / root)); }), h.all()), "attention");
  EXPECT_EQ(by(attend([&](const Tensor& s) { return s; }), h.all()), "attention");
  Tensor mask = multiply(triu(full({5, 6}, 1.0), 1), num(-1e9));
  EXPECT_EQ(by(attend([&](const Tensor& s) { return add(multiply(s, num(root)), mask); }), h.all()), "attention");
  EXPECT_EQ(
      by(
          [&](std::span<const Tensor> x) {  // [N, L, H, E], as projections give them
            Tensor q = permute(x[0], {0, 2, 1, 3}), kt = permute(x[1], {0, 2, 3, 1}), v = permute(x[2], {0, 2, 1, 3});
            return std::vector<Tensor>{matmul(softmax(matmul(multiply(q, num(root)), kt)), v)};
          },
          {uniform({2, 5, 4, 8}, 1), uniform({2, 6, 4, 8}, 2), uniform({2, 6, 4, 3}, 3)}),
      "permute permute permute multiply matrix_transpose attention");
}
TEST(RecogniseAttention, NotWhatIsSomethingElse) {
  const Rewritten by{{"recognise_attention", "identity_views"}, 3e-3};
  const Heads h;
  auto scaled = [](const Tensor& s) { return multiply(s, num(0.25, s.dtype())); };
  const std::string as_it_was = "matrix_transpose matmul multiply softmax matmul";
  std::vector<Tensor> same = {h.q, uniform({2, 4, 5, 8}, 2), uniform({2, 4, 5, 3}, 3)};
  EXPECT_EQ(by(attend(scaled, -1), same), "attention");
  EXPECT_EQ(by(attend(scaled, -2), same), as_it_was) << "over the queries";
  std::vector<Tensor> half;
  for (const Tensor& t : h.all()) half.push_back(cast(t, DType::f16));
  EXPECT_EQ(by(attend(scaled), half), as_it_was);
  // A row that may look nowhere is NaN by softmax.
  Tensor nowhere = full({5, 6}, -INFINITY);
  EXPECT_EQ(by(attend([&](const Tensor& s) { return add(s, nowhere); }), h.all()),
            "matrix_transpose matmul add softmax matmul");
  EXPECT_EQ(by(
                [](std::span<const Tensor> x) {  // a mask that is not known
                  return std::vector<Tensor>{matmul(softmax(add(matmul(x[0], matrix_transpose(x[1])), x[3])), x[2])};
                },
                {h.q, h.k, h.v, uniform({5, 6}, 4)}),
            "matrix_transpose matmul add softmax matmul");
  EXPECT_EQ(by(
                [](std::span<const Tensor> x) {  // the weights are a result
                  Tensor w = softmax(matmul(x[0], matrix_transpose(x[1])));
                  return std::vector<Tensor>{matmul(w, x[2]), w};
                },
                h.all()),
            "matrix_transpose matmul softmax matmul");
}

struct Norm {
  int64_t axis = -1;
  double eps = 1e-5;
  std::function<Tensor(const Tensor&)> square = [](const Tensor& c) { return multiply(c, c); };
  std::function<Tensor(const Tensor&, const Tensor&)> over = [](const Tensor& c, const Tensor& v) {
    return divide(c, sqrt(v));
  };
  Tensor operator()(const Tensor& x) const {
    const int64_t axes[] = {axis};
    Tensor centred = subtract(x, mean(x, std::span<const int64_t>(axes), true));
    return over(centred, add(mean(square(centred), std::span<const int64_t>(axes), true), num(eps, x.dtype())));
  }
};
TEST(RecogniseLayerNorm, AsPeopleSpellIt) {
  const Rewritten by{{"recognise_layer_norm"}, 2e-6};
  const Tensor scale = uniform({8}, 2), bias = uniform({8}, 3);
  EXPECT_EQ(by(Norm{}, ramp()), "layer_norm");
  EXPECT_EQ(by([&](const Tensor& x) { return add(multiply(Norm{}(x), scale), bias); }, ramp()), "layer_norm");
  EXPECT_EQ(by([&](const Tensor& x) { return multiply(scale, Norm{}(x)); }, ramp()), "layer_norm");
  Norm by_rsqrt{.square = [](const Tensor& c) { return power(c, num(2)); },
                .over = [](const Tensor& c, const Tensor& v) { return multiply(c, rsqrt(v)); }};
  EXPECT_EQ(by(by_rsqrt, ramp()), "layer_norm");
  Norm by_one{.square = [](const Tensor& c) { return square(c); },
              .over = [](const Tensor& c, const Tensor& v) { return multiply(divide(num(1), sqrt(v)), c); }};
  EXPECT_EQ(by(by_one, ramp()), "layer_norm");
  EXPECT_EQ(by(
                [](const Tensor& x) {
                  Tensor centred = subtract(x, mean(x, {-1}, true));
                  return divide(centred, sqrt(add(var(x, {-1}, true), num(1e-6))));
                },
                ramp()),
            "layer_norm");
  EXPECT_EQ(by(
                [](const Tensor& x) {
                  auto average = [](const Tensor& t) { return divide(sum(t, {-1}, true), num(8)); };
                  Tensor centred = subtract(x, average(x));
                  return divide(centred, sqrt(add(average(multiply(centred, centred)), num(1e-6))));
                },
                ramp()),
            "layer_norm");
}
TEST(RecogniseLayerNorm, NotWhatIsSomethingElse) {
  const Rewritten by{{"recognise_layer_norm"}, 2e-3};
  const std::string as_it_was = "mean subtract multiply mean add sqrt divide";
  EXPECT_EQ(by(Norm{.axis = 1}, ramp()), as_it_was);
  EXPECT_EQ(by(Norm{}, cast(ramp(), DType::f16)), as_it_was);
  EXPECT_EQ(by(Norm{.eps = -1e-3}, ramp()), as_it_was);
  EXPECT_EQ(by(Norm{.square = [](const Tensor& c) { return multiply(c, abs(c)); }}, add(abs(ramp()), num(9))),
            "mean subtract abs multiply mean add sqrt divide");
  EXPECT_EQ(by(
                [](const Tensor& x) {
                  Tensor centred = subtract(x, mean(x, {-1}, true));
                  return divide(centred, sqrt(add(var(x, {-1}, true, 1), num(1e-6))));
                },
                ramp()),
            "mean subtract var add sqrt divide")
      << "an estimate from a sample";
  EXPECT_EQ(by(
                [](const Tensor& x) {
                  auto average = [](const Tensor& t) { return divide(sum(t, {-1}, true), num(7)); };
                  Tensor centred = subtract(x, average(x));
                  return divide(centred, sqrt(add(average(multiply(centred, centred)), num(1e-6))));
                },
                ramp()),
            "sum divide subtract multiply sum divide add sqrt divide");
  const Tensor rows = uniform({3, 1}, 2);
  EXPECT_EQ(by([&](const Tensor& x) { return multiply(Norm{}(x), rows); }, ramp()), "layer_norm multiply");
  EXPECT_EQ(by(
                [](std::span<const Tensor> x) {
                  Tensor centred = subtract(x[0], mean(x[0], {-1}, true));
                  Tensor v = mean(multiply(centred, centred), {-1}, true);
                  return std::vector<Tensor>{divide(centred, sqrt(add(v, num(1e-5)))), v};
                },
                std::vector<Tensor>{ramp()}),
            "mean subtract multiply mean add sqrt divide");
}

}  // namespace
}  // namespace oarlock::graph
