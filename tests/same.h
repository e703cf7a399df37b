// Tensors compared bit for bit, made by seed; the sim device; the text of an error. For tests.
#pragma once
#include <gtest/gtest.h>

#include <functional>

#include <oarlock/oarlock.h>

namespace oarlock {

inline Device sim() {
  Result<PluginInfo> p = load_plugin(std::string(OARLOCK_TEST_PLUGIN_DIR) + "/sim/liboarlock_sim.so");
  throw_if(p.status());
  return Device("sim");
}
inline Tensor uniform(const Shape& shape, int64_t seed, double low = -1, double high = 1) {
  return add(multiply(random_uniform(Tensor::of<int64_t>({seed, 0}, {2}), shape), full({}, high - low)), full({}, low));
}
inline std::string bytes(const Tensor& t) {
  std::string out(size_bytes(t.dtype(), uint64_t(t.element_count())), '\0');
  t.copy_to_host(out.data());
  return out;
}
inline void expect_same(const Tensor& got, const Tensor& want, const std::string& who) {
  ASSERT_EQ(got.defined(), want.defined()) << who;
  if (!want.defined()) return;
  ASSERT_EQ(to_string(got.shape()), to_string(want.shape())) << who;
  ASSERT_EQ(got.dtype(), want.dtype()) << who;
  EXPECT_EQ(got.device(), want.device()) << who;
  EXPECT_TRUE(bytes(got) == bytes(want)) << who << ":\n" << got.to_string() << "\nnot\n" << want.to_string();
}
inline void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& who) {
  ASSERT_EQ(got.size(), want.size()) << who;
  for (size_t i = 0; i < got.size(); ++i) expect_same(got[i], want[i], who + ", result " + std::to_string(i));
}
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

}  // namespace oarlock
