// DLPack, both forms of its capsule: dlpack.github.io, version 1.0. Host memory is shared; devices without a DLPack number
// are copied through the host.
#include <cstring>
#include <memory>

#include "convert.h"

namespace oarlock::python {
namespace {

struct DLDevice {
  int32_t type, id;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Unversioned {
  DLTensor t;
  void* context;
  void (*deleter)(Unversioned*);
};
struct Versioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  DLTensor t;
};
constexpr int32_t kCpu = 1;
constexpr uint64_t kReadOnly = 1, kCopied = 2;
constexpr bool is_host(int32_t type) {
  return type == 1 || type == 3 || type == 11;
}  // plain, CUDA's and ROCm's pinned

template <class M>
struct Export {
  M managed{};
  Tensor tensor;
  int64_t shape[kMaxRank], strides[kMaxRank];
};
template <class M>
void destroy(PyObject* capsule, const char* unused) {
  // A consumer that took it has renamed it.
  if (auto* m = static_cast<M*>(PyCapsule_IsValid(capsule, unused) ? PyCapsule_GetPointer(capsule, unused) : nullptr))
    m->deleter(m);
}

template <class M>
M* exported(const Tensor& t) {
  auto* e = new Export<M>{};
  e->tensor = t;
  for (int i = 0; i < t.rank(); ++i) {
    e->shape[i] = t.shape()(i);
    e->strides[i] = t.strides()[i];
  }
  DLTensor& d = e->managed.t;
  d.data = t.element_count() ? t.data() : nullptr;
  d.device = {kCpu, 0};
  d.ndim = t.rank();
  d.dtype = {info(t.dtype()).dlpack_code, uint8_t(info(t.dtype()).bits), 1};
  d.shape = e->shape;
  d.strides = e->strides;
  e->managed.context = e;
  e->managed.deleter = [](M* m) { delete static_cast<Export<M>*>(m->context); };
  return &e->managed;
}

DType dtype_of(uint8_t code, uint8_t bits) {
  for (int i = 1; i < 64; ++i) {
    const DTypeInfo& d = info(DType(i));
    if (!d.text.empty() && d.kind != DTypeKind::host && d.dlpack_code == code && d.bits == bits) return DType(i);
  }
  return DType::none;
}

template <class M>
void release(void* p) {
  auto* m = static_cast<M*>(p);
  if (!m->deleter || !Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();  // producers in Python expect the lock
  m->deleter(m);
  PyGILState_Release(state);
}

// Takes over m: it is released when the tensor goes, or at once where it was copied or refused.
template <class M>
Tensor taken(M* m, bool read_only, Sharing sharing) {
  std::unique_ptr<M, void (*)(M*)> owner(m, [](M* x) {
    if (x->deleter) x->deleter(x);
  });
  DLTensor& d = m->t;
  if (!is_host(d.device.type))
    raise(PyExc_BufferError, "from_dlpack: the data is on a device of DLPack type " + std::to_string(d.device.type) +
                                 "; only host memory can be shared. Copy it to the CPU first.");
  DType dtype = d.dtype.lanes == 1 ? dtype_of(d.dtype.code, d.dtype.bits) : DType::none;
  if (dtype == DType::none)
    raise_type("from_dlpack: there is no dtype of DLPack code " + std::to_string(d.dtype.code) + ", " +
               std::to_string(d.dtype.bits) + " bits and " + std::to_string(d.dtype.lanes) +
               " lanes. Cast the data first.");
  if (d.ndim < 0 || d.ndim > kMaxRank)
    raise_value("from_dlpack: the data has " + std::to_string(d.ndim) + " axes. Give at most " +
                std::to_string(kMaxRank) + ".");
  Shape shape;
  int64_t strides[kMaxRank];
  bool backwards = false;
  for (int i = 0; i < d.ndim; ++i) {
    if (d.shape[i] < 0)
      raise_value("from_dlpack: axis " + std::to_string(i) + " has the size " + std::to_string(d.shape[i]) + ".");
    shape.push(d.shape[i]);
  }
  int64_t step = 1;
  for (int i = d.ndim - 1; i >= 0; --i) {
    strides[i] = d.strides ? d.strides[i] : step;
    step *= shape(i);
    backwards |= strides[i] < 0 && shape(i) > 1;
    if (strides[i] < 0 && shape(i) <= 1) strides[i] = 1;
  }
  if (count(shape) == 0) return Tensor::empty(shape, dtype);
  char* data = static_cast<char*>(d.data) + d.byte_offset;
  if (sharing == Sharing::always && (read_only || backwards))
    raise(PyExc_BufferError, std::string("from_dlpack: the data can't be shared: ") +
                                 (read_only ? "it may not be written to" : "an axis runs backwards") +
                                 ". Leave copy out.");
  if (!backwards) {
    Tensor shared = Tensor::borrow(data, shape, dtype, strides, release<M>, owner.release());
    return sharing == Sharing::never || read_only ? shared.clone() : shared;
  }
  if (info(dtype).bits % 8)
    raise(PyExc_BufferError, "from_dlpack: packed elements run backwards. Copy the data first.");
  // Flipped: from the lowest address, with positive steps, then read from the far end.
  Tensor t = Tensor::empty(shape, dtype);
  size_t size = info(dtype).bits / 8;
  int64_t index[kMaxRank] = {};
  char* out = static_cast<char*>(t.data());
  for (int64_t k = 0, n = count(shape); k < n; ++k, out += size) {
    int64_t at = 0;
    for (int i = 0; i < shape.rank; ++i) at += index[i] * strides[i];
    std::memcpy(out, data + at * int64_t(size), size);
    for (int i = shape.rank - 1; i >= 0 && ++index[i] == shape(i); --i) index[i] = 0;
  }
  return t;
}

}  // namespace

PyObject* dlpack_device(const Tensor&) { return Py_BuildValue("(ii)", kCpu, 0); }

PyObject* to_dlpack(const Tensor& given, PyObject* max_version, PyObject* dl_device, PyObject* copy) {
  Tensor t = given;
  if (t.requires_grad())
    raise(PyExc_BufferError,
          "__dlpack__: the tensor requires a gradient, which the other library would not see. Use detach().");
  if (dl_device && dl_device != Py_None) {
    long type = -1, id = 0;
    if (!PyArg_ParseTuple(dl_device, "ll", &type, &id)) throw Raised();
    if (type != kCpu)
      raise(PyExc_BufferError,
            "__dlpack__: DLPack device type " + std::to_string(type) + " is asked for; only the host's 1 is given.");
  }
  bool copied = copy == Py_True;
  if (!t.device().is_host()) {
    if (copy == Py_False)
      raise(PyExc_BufferError,
            "__dlpack__: copy is False, but the tensor is on " + t.device().name() + ". Leave copy out.");
    t = t.to(Device());
    copied = true;
  } else if (copied) {
    t = t.clone();
  }
  if (info(t.dtype()).bits < 8 && !t.is_contiguous()) t = t.contiguous();
  long major = 0;
  if (max_version && max_version != Py_None) {
    long minor = 0;
    if (!PyArg_ParseTuple(max_version, "ll", &major, &minor)) throw Raised();
  }
  if (major >= 1) {
    Versioned* m = exported<Versioned>(t);
    m->major = 1;
    m->flags = copied ? kCopied : 0;
    return PyCapsule_New(m, "dltensor_versioned", [](PyObject* c) { destroy<Versioned>(c, "dltensor_versioned"); });
  }
  return PyCapsule_New(exported<Unversioned>(t), "dltensor", [](PyObject* c) { destroy<Unversioned>(c, "dltensor"); });
}

Tensor from_dlpack(PyObject* o, std::optional<Device> device, Sharing sharing) {
  Ref capsule;
  if (PyCapsule_CheckExact(o)) {
    Py_INCREF(o);
    capsule = Ref(o);
  } else {
    Ref place = checked(PyObject_CallMethod(o, "__dlpack_device__", nullptr));
    long type = 0, id = 0;
    if (!PyArg_ParseTuple(place.get(), "ll", &type, &id)) {
      PyErr_Clear();
      Ref first = checked(PySequence_GetItem(place.get(), 0));  // some give an enumeration
      Ref number = checked(PyNumber_Index(first.get()));
      type = PyLong_AsLong(number.get());
    }
    if (!is_host(int32_t(type)))
      raise(PyExc_BufferError, "from_dlpack: the data is on a device of DLPack type " + std::to_string(type) +
                                   "; only host memory can be shared. Copy it to the CPU first.");
    Ref method = checked(PyObject_GetAttrString(o, "__dlpack__"));
    Ref keywords = checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
    Ref none = checked(PyTuple_New(0));
    capsule = Ref(PyObject_Call(method.get(), none.get(), keywords.get()));
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer from before version 1
      PyErr_Clear();
      capsule = Ref(PyObject_CallNoArgs(method.get()));
    }
    if (!capsule) throw Raised();
  }
  Tensor t;
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    auto* m = static_cast<Versioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    PyCapsule_SetName(capsule.get(), "used_dltensor_versioned");
    if (m->major != 1) {
      uint32_t major = m->major;
      if (m->deleter) m->deleter(m);
      raise(PyExc_BufferError, "from_dlpack: the data speaks DLPack " + std::to_string(major) + ", this is 1.");
    }
    t = taken(m, (m->flags & kReadOnly) != 0, sharing);
  } else if (PyCapsule_IsValid(capsule.get(), "dltensor")) {
    auto* m = static_cast<Unversioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    PyCapsule_SetName(capsule.get(), "used_dltensor");
    t = taken(m, false, sharing);
  } else {
    raise_value("from_dlpack: the capsule is used up, or is none of DLPack's. Ask its producer for a new one.");
  }
  return device ? t.to(*device) : t;
}

}  // namespace oarlock::python
