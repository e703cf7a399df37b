// Calls of the ops of ops/reduce, ops/random and ops/linalg for gradient_test.cc.
#include "tests/ops/gradient_cases.h"

namespace oarlock::test {

std::vector<GradientCase> reduce_gradient_cases() {
  Tensor zeros = Tensor::of<double>({2, 0, 3, 0, 0.5, -1}, {2, 3});
  return {
      {"min",
       [](const In& x) {
         return In{min(x[0], {1}), min(x[0], {0}, true), min(x[0])};
       },
       {apart({3, 4})}},
      {"product",
       [](const In& x) {
         return In{product(x[0], {1}), product(x[0], {0}, true), product(x[0]), product(x[0], {2, 0})};
       },
       {r({2, 3, 2})}},
      {"product, of zeros",
       [](const In& x) {
         return In{product(x[0], {1}), product(x[0], {0}), product(x[0])};
       },
       {zeros}},
      {"product, of nothing", [](const In& x) { return In{product(x[0], {1})}; }, {r({2, 0})}},
      {"var",
       [](const In& x) {
         return In{var(x[0], {1}), var(x[0], {0}, true, 1), var(x[0])};
       },
       {r({3, 4})}},
      {"std",
       [](const In& x) {
         return In{std(x[0], {1}), std(x[0], {0}, true, 1)};
       },
       {r({3, 4})}},
      {"logsumexp",
       [](const In& x) {
         return In{logsumexp(x[0], {1}), logsumexp(x[0], {0}, true), logsumexp(x[0])};
       },
       {r({3, 4})}},
      {"vector_norm",
       [](const In& x) {
         return In{vector_norm(x[0], {1}),
                   vector_norm(x[0], {0}, true, 1),
                   vector_norm(x[0], {}, false, 3),
                   vector_norm(x[0], {1}, false, INFINITY),
                   vector_norm(x[0], {0}, false, -INFINITY),
                   vector_norm(x[0], {0}, false, 0)};
       },
       {apart({3, 4}, 0.05)}},
      {"global_norm",
       [](const In& x) {
         return In{global_norm({x[0], x[1]})};
       },
       {r({3}), q({2, 2})}},
      {"median",
       [](const In& x) {
         return In{median(x[0], 0), median(x[0], 1, true)};
       },
       {apart({3, 4})}},
      {"cumsum",
       [](const In& x) {
         return In{cumsum(x[0], 0), cumsum(x[0], 1, true), cumsum(x[0], -1, true, true)};
       },
       {r({3, 4})}},
      {"cumulative_product",
       [](const In& x) {
         return In{cumulative_product(x[0], 0), cumulative_product(x[0], 1, true),
                   cumulative_product(x[0], -1, true, true), cumulative_product(x[0], -1, false, true)};
       },
       {r({3, 4})}},
      {"cumulative_product, of zeros",
       [](const In& x) {
         return In{cumulative_product(x[0], 1), cumulative_product(x[0], 0, false, true)};
       },
       {zeros}},
      {"linear_scan",
       [](const In& x) {
         return In{linear_scan(x[0], x[1], 0), linear_scan(x[0], x[1], 1, true)};
       },
       {r({3, 4}), q({3, 4})}},
      {"cumulative_max", [](const In& x) { return In{cumulative_max(x[0], 1).values}; }, {apart({2, 5})}},
      {"outer", two(outer), {r({2}), q({3})}},
      {"vecdot", two(vecdot), {r({2, 3}), q({3})}},
  };
}

}  // namespace oarlock::test
