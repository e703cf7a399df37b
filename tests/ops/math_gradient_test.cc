// Calls of the ops of ops/math for gradient_test.cc.
#include "tests/ops/gradient_cases.h"

namespace oarlock::test {

std::vector<GradientCase> math_gradient_cases() {
  Tensor whole = Tensor::of<double>({2, -3, 5}, {3});
  return {
      {"abs", one(abs), {apart({7}, 0.05)}},
      {"sign", one(sign), {apart({7}, 0.05)}},
      {"floor", one(floor), {apart({7}, 0.05)}},
      {"ceil", one(ceil), {apart({7}, 0.05)}},
      {"round", one(round), {apart({7}, 0.05)}},
      {"trunc", one(trunc), {apart({7}, 0.05)}},
      {"square", one(square), {r({5})}},
      {"reciprocal", one(reciprocal), {r({5}, 0.5, 2)}},
      {"rsqrt", one(rsqrt), {r({5}, 0.5, 2)}},
      {"expm1", one(expm1), {r({5})}},
      {"log1p", one(log1p), {r({5}, -0.5, 2)}},
      {"log2", one(log2), {r({5}, 0.5, 3)}},
      {"log10", one(log10), {r({5}, 0.5, 3)}},
      {"exp2", one(exp2), {r({5})}},
      {"sin", one(sin), {r({5}, -3, 3)}},
      {"cos", one(cos), {r({5}, -3, 3)}},
      {"tan", one(tan), {r({5})}},
      {"asin", one(asin), {r({5}, -0.8, 0.8)}},
      {"acos", one(acos), {r({5}, -0.8, 0.8)}},
      {"atan", one(atan), {r({5}, -3, 3)}},
      {"sinh", one(sinh), {r({5}, -2, 2)}},
      {"cosh", one(cosh), {r({5}, -2, 2)}},
      {"asinh", one(asinh), {r({5}, -3, 3)}},
      {"acosh", one(acosh), {r({5}, 1.5, 4)}},
      {"atanh", one(atanh), {r({5}, -0.8, 0.8)}},
      {"atan2", two(atan2), {r({2, 3}, 0.5, 2), q({3}, -2, -0.5)}},
      {"hypot", two(hypot), {r({2, 3}, 0.5, 2), q({3}, -2, -0.5)}},
      {"logaddexp", two(logaddexp), {r({2, 3}), q({3})}},
      {"erf_inverse", one(erf_inverse), {r({5}, -0.8, 0.8)}},
      {"lgamma", one(lgamma), {r({5}, 0.5, 4)}},
      {"lgamma, below 0", one(lgamma), {r({5}, -0.8, -0.2)}},
      {"digamma", one(digamma), {r({5}, 0.8, 4)}},
      {"polygamma",
       [](const In& x) {
         return In{polygamma(x[0], 1), polygamma(x[0], 3)};
       },
       {r({5}, 1, 3)}},
      {"power", two(power), {r({2, 3}, 0.5, 2), q({3})}},
      {"power, of negative numbers", [=](const In& x) { return In{power(x[0], whole)}; }, {r({2, 3}, -2, -0.5)}},
      {"floor_divide", two(floor_divide), {apart({2, 3}, 0.05), r({3}, 0.7, 0.8)}},
      {"remainder", two(remainder), {apart({2, 3}, 0.05), r({3}, 0.7, 0.8)}},
      {"fmod", two(fmod), {apart({2, 3}, 0.05), r({3}, 0.7, 0.8)}},
      {"copysign", two(copysign), {apart({2, 3}, 0.05), apart({3}, 0.05)}},
      {"heaviside", two(heaviside), {apart({2, 3}, 0.05), r({3})}},
      {"lerp",
       [](const In& x) { return In{lerp(x[0], x[1], x[2])}; },
       {r({2, 3}), q({3}), Tensor::of<double>({-0.25, 0.25, 1.75}, {3})}},
      {"nan_to_num", [](const In& x) { return In{nan_to_num(x[0])}; }, {r({5})}},
      {"clip",
       [](const In& x) { return In{clip(x[0], x[1], x[2])}; },
       {apart({3, 4}, 0.01), r({4}, -0.5, -0.4), q({3, 1}, 0.4, 0.5)}},
      {"clip, with limits that cross",
       [](const In& x) { return In{clip(x[0], x[1], x[2])}; },
       {apart({3, 4}, 0.01), r({4}, 0.7, 0.8), q({3, 1}, 0.2, 0.3)}},
      {"clip, from above alone", [](const In& x) { return In{clip(x[0], {}, x[1])}; }, {apart({5}, 0.01), r({})}},
  };
}

}  // namespace oarlock::test
