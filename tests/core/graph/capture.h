// Functions as programs, for tests: captured on stand-ins, and compared with what they do when called.
#pragma once
#include "core/graph/executable.h"
#include "core/graph/recording.h"
#include "tests/same.h"

namespace oarlock::graph {

using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// The program of f on stand-ins of these shapes. Sizes given as names are symbols.
struct In {
  std::vector<std::string> sizes;  // "N" or "3"
  DType dtype = DType::f32;
};
inline Program capture(const Function& f, const std::vector<In>& inputs, Device device = Device()) {
  Program p;
  Recording recording(p, p.body.nodes, device);
  std::vector<Tensor> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape;
    for (const std::string& s : inputs[i].sizes)
      shape.push(std::isdigit(static_cast<unsigned char>(s[0])) ? Dim(std::stoll(s)) : p.symbols.name(s));
    in.push_back(recording.add_input("x" + std::to_string(i), inputs[i].dtype, shape));
    p.body.parameters.push_back(recording.value(in.back()));
  }
  DeviceScope scope(device);
  for (const Tensor& t : f(in)) p.body.results.push_back(recording.value(t));
  p.result_names.resize(p.body.results.size());
  recording.finish();
  return p;
}
// Eager, interpreted and planned, twice each.
inline void expect_alike(const Function& f, const Program& p, const std::vector<Tensor>& inputs,
                         Device device = Device()) {
  std::vector<Tensor> in;
  for (const Tensor& t : inputs) in.push_back(t.to(device));
  std::vector<Tensor> want;
  {
    NoGrad off;
    DeviceScope scope(device);
    want = f(in);
  }
  Result<Outcome> slow = interpret(p, in, device);
  ASSERT_TRUE(slow) << slow.status().text();
  expect_same(slow->results, want, "interpreted");
  Executable e(std::make_shared<Program>(p), device);
  for (int run = 0; run < 3; ++run) {
    Result<Outcome> fast = e.run(in);
    ASSERT_TRUE(fast) << fast.status().text();
    expect_same(fast->results, want, "planned, run " + std::to_string(run));
  }
}

}  // namespace oarlock::graph
