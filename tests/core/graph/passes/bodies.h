// A program with a body, for tests of passes.
#pragma once
#include "tests/core/graph/compiled.h"

namespace oarlock::graph {

// y = exp(x0); where x1 holds inside(x0, y), else x0; then `after` of that and x0.
inline Function with_body(const std::function<Tensor(const Tensor& x, const Tensor& y)>& inside,
                          const std::function<Tensor(const Tensor& out, const Tensor& x)>& after = nullptr) {
  return [=](std::span<const Tensor> in) {
    const Tensor x = in[0], y = exp(x);
    Tensor out = jit::cond(
        in[1], [&] { return std::vector<Tensor>{inside(x, y)}; }, [&] { return std::vector<Tensor>{x}; })[0];
    return std::vector<Tensor>{after ? after(out, x) : out};
  };
}
// What a pass leaves of it, for both values of the condition what it was.
inline std::string left_of(const Function& f, const std::string& pass) {
  const Tensor x = uniform({3}, 1);
  Program p = compiled(capture(f, {{{"3"}}, {{}, DType::boolean}}), {pass});
  for (bool holds : {false, true}) expect_alike(f, p, {x, cast(full({}, holds), DType::boolean)});
  return ops_of(p);
}

}  // namespace oarlock::graph
