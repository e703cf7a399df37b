// Calls of the ops of networks for gradient_test.cc.
#include "tests/ops/gradient_cases.h"

namespace oarlock::test {

std::vector<GradientCase> nn_gradient_cases() {
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
  };
}

}  // namespace oarlock::test
