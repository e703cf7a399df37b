// matmul of arrays in double, and the comparison with it.
#ifndef OARLOCK_TESTS_BACKENDS_MATMUL_CASES_H_
#define OARLOCK_TESTS_BACKENDS_MATMUL_CASES_H_

#include "harness.h"

namespace oarlock::test {

// Element i of the product, and the sum of the absolute products, by which rounding errors are judged.
struct Dot {
  double value = 0, absolute = 0;
};
inline Dot dot(const Array& a, const Array& b, const Dims& out, int64_t i) {
  const int64_t k_size = a.shape().back(), n = out.back(), m = out[out.size() - 2];
  const int64_t column = i % n, row = i / n % m;
  int64_t batch = i / n / m, at_a = 0, at_b = 0;
  for (size_t d = out.size() - 2; d-- > 0;) {
    const int64_t index = batch % out[d];
    batch /= out[d];
    for (auto [x, at] : {std::pair(&a, &at_a), std::pair(&b, &at_b)}) {
      const int64_t own = static_cast<int64_t>(d) - static_cast<int64_t>(out.size() - x->shape().size());
      if (own >= 0 && x->shape()[own] != 1) *at += index * x->strides()[own];
    }
  }
  const size_t ra = a.shape().size(), rb = b.shape().size();
  Dot result;
  for (int64_t k = 0; k < k_size; ++k) {
    const double x = oar_kit_load(a.data(), a.dtype(), at_a + row * a.strides()[ra - 2] + k * a.strides()[ra - 1]);
    const double y = oar_kit_load(b.data(), b.dtype(), at_b + k * b.strides()[rb - 2] + column * b.strides()[rb - 1]);
    result.value += x * y;
    result.absolute += std::abs(x * y);
  }
  return result;
}

inline double epsilon_of(uint32_t dtype) {
  return dtype == OAR_DTYPE_F64   ? 0x1p-50
         : dtype == OAR_DTYPE_F32 ? 0x1p-20
         : dtype == OAR_DTYPE_F16 ? 0x1p-10
                                  : 0x1p-7;
}

inline void expect_product(const Array& a, const Array& b, const Array& out) {
  for (int64_t i = 0; i < out.count(); ++i) {
    const Dot want = dot(a, b, out.shape(), i);
    ASSERT_NEAR(out.get(i), want.value, epsilon_of(out.dtype()) * (want.absolute + 1e-30)) << "element " << i;
  }
}

}  // namespace oarlock::test
#endif
