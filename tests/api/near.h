// Comparing a tensor's values with numbers from elsewhere.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <oarlock/oarlock.h>

namespace oarlock {

inline std::vector<double> values(const Tensor& t) {
  std::vector<double> v(static_cast<size_t>(t.element_count()));
  Tensor wide = t.detach().dtype() == DType::f64 ? t.detach() : cast(t.detach(), DType::f64);
  wide.copy_to_host(v.data());
  return v;
}
inline void expect_near(const Tensor& got, const std::vector<double>& want, double tolerance = 1e-6) {
  ASSERT_EQ(size_t(got.element_count()), want.size()) << got.to_string();
  std::vector<double> have = values(got);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], tolerance) << "element " << i;
}
inline void expect_shape(const Tensor& t, const Shape& shape) { EXPECT_EQ(to_string(t.shape()), to_string(shape)); }
// The text of the Error that f throws.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}
#define EXPECT_ERROR(statement, part)                                   \
  do {                                                                  \
    std::string text = ::oarlock::error_of([&] { statement; });         \
    EXPECT_NE(text.find(part), std::string::npos) << "error: " << text; \
  } while (0)

}  // namespace oarlock
