// Captured functions, compiled with some passes, and what is left of them. For tests.
#pragma once
#include <cmath>

#include "core/graph/compile.h"
#include "core/graph/passes/pass.h"
#include "tests/core/graph/capture.h"

namespace oarlock::graph {

// All passes but these, to be switched off.
inline std::vector<std::string> all_but(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : pass_names())
    if (std::find(names.begin(), names.end(), name) == names.end()) out.push_back(name);
  return out;
}
inline Program compiled(Program p, const std::vector<std::string>& passes,
                        std::vector<PassReport>* out_report = nullptr) {
  Status s = compile(p, {.off = all_but(passes)}, out_report);
  EXPECT_TRUE(s.ok()) << s.text();
  return p;
}
// "matmul add relu"
inline std::string ops_of(const Program& p) {
  std::string out;
  each_node(p.body, [&](const Node& n) { out += (out.empty() ? "" : " ") + std::string(n.def().def->name); });
  return out;
}
inline std::vector<Tensor> results(const Program& p, const std::vector<Tensor>& inputs, Device device = Device()) {
  std::vector<Tensor> in;
  for (const Tensor& t : inputs) in.push_back(t.to(device));
  Result<Outcome> planned = Executable(std::make_shared<Program>(p), device).run(in);
  EXPECT_TRUE(planned) << planned.status().text();
  Result<Outcome> slow = interpret(p, in, device);
  EXPECT_TRUE(slow) << slow.status().text();
  if (!planned || !slow) return {};
  expect_same(planned->results, slow->results, "planned and interpreted");
  return planned->results;
}
inline std::vector<In> types_of(const std::vector<Tensor>& inputs) {
  std::vector<In> out;
  for (const Tensor& t : inputs) {
    out.push_back({{}, t.dtype()});
    for (Dim d : t.shape()) out.back().sizes.push_back(std::to_string(d.n));
  }
  return out;
}
// Within `room` of the largest magnitude, NaN where NaN is wanted.
inline void expect_close(const Tensor& got, const Tensor& want, double room, const std::string& who) {
  ASSERT_EQ(to_string(got.shape()), to_string(want.shape())) << who;
  ASSERT_EQ(got.dtype(), want.dtype()) << who;
  std::vector<double> a(size_t(want.element_count())), b(a.size());
  cast(got.to(Device()), DType::f64).copy_to_host(a.data());
  cast(want.to(Device()), DType::f64).copy_to_host(b.data());
  double most = 0;
  for (double v : b) most = std::isfinite(v) ? std::max(most, std::abs(v)) : most;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(b[i])) EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << who << " " << i;
    else EXPECT_LE(std::abs(a[i] - b[i]), room * most) << who << " " << i;
  }
}

}  // namespace oarlock::graph
