// Calls of the ops of ops/shape and ops/index for gradient_test.cc.
#include "tests/ops/gradient_cases.h"

namespace oarlock::test {

std::vector<GradientCase> place_gradient_cases() {
  Tensor rows = Tensor::of<int64_t>({3, -1, 0, 3}, {2, 2}), some = Tensor::of<int64_t>({1, -1, 1}, {3});
  Tensor along = Tensor::of<int64_t>({2, 0, -1, 2, 1, 1}, {3, 2}),
         pairs = Tensor::of<int64_t>({0, 1, -1, 2, 0, 1}, {3, 2});
  Tensor mask = Tensor::of<bool>({true, false, true}, {3, 1}), counted = Tensor::of<int64_t>({2, 0, 2}, {3});
  auto put = [=](std::string_view how) -> Function {
    return [=](const In& x) {
      return In{put_along_axis(x[0], along, x[1], 0, how), scatter_nd(x[0], pairs, x[2], how)};
    };
  };
  In written{apart({3, 3}), apart({3, 2}, 0.13), apart({3}, 0.07)};
  In with_zeros{r({3, 3}), Tensor::of<double>({0, 1, 2, 2, 0.5, 0}, {3, 2}), Tensor::of<double>({0, 1, 2}, {3})};
  return {
      {"split",
       [](const In& x) {
         return split(x[0], {1, 0, 2}, 1);
       },
       {r({2, 3})}},
      {"chunk", [](const In& x) { return chunk(x[0], 2, -1); }, {r({3, 4})}},
      {"unstack", [](const In& x) { return unstack(x[0], 1); }, {r({3, 2})}},
      {"stack",
       [](const In& x) {
         return In{stack({x[0], x[1], x[0]}), stack({x[0], x[1]}, -1)};
       },
       {r({2, 3}), q({2, 3})}},
      {"flip",
       [](const In& x) {
         return In{flip(x[0]), flip(x[0], {1})};
       },
       {r({2, 3})}},
      {"roll",
       [](const In& x) {
         return In{roll(x[0], {1}, {0, 1}), roll(x[0], {-4, 2}, {1, 0})};
       },
       {r({2, 3})}},
      {"tile",
       [](const In& x) {
         return In{tile(x[0], {2, 3}), tile(x[0], {2, 1, 2})};
       },
       {r({2, 3})}},
      {"repeat", [](const In& x) { return In{repeat(x[0], 3, 1)}; }, {r({2, 2})}},
      {"tril", [](const In& x) { return In{tril(x[0], 1)}; }, {r({2, 3, 3})}},
      {"triu", [](const In& x) { return In{triu(x[0], -1)}; }, {r({2, 3, 3})}},
      {"flatten", [](const In& x) { return In{flatten(x[0], 1, 2)}; }, {r({2, 3, 2})}},
      {"moveaxis",
       [](const In& x) {
         return In{moveaxis(x[0], {0, 2}, {-1, 0})};
       },
       {r({2, 3, 2})}},
      {"pad_edges",
       [](const In& x) {
         return In{pad_edges(x[0], {1, 4}, {0, 3}), pad_edges(x[0], {1, 0}, {1, 2}, "replicate"),
                   pad_edges(x[0], {2, 5}, {3, 1}, "circular")};
       },
       {r({2, 3})}},
      {"meshgrid",
       [](const In& x) {
         return meshgrid({x[0], x[1]});
       },
       {r({2}), q({3})}},
      {"diag",
       [](const In& x) {
         return In{diag(x[0]), diag(x[0], 1), diag(x[0], -2)};
       },
       {r({2, 3})}},
      {"take",
       [=](const In& x) {
         return In{take(x[0], rows, 0), take(x[0], some, 1)};
       },
       {r({4, 3})}},
      {"index_add", [=](const In& x) { return In{index_add(x[0], some, x[1], 1)}; }, {r({2, 3}), q({2, 3})}},
      {"take_along_axis", [=](const In& x) { return In{take_along_axis(x[0], along, 0)}; }, {r({3, 3})}},
      {"put_along_axis", put("assign"), written},
      {"put_along_axis, added", put("add"), written},
      {"put_along_axis, multiplied", put("multiply"), written},
      {"put_along_axis, multiplied by zeros", put("multiply"), with_zeros},
      {"put_along_axis, greatest", put("maximum"), written},
      {"put_along_axis, least", put("minimum"), written},
      {"gather_nd",
       [=](const In& x) {
         return In{gather_nd(x[0], pairs), gather_nd(x[0], Tensor::of<int64_t>({2, 0}, {2, 1}))};
       },
       {r({3, 3})}},
      {"scatter_nd",
       [=](const In& x) {
         return In{scatter_nd(x[0], Tensor::of<int64_t>({2, 0, 2}, {3, 1}), x[1], "assign")};
       },
       {r({3, 2}), q({3, 2})}},
      {"masked_fill", [=](const In& x) { return In{masked_fill(x[0], mask, x[1])}; }, {r({3, 2}), q({})}},
      {"masked_select", [=](const In& x) { return In{masked_select(x[0], mask)}; }, {r({3, 2})}},
      {"sort",
       [](const In& x) {
         return In{sort(x[0], 0).values, sort(x[0], 1, true).values};
       },
       {apart({3, 4})}},
      {"topk",
       [](const In& x) {
         return In{topk(x[0], 2).values, topk(x[0], 3, false).values};
       },
       {apart({3, 4})}},
      {"bincount", [=](const In& x) { return In{bincount(counted, 3, x[0], DType::f64)}; }, {r({3})}},
  };
}

}  // namespace oarlock::test
