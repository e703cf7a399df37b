#include "api/src/inference/handle.h"

namespace oarlock::inference {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(Code::invalid_argument, text); }
void check(const std::string& who, DType have, DType want, size_t given, const Shape& shape) {
  if (have != want)
    fail(who + " is " + std::string(to_string(want)) + ", the elements given are " + std::string(to_string(have)) +
         ".");
  if (int64_t(given) != count(shape))
    fail(who + " has shape " + to_string(shape) + " (" + std::to_string(count(shape)) +
         " elements), given room or values for " + std::to_string(given) + ". Give as many as the shape has.");
}

}  // namespace

const std::string& InputHandle::name() const { return slot_->name; }
DType InputHandle::dtype() const { return slot_->dtype; }
void InputHandle::reshape(const Shape& shape) {
  for (int i = 0; i < shape.rank; ++i)
    if (!shape[i].known() || shape[i].n < 0)
      fail("input " + slot_->name + ": reshape to " + to_string(shape) + ". Sizes are numbers from 0 on.");
  slot_->shape = shape;
}
void InputHandle::copy(const void* elements, size_t count, DType dtype) {
  check("input " + slot_->name, dtype, slot_->dtype, count, slot_->shape);
  slot_->tensor = Tensor::from_host(elements, slot_->shape, dtype);
}
void InputHandle::share_external_data(Tensor tensor) {
  if (!tensor.defined()) fail("input " + slot_->name + ": the tensor has no value.");
  if (tensor.dtype() != slot_->dtype)
    fail("input " + slot_->name + " is " + std::string(to_string(slot_->dtype)) + ", the tensor given is " +
         std::string(to_string(tensor.dtype())) + ". Cast it.");
  slot_->shape = tensor.shape();
  slot_->tensor = std::move(tensor);
}

const std::string& OutputHandle::name() const { return slot_->name; }
const Tensor& OutputHandle::tensor() const {
  if (!slot_->tensor.defined())
    throw Error(Code::not_ready, "output " + slot_->name + ": there is none yet. Call run() first.");
  return slot_->tensor;
}
void OutputHandle::copy(void* out_elements, size_t count, DType dtype) const {
  const Tensor& t = tensor();
  check("output " + slot_->name, dtype, t.dtype(), count, t.shape());
  t.copy_to_host(out_elements);
}

}  // namespace oarlock::inference
