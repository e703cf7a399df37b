// Functions as programs, for tests: captured on stand-ins, and compared with what they do when called.
#pragma once
#include <gtest/gtest.h>

#include <oarlock/oarlock.h>

#include "core/graph/executable.h"
#include "core/graph/recording.h"

namespace oarlock::graph {

using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

inline Device sim() {
  Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so");
  throw_if(p.status());
  return Device("sim");
}
inline Tensor uniform(const Shape& shape, int64_t seed, double low = -1, double high = 1) {
  return add(multiply(random_uniform(Tensor::of<int64_t>({seed, 0}, {2}), shape), full({}, high - low)), full({}, low));
}
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
inline std::string bytes(const Tensor& t) {
  std::string out(size_bytes(t.dtype(), uint64_t(t.element_count())), '\0');
  t.copy_to_host(out.data());
  return out;
}
inline void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& who) {
  ASSERT_EQ(got.size(), want.size()) << who;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(to_string(got[i].shape()), to_string(want[i].shape())) << who << ", result " << i;
    ASSERT_EQ(got[i].dtype(), want[i].dtype()) << who << ", result " << i;
    EXPECT_EQ(got[i].device(), want[i].device()) << who << ", result " << i;
    EXPECT_TRUE(bytes(got[i]) == bytes(want[i])) << who << ", result " << i << ":\n"
                                                 << got[i].to_string() << "\nnot\n"
                                                 << want[i].to_string();
  }
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
