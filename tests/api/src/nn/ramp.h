// Numbers that are exact in every dtype and never the same side by side: element i is ((k i + 3) mod 11 - 5) / 4. The values
// of torch.nn 1.13 in these tests come from layers and inputs filled with them: parameter j with k = 7 + j, inputs with 7,
// the gradient of the result with 5.
#pragma once
#include <oarlock/nn/layer.h>

#include "api/near.h"

namespace oarlock::nn {

inline Tensor ramp(const Shape& shape, int64_t k = 7, DType dtype = DType::f64) {
  std::vector<double> v(static_cast<size_t>(count(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = double((int64_t(i) * k + 3) % 11 - 5) / 4;
  Tensor t = Tensor::from_host(v.data(), shape, DType::f64);
  return dtype == DType::f64 ? t : cast(t, dtype);
}
// In f64.
template <class L>
L& fill(L& layer) {
  layer.to(DType::f64);
  int64_t k = 7;
  for (Tensor& p : layer.parameters()) p.set_data(ramp(p.shape(), k++));
  return layer;
}
// The result's values and shape, then the gradients of x and of every parameter.
inline void expect_torch(Layer& layer, Tensor x, const Shape& shape, const std::vector<double>& want,
                         const std::vector<std::vector<double>>& gradients = {}, double tolerance = 1e-9) {
  if (!gradients.empty()) x.set_requires_grad();
  Tensor y = layer(x);
  expect_shape(y, shape);
  expect_near(y, want, tolerance);
  if (gradients.empty()) return;
  sum(multiply(y, ramp(y.shape(), 5))).backward();
  expect_near(x.grad(), gradients[0], tolerance);
  auto parameters = layer.named_parameters();
  ASSERT_EQ(parameters.size() + 1, gradients.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    SCOPED_TRACE(parameters[i].first);
    expect_near(parameters[i].second.grad(), gradients[i + 1], tolerance);
  }
}

}  // namespace oarlock::nn
