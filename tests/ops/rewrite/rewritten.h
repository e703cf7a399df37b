// Functions before and after a rewrite. For tests.
#pragma once
#include <algorithm>
#include <iterator>
#include <sstream>

#include "tests/core/graph/compiled.h"

namespace oarlock::graph {

// Ops in any order: that of a call's operands is the compiler's.
struct Ops {
  std::string text;
  static std::vector<std::string> sorted(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> out(std::istream_iterator<std::string>(in), {});
    std::sort(out.begin(), out.end());
    return out;
  }
  bool operator==(const std::string& other) const { return sorted(text) == sorted(other); }
};
inline void PrintTo(const Ops& ops, std::ostream* out) { *out << ops.text; }

struct Rewritten {
  std::vector<std::string> passes;
  double room = 0;  // 0: bit for bit
  // The ops that are left of f.
  Ops operator()(const Function& f, const std::vector<Tensor>& inputs) const {
    std::vector<std::string> on = {"freeze_states", "common_subexpressions", "constant_folding", "dead_code"};
    on.insert(on.end(), passes.begin(), passes.end());
    Program p = compiled(capture(f, types_of(inputs)), on);
    const std::vector<Tensor> want = f(inputs), got = results(p, inputs);
    if (room == 0) expect_same(got, want, "rewritten");
    else
      for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], want[i], room, "rewritten");
    return {ops_of(p)};
  }
  Ops operator()(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) const {
    return (*this)([&](std::span<const Tensor> in) { return std::vector<Tensor>{f(in[0])}; }, std::vector<Tensor>{x});
  }
};
inline Tensor num(double v, DType t = DType::f32) { return full({}, v, t); }

}  // namespace oarlock::graph
