// Small tensors and what is expected of them.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <oarlock/base/autograd.h>
#include <oarlock/base/op.h>
#include <oarlock/base/ops.h>

namespace oarlock::test {

inline constexpr double kNan = NAN, kInf = INFINITY;
using Values = std::vector<double>;

inline Tensor f32(std::initializer_list<float> v) { return Tensor::of<float>(v, {int64_t(v.size())}); }
inline Tensor f64(std::initializer_list<double> v) { return Tensor::of<double>(v, {int64_t(v.size())}); }
inline Tensor i32(std::initializer_list<int32_t> v) { return Tensor::of<int32_t>(v, {int64_t(v.size())}); }
inline Tensor i64(std::initializer_list<int64_t> v) { return Tensor::of<int64_t>(v, {int64_t(v.size())}); }
inline Tensor f64(const Values& v) { return Tensor::from_host(v.data(), {int64_t(v.size())}, DType::f64); }
inline Tensor shaped(const Values& v, const Shape& shape) { return reshape(f64(v), shape); }
inline Tensor count_up(const Shape& s, DType t = DType::f64) { return reshape(arange(count(s), t), s); }

inline Values numbers(const Tensor& t) {
  Values out(size_t(t.element_count()));
  if (!out.empty()) cast(t, DType::f64).copy_to_host(out.data());
  return out;
}
inline std::string text(const Tensor& t) { return to_string(t.shape()); }
// NaN equals NaN; within: relative, of numbers other than 0.
inline void expect_values(const Tensor& t, const Values& want, double within = 0) {
  Values got = numbers(t);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else if (std::isinf(want[i]) || within == 0) EXPECT_EQ(got[i], want[i]) << i;
    else EXPECT_NEAR(got[i], want[i], within * std::fabs(want[i]) + 1e-300) << i;
  }
}
inline std::string complaint(auto f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}
inline bool says(const std::string& text, std::string_view what) { return text.find(what) != text.npos; }

}  // namespace oarlock::test
