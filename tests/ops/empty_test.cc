// Ops on tensors without elements, forward and backward.
#include "tests/ops/expect.h"

namespace oarlock::test {
namespace {

Tensor nothing() { return full({0, 3}, 1, DType::f64).set_requires_grad(); }

TEST(Empty, ElementwiseOps) {
  Tensor x = nothing(), y = nothing(), total = full({}, 0, DType::f64);
  for (auto f :
       {abs, sign, floor, ceil, round, trunc, square, reciprocal, rsqrt, expm1, log1p, log2,        log10,  exp2,
        sin, cos,  tan,   asin, acos,  atan,  sinh,   cosh,       asinh, acosh, atanh, erf_inverse, lgamma, digamma})
    total = add(total, sum(f(x)));
  for (auto f : {atan2, hypot, logaddexp, power, floor_divide, remainder, fmod, copysign, heaviside})
    total = add(total, sum(f(x, y)));
  total = add(total, sum(clip(x, y, y)));
  total = add(total, sum(lerp(x, y, y)));
  total = add(total, sum(nan_to_num(polygamma(x, 2))));
  total.backward();
  EXPECT_EQ(total.item(), 0);
  EXPECT_EQ(text(x.grad()), "[0, 3]");
  EXPECT_EQ(text(y.grad()), "[0, 3]");
}

TEST(Empty, Reductions) {
  Tensor x = nothing(), total = full({}, 0, DType::f64);
  for (int64_t axis : {0, 1}) {
    for (auto f : {product, logsumexp}) total = add(total, sum(f(x, {axis}, false)));
    total = add(total, sum(min(x, {axis})));
    total = add(total, sum(var(x, {axis})));
    total = add(total, sum(std(x, {axis})));
    for (double order : {0.0, 1.0, 2.0, 3.0, kInf, -kInf})
      total = add(total, sum(vector_norm(x, {axis}, false, order)));
    total = add(total, sum(cumsum(x, axis)));
    total = add(total, sum(cumulative_product(x, axis)));
    total = add(total, sum(linear_scan(x, x, axis)));
    total = add(total, sum(cumulative_max(x, axis).values));
    total = add(total, sum(sort(x, axis).values));
  }
  total = add(total, global_norm({x, x}));
  total.backward();
  EXPECT_EQ(text(x.grad()), "[0, 3]");
}

TEST(Empty, PlacesAndShapes) {
  Tensor x = nothing(), total = full({}, 0, DType::f64), none = Tensor::empty({0}, DType::i64);
  auto see = [&](const Tensor& t) { total = add(total, sum(t)); };
  for (const Tensor& t : split(x, {1, 2}, 1)) see(t);
  for (const Tensor& t : chunk(x, 3, 1)) see(t);
  for (const Tensor& t : unstack(x, 1)) see(t);
  for (const Tensor& t : meshgrid({reshape(x, {0}), full({2}, 1, DType::f64)})) see(t);
  see(stack({x, x}));
  see(flip(x));
  see(roll(x, {2}, {0, 1}));
  see(tile(x, {2, 2}));
  see(repeat(x, 2));
  see(tril(x));
  see(triu(x));
  see(flatten(x));
  see(moveaxis(x, {0}, {1}));
  see(pad_edges(x, {0, 1}, {0, 2}));
  see(diag(x));
  see(take(x, none));
  see(index_add(x, none, x));
  see(take_along_axis(x, Tensor::empty({0, 3}, DType::i64), 0));
  for (const char* how : {"assign", "add", "multiply", "maximum", "minimum"}) {
    see(put_along_axis(x, Tensor::empty({0, 3}, DType::i64), x, 0, how));
    see(scatter_nd(x, Tensor::empty({0, 1}, DType::i64), x, how));
  }
  see(gather_nd(x, Tensor::empty({0, 2}, DType::i64)));
  see(masked_fill(x, full({3}, 1, DType::boolean), full({}, 2, DType::f64)));
  see(masked_select(x, full({3}, 1, DType::boolean)));
  see(topk(x, 2).values);
  see(bincount(none, 4, reshape(x, {0}), DType::f64));
  total.backward();
  EXPECT_EQ(total.item(), 0);
  EXPECT_EQ(text(x.grad()), "[0, 3]");
}

}  // namespace
}  // namespace oarlock::test
