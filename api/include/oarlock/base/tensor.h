// The tensor: a small reference to shared storage, with a dtype, a shape, strides and a device.
//
// Copying a Tensor copies the reference. Reading one tensor from many threads is safe; whoever writes to it (assign,
// optimiser steps) needs its own lock. A default-constructed Tensor has no value; passing it where an op wants an operand
// is an error, passing it for an optional operand means "absent".
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <oarlock/base/device.h>
#include <oarlock/base/dtype.h>
#include <oarlock/base/shape.h>
#include <oarlock/base/status.h>

namespace oarlock {

struct TensorImpl;
namespace detail {
OAR_EXPORT void retain(TensorImpl* p) noexcept;
OAR_EXPORT void release(TensorImpl* p) noexcept;
}  // namespace detail

class OAR_EXPORT Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& o) noexcept : impl_(o.impl_) {
    if (impl_) detail::retain(impl_);
  }
  Tensor(Tensor&& o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(impl_, o.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_) detail::release(impl_);
  }

  // A new uninitialised tensor; sizes must be known. Throws Error: a negative size, more than kMaxRank sizes, an overflow,
  // out of memory.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device());
  // Copies `bytes` of row-major elements from host memory.
  static Tensor from_host(const void* bytes, const Shape& shape, DType dtype, Device device = Device());
  template <class T>
  static Tensor of(std::initializer_list<T> values, const Shape& shape, Device device = Device());
  // A rank-0 tensor on the host.
  static Tensor scalar(double value, DType dtype = DType::f32);
  // Refers to memory of the caller without copying; `release(context)` is called once when nobody uses it any more.
  // strides: in elements, not negative; null: row-major. Host memory only.
  static Tensor borrow(void* data, const Shape& shape, DType dtype, const int64_t* strides = nullptr,
                       void (*release)(void* context) = nullptr, void* context = nullptr);

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const { return defined(); }

  DType dtype() const;
  const Shape& shape() const;
  int rank() const { return shape().rank; }
  int64_t size(int axis) const;  // negative axes count from the end; throws when out of range
  int64_t element_count() const;
  const int64_t* strides() const;  // in elements
  Device device() const;
  bool is_contiguous() const;  // row-major without gaps
  // Start of the elements in host memory; throws for a tensor on a device the host cannot read.
  void* data() const;
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }

  // Waits, then copies all elements row-major to host memory of at least size_bytes(dtype, element_count) bytes.
  void copy_to_host(void* out_bytes) const;
  // The one element, converted; waits. Throws if there is not exactly one.
  double item() const;
  int64_t item_int() const;
  // On that device (itself if it is there already). Differentiable.
  Tensor to(Device device) const;
  // Row-major; itself if it is so already.
  Tensor contiguous() const;
  // A new tensor of the same values that shares nothing.
  Tensor clone() const;
  // Values, at most `edge` from each end of each axis: for people.
  std::string to_string(int edge = 3) const;

  // -- gradients; see oarlock/base/autograd.h
  bool requires_grad() const;
  Tensor& set_requires_grad(bool on = true);  // leaf tensors of a floating dtype only
  Tensor grad() const;                        // no value until backward reached it
  void set_grad(Tensor gradient);
  Tensor detach() const;  // the same elements, not recorded
  // From now on this tensor, through every handle of it, has the elements, dtype, shape, strides and device of `from` and
  // shares its storage: how parameters change device or dtype while optimisers keep their handles. Leaf tensors only; the
  // gradient is dropped unless it has the new shape, dtype and device. A gradient recorded before that would read the old
  // elements is an error. No other thread may use the tensor meanwhile.
  void set_data(const Tensor& from);
  void backward() const;  // of a single element: gradient 1

  TensorImpl* impl() const { return impl_; }
  static Tensor adopt(TensorImpl* p) {  // takes over one reference
    Tensor t;
    t.impl_ = p;
    return t;
  }

 private:
  TensorImpl* impl_ = nullptr;
};

namespace detail {
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else {
    static_assert(std::is_integral_v<T>, "no dtype for this C++ type");
    constexpr bool s = std::is_signed_v<T>;
    return sizeof(T) == 1   ? (s ? DType::i8 : DType::u8)
           : sizeof(T) == 2 ? (s ? DType::i16 : DType::u16)
           : sizeof(T) == 4 ? (s ? DType::i32 : DType::u32)
                            : (s ? DType::i64 : DType::u64);
  }
}
OAR_EXPORT void check_count(const Shape& shape, size_t have);
}  // namespace detail

template <class T>
Tensor Tensor::of(std::initializer_list<T> values, const Shape& shape, Device device) {
  detail::check_count(shape, values.size());
  if constexpr (std::is_same_v<T, bool>) {
    std::string bytes(values.begin(), values.end());
    return from_host(bytes.data(), shape, DType::boolean, device);
  } else {
    return from_host(values.begin(), shape, detail::dtype_of<T>(), device);
  }
}

}  // namespace oarlock
