// The few ops that the core itself needs, asked for by role.
#pragma once
#include <oarlock/base/status.h>
#include <oarlock/base/tensor.h>

#include "core/device/device.h"

namespace oarlock::role {

Status add(const Tensor& a, const Tensor& b, Tensor* out);
Status full(const Shape& shape, double value, DType dtype, DeviceState& device, Tensor* out);
Status cast(const Tensor& x, DType dtype, Tensor* out);
Status copy(const Tensor& x, Tensor* out);  // row-major, of its own
Status transfer(const Tensor& x, const DeviceState& device, Tensor* out);
Status reshape(const Tensor& x, const Shape& shape, Tensor* out);
Status expand(const Tensor& x, const Shape& shape, Tensor* out);
Status sum_to(const Tensor& x, const Shape& shape,
              Tensor* out);  // sums over what was broadcast; x itself if nothing was

}  // namespace oarlock::role
