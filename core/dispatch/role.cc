#include "core/dispatch/role.h"

#include "core/dispatch/call.h"
#include "core/op/attrs.h"
#include "core/tensor/impl.h"

namespace oarlock::role {
namespace {

Status call(op::Role role, std::initializer_list<const Tensor*> in, std::initializer_list<oar_attr_t> attrs,
            Tensor* out) {
  op::OpId id = op::op_of(role);
  if (id == op::kNoOp)
    return {Code::internal, "no op claims the role that the core needs (" + std::to_string(int(role)) + ")"};
  TensorImpl* inputs[2];
  int n = 0;
  for (const Tensor* t : in) inputs[n++] = t->impl();
  return dispatch::call(id, inputs, n, attrs.begin(), uint32_t(attrs.size()), out, 1);
}

}  // namespace

Status add(const Tensor& a, const Tensor& b, Tensor* out) { return call(op::Role::add, {&a, &b}, {}, out); }
Status full(const Shape& shape, double value, DType dtype, DeviceState& device, Tensor* out) {
  DeviceScope scope(Device(device.index));
  return call(op::Role::full, {}, {op::attr_dims(shape), op::attr_real(value), op::attr_dtype(dtype)}, out);
}
Status cast(const Tensor& x, DType dtype, Tensor* out) {
  return call(op::Role::cast, {&x}, {op::attr_dtype(dtype)}, out);
}
Status copy(const Tensor& x, Tensor* out) { return call(op::Role::copy, {&x}, {}, out); }
Status transfer(const Tensor& x, const DeviceState& device, Tensor* out) {
  if (x.impl()->device == &device) {
    *out = x;
    return {};
  }
  return call(op::Role::transfer, {&x}, {op::attr_integer(device.index)}, out);
}
Status reshape(const Tensor& x, const Shape& shape, Tensor* out) {
  return call(op::Role::reshape, {&x}, {op::attr_dims(shape)}, out);
}
Status expand(const Tensor& x, const Shape& shape, Tensor* out) {
  return call(op::Role::expand, {&x}, {op::attr_dims(shape)}, out);
}

Status sum_to(const Tensor& x, const Shape& shape, Tensor* out) {
  const Shape& from = x.shape();
  if (from == shape) {
    *out = x;
    return {};
  }
  int64_t axes[kMaxRank];
  uint64_t n = 0;
  int extra = from.rank - shape.rank;
  for (int i = 0; i < from.rank; ++i)
    if (i < extra || (shape.d[i - extra].n == 1 && from.d[i].n != 1)) axes[n++] = i;
  Tensor sum;
  OAR_TRY(call(op::Role::sum, {&x}, {op::attr_integers({axes, size_t(n)}), op::attr_flag(true)}, &sum));
  if (sum.shape() == shape) {
    *out = std::move(sum);
    return {};
  }
  return reshape(sum, shape, out);
}

}  // namespace oarlock::role
