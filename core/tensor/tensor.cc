// The public Tensor.
#include <oarlock/base/tensor.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include <oarlock/base/autograd.h>
#include <oarlock/base/operators.h>

#include "core/autograd/tape.h"
#include "core/device/device_memory.h"
#include "core/device/host_memory.h"
#include "core/dispatch/recorder.h"
#include "core/dispatch/role.h"
#include "core/op/element.h"
#include "core/tensor/impl.h"

namespace oarlock {
namespace {

const TensorImpl& value(const Tensor& t, const char* what) {
  if (!t.impl()) throw Error(Code::invalid_argument, std::string(what) + ": the tensor has no value.");
  return *t.impl();
}
DeviceState& usable_device(Device device, const char* what) {
  if (device.index() < 0 || device.index() >= device_count())
    throw Error(Code::invalid_argument, std::string(what) + ": there is no device " + std::to_string(device.index()) +
                                            "; there are " + device_list() + ".");
  return device_at(device.index());
}
void check_dtype(DType dtype, const DeviceState& device, const char* what) {
  if (info(dtype).bits == 0 || info(dtype).kind == DTypeKind::host)
    throw Error(Code::invalid_argument,
                std::string(what) + ": dtype " + std::string(to_string(dtype)) + " can't be stored in a tensor.");
  if (!(device.storage_dtypes & set_of(dtype)))
    throw Error(Code::unsupported, std::string(what) + ": " + device.name + " can't store " +
                                       std::string(to_string(dtype)) + ". Cast to another dtype.");
}

Tensor on_host(const Tensor& t) {
  Tensor h = t;
  if (!t.impl()->device->is_host()) throw_if(role::transfer(t, host_device(), &h));
  return h;
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  DeviceState& d = usable_device(device, "empty");
  check_dtype(dtype, d, "empty");
  throw_if(check_sizes(shape, dtype, "empty"));
  return adopt(allocate_tensor(d, dtype, shape, current_stream(d)).take());
}

Tensor Tensor::from_host(const void* bytes, const Shape& shape, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  uint64_t n = size_bytes(dtype, uint64_t(count(shape)));
  if (n == 0) return t;
  if (!bytes)
    throw Error(Code::invalid_argument, "from_host: the pointer is null, shape " + oarlock::to_string(shape) +
                                            " wants " + std::to_string(n) + " bytes.");
  TensorImpl& impl = *t.impl();
  if (impl.device->is_host()) {
    std::memcpy(impl.view.data, bytes, n);
  } else {
    Block to{impl.view.data, impl.device->addressable ? 0 : impl.view.byte_offset, 0};
    throw_if(copy_from_host(*impl.storage->stream, to, 0, bytes, n));
  }
  return t;
}

Tensor Tensor::scalar(double v, DType dtype) {
  Tensor t = empty({}, dtype);
  if (set_of(dtype) & kInt) op::store<int64_t>(t.impl()->view, 0, int64_t(v));
  else op::store<double>(t.impl()->view, 0, v);
  return t;
}

Tensor Tensor::borrow(void* data, const Shape& shape, DType dtype, const int64_t* strides, void (*release)(void*),
                      void* context) {
  check_dtype(dtype, host_device(), "borrow");
  throw_if(check_sizes(shape, dtype, "borrow"));
  if (strides)
    for (int i = 0; i < shape.rank; ++i)
      if (strides[i] < 0)
        throw Error(Code::invalid_argument, "borrow: stride " + std::to_string(strides[i]) + " of axis " +
                                                std::to_string(i) + " is negative; copy the data row-major instead.");
  if (!data && count(shape) != 0)
    throw Error(Code::invalid_argument, "borrow: the pointer is null, shape is " + oarlock::to_string(shape) + ".");
  auto* s = new (object_allocate(sizeof(Storage))) Storage;
  s->device = &host_device();
  int64_t n = strides ? extent(shape, strides) : count(shape);
  s->block = {data, 0, size_bytes(dtype, uint64_t(n))};
  s->release = release ? release : [](void*) {};
  s->context = context;
  return adopt(make_tensor(host_device(), dtype, shape, strides, s, 0));
}

void detail::check_count(const Shape& shape, size_t have) {
  if (int64_t(have) != count(shape))
    throw Error(Code::invalid_argument, "of: shape " + oarlock::to_string(shape) + " wants " +
                                            std::to_string(count(shape)) + " values, given " + std::to_string(have) +
                                            ".");
}

DType Tensor::dtype() const { return value(*this, "dtype").dtype; }
const Shape& Tensor::shape() const { return value(*this, "shape").shape; }
int64_t Tensor::size(int axis) const {
  const Shape& s = shape();
  int i = axis < 0 ? axis + s.rank : axis;
  if (i < 0 || i >= s.rank)
    throw Error(Code::invalid_argument,
                "size: axis " + std::to_string(axis) + " is out of range for shape " + oarlock::to_string(s) + ".");
  return s(i);
}
int64_t Tensor::element_count() const { return count(shape()); }
const int64_t* Tensor::strides() const { return value(*this, "strides").strides; }
Device Tensor::device() const { return Device(value(*this, "device").device->index); }
bool Tensor::is_contiguous() const { return value(*this, "is_contiguous").contiguous; }
void* Tensor::data() const {
  const TensorImpl& t = value(*this, "data");
  if (!t.device->host_access)
    throw Error(Code::invalid_argument,
                "data: the host can't read memory of " + t.device->name + ". Use copy_to_host or .to(cpu).");
  if (!t.storage && (t.stands_for || count(t.shape) != 0))
    throw Error(Code::invalid_argument, "data: " + no_elements_text(t));
  return t.view.data;
}

void Tensor::copy_to_host(void* out) const {
  const TensorImpl& t = value(*this, "copy_to_host");
  if (t.stands_for) throw Error(Code::invalid_argument, "copy_to_host: " + no_elements_text(t));
  NoGrad off;
  Tensor x = t.contiguous ? *this : contiguous();
  uint64_t n = size_bytes(t.dtype, uint64_t(count(t.shape)));
  if (n == 0) return;
  if (!out) throw Error(Code::invalid_argument, "copy_to_host: the pointer is null.");
  if (!t.storage) throw Error(Code::invalid_argument, "copy_to_host: the tensor has a shape but no elements.");
  const TensorImpl& c = *x.impl();
  if (c.device->is_host()) {
    std::memcpy(out, c.view.data, n);
    return;
  }
  Stream* s = c.storage->stream ? c.storage->stream : current_stream(*c.device);
  throw_if(oarlock::copy_to_host(*s, out, Block{c.view.data, c.device->addressable ? 0 : c.view.byte_offset, 0}, 0, n));
}

double Tensor::item() const {
  const TensorImpl& t = value(*this, "item");
  if (t.stands_for) throw Error(Code::invalid_argument, "item: " + no_elements_text(t));
  if (count(t.shape) != 1)
    throw Error(Code::invalid_argument, "item: shape " + oarlock::to_string(t.shape) + " has " +
                                            std::to_string(count(t.shape)) + " elements, not one.");
  NoGrad off;
  Tensor h = on_host(*this);
  return op::load<double>(h.impl()->view, 0);
}
int64_t Tensor::item_int() const {
  const TensorImpl& t = value(*this, "item_int");
  if (t.stands_for) throw Error(Code::invalid_argument, "item_int: " + no_elements_text(t));
  if (count(t.shape) != 1)
    throw Error(Code::invalid_argument, "item_int: shape " + oarlock::to_string(t.shape) + " has " +
                                            std::to_string(count(t.shape)) + " elements, not one.");
  NoGrad off;
  Tensor h = on_host(*this);
  return op::load<int64_t>(h.impl()->view, 0);
}

Tensor Tensor::to(Device device) const {
  value(*this, "to");
  Tensor t;
  throw_if(role::transfer(*this, usable_device(device, "to"), &t));
  return t;
}
Tensor Tensor::contiguous() const { return value(*this, "contiguous").contiguous ? *this : clone(); }
Tensor Tensor::clone() const {
  value(*this, "clone");
  Tensor t;
  throw_if(role::copy(*this, &t));
  return t;
}

bool Tensor::requires_grad() const { return value(*this, "requires_grad").requires_grad; }
Tensor& Tensor::set_requires_grad(bool on) {
  value(*this, "set_requires_grad");
  if (impl_->autograd && impl_->autograd->node)
    throw Error(Code::invalid_argument,
                "set_requires_grad: this tensor was computed from others; only leaves can be set. Use detach().");
  if (on && !(set_of(impl_->dtype) & (kFloat | kComplex)))
    throw Error(Code::invalid_argument, "set_requires_grad: dtype is " + std::string(oarlock::to_string(impl_->dtype)) +
                                            "; only floating dtypes have gradients. Cast it.");
  impl_->requires_grad = on;
  return *this;
}
Tensor Tensor::grad() const {
  const TensorImpl& t = value(*this, "grad");
  if (!t.autograd) return {};
  const Autograd& a = *t.autograd;
  return a.extra && a.extra->kept ? *a.extra->kept : a.grad;
}
void Tensor::set_grad(Tensor gradient) {
  value(*this, "set_grad");
  if (gradient.defined() && !(gradient.shape() == impl_->shape))
    throw Error(Code::invalid_argument, "set_grad: the gradient has shape " + oarlock::to_string(gradient.shape()) +
                                            ", the tensor " + oarlock::to_string(impl_->shape) + ".");
  Autograd& a = autograd_of(*impl_);
  (a.extra && a.extra->kept ? *a.extra->kept : a.grad) = std::move(gradient);
}
Tensor Tensor::detach() const {
  const TensorImpl& t = value(*this, "detach");
  return adopt(alias_tensor(t, t.shape, t.strides, 0));
}
void Tensor::set_data(const Tensor& from) {
  value(*this, "set_data");
  const TensorImpl& f = value(from, "set_data");
  TensorImpl& t = *impl_;
  if (&f == &t) return;
  if (t.stands_for || f.stands_for) {
    dispatch::Recorder* recorder = dispatch::recorder();
    if (!recorder) throw Error(Code::invalid_argument, "set_data: " + no_elements_text(t.stands_for ? t : f));
    throw_if(recorder->set_data(*this, from));
    return;
  }
  if (t.autograd && t.autograd->node)
    throw Error(Code::invalid_argument,
                "set_data: this tensor was computed from others; only leaves can be set. Use detach().");
  if (t.requires_grad && !(set_of(f.dtype) & (kFloat | kComplex)))
    throw Error(Code::invalid_argument, "set_data: this tensor requires a gradient, the new dtype is " +
                                            std::string(oarlock::to_string(f.dtype)) +
                                            "; only floating dtypes have gradients. Cast it.");
  Storage *old = t.storage, *now = f.storage;
  if (now) {
    retain(now);
    // Above every version that the tape may have seen of the old elements, or it would take these for those.
    if (old && old != now) {
      uint32_t seen = old->version.load(std::memory_order_relaxed);
      if (now->version.load(std::memory_order_relaxed) <= seen) now->version.store(seen + 1, std::memory_order_relaxed);
    }
  }
  t.dtype = f.dtype;
  t.contiguous = f.contiguous;
  t.storage = now;
  t.device = f.device;
  t.shape = f.shape;
  std::copy_n(f.strides, f.shape.rank, t.strides);
  t.view = f.view;
  t.view.shape = reinterpret_cast<const int64_t*>(t.shape.d);
  t.view.strides = t.strides;
  if (old) release(old);
  if (!t.autograd || !t.autograd->grad.defined()) return;
  const TensorImpl& g = *t.autograd->grad.impl();
  if (!(g.shape == t.shape) || g.dtype != t.dtype || g.device != t.device) t.autograd->grad = Tensor();
}
void Tensor::backward() const { oarlock::backward(std::span<const Tensor>(this, 1)); }

Tensor detail::beside(const Tensor& t, double v) {
  const TensorImpl& impl = value(t, "operator");
  bool whole = std::trunc(v) == v && std::isfinite(v);
  DType dtype = !whole && (set_of(impl.dtype) & (kInt | kBool)) ? DType::f32 : impl.dtype;
  Tensor s;
  throw_if(role::full({}, v, dtype, *impl.device, &s));
  return s;
}

namespace {
std::string element_text(const oar_view_t& v, int64_t at, DType t) {
  char text[64];
  if (t == DType::boolean) return op::load<int64_t>(v, at) ? "true" : "false";
  if (set_of(t) & kUnsigned) return std::to_string(op::load<uint64_t>(v, at));
  if (set_of(t) & kSigned) return std::to_string(op::load<int64_t>(v, at));
  double x = op::load<double>(v, at);
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::snprintf(text, sizeof text, t == DType::f64 ? "%.8g" : "%.5g", x);
  std::string s = text;
  if (s.find_first_of(".en") == std::string::npos) s += ".";
  return s;
}
void print(const TensorImpl& t, int axis, int64_t at, int edge, std::string& out) {
  if (axis == t.shape.rank) {
    out += element_text(t.view, at, t.dtype);
    return;
  }
  out += '[';
  int64_t n = t.shape(axis);
  bool last = axis + 1 == t.shape.rank;
  for (int64_t i = 0; i < n; ++i) {
    if (i) out += last ? ", " : ",\n" + std::string(size_t(axis) + 1, ' ');
    if (edge >= 0 && n > 2 * edge + 1 && i == edge) {
      out += "...";
      i = n - edge - 1;
      continue;
    }
    print(t, axis + 1, at + i * t.strides[axis], edge, out);
  }
  out += ']';
}
}  // namespace

std::string Tensor::to_string(int edge) const {
  if (!impl_) return "Tensor(no value)";
  std::string head = "Tensor(" + std::string(oarlock::to_string(impl_->dtype)) + oarlock::to_string(impl_->shape) +
                     " on " + impl_->device->name;
  if (impl_->stands_for) return head + ", a value of a program)";
  if (!impl_->storage && count(impl_->shape) != 0) return head + ", no elements)";
  if (info(impl_->dtype).kind == DTypeKind::complex || info(impl_->dtype).bits < 8) return head + ")";
  NoGrad off;
  Tensor h = on_host(*this);
  std::string out;
  print(*h.impl(), 0, 0, edge, out);
  return out + "  " + head + ")";
}

}  // namespace oarlock
