// Properties and methods of tensors that are not ops.
#include <cstring>

#include "convert.h"
#include "operators.h"

namespace oarlock::python {

bool is_leaf(const Tensor& t) {
  if (!t.requires_grad()) return true;
  try {
    Tensor(t).set_requires_grad(true);  // refused by what was computed
    return true;
  } catch (const Error&) { return false; }
}

namespace {

const Tensor& self_of(PyObject* self) { return *tensor_of(self); }

// -- properties
PyObject* get_shape(PyObject* s, void*) {
  return guarded([&] { return tuple_of(self_of(s).shape()); });
}
PyObject* get_strides(PyObject* s, void*) {
  return guarded([&] {
    const Tensor& t = self_of(s);
    Shape strides;
    for (int i = 0; i < t.rank(); ++i) strides.push(t.strides()[i]);
    return tuple_of(strides);
  });
}
PyObject* get_ndim(PyObject* s, void*) { return PyLong_FromLong(self_of(s).rank()); }
PyObject* get_size(PyObject* s, void*) { return PyLong_FromLongLong(self_of(s).element_count()); }
PyObject* get_dtype(PyObject* s, void*) {
  PyObject* o = dtype_object(self_of(s).dtype());
  Py_INCREF(o);
  return o;
}
PyObject* get_nbytes(PyObject* s, void*) {
  const Tensor& t = self_of(s);
  return PyLong_FromUnsignedLongLong(size_bytes(t.dtype(), uint64_t(t.element_count())));
}
PyObject* get_itemsize(PyObject* s, void*) { return PyLong_FromLong((info(self_of(s).dtype()).bits + 7) / 8); }
PyObject* get_device(PyObject* s, void*) {
  return guarded([&] { return device_object(self_of(s).device()); });
}
PyObject* get_transposed(PyObject* s, void*) {
  return guarded([&] {
    const Tensor& t = self_of(s);
    if (t.rank() != 2)
      raise_value("T: the tensor has " + std::to_string(t.rank()) + " axes, not 2. Use mT for matrices, or permute.");
    return wrap(matrix_transpose(t));
  });
}
PyObject* get_matrix_transposed(PyObject* s, void*) {
  return guarded([&] { return wrap(matrix_transpose(self_of(s))); });
}
PyObject* get_requires(PyObject* s, void*) { return PyBool_FromLong(self_of(s).requires_grad()); }
PyObject* get_stop(PyObject* s, void*) { return PyBool_FromLong(!self_of(s).requires_grad()); }
int set_requires(PyObject* s, PyObject* value, void* stop) {
  return guarded_int([&] {
    if (!value) raise_type("requires_grad: it can't be deleted. Set it to False.");
    int on = PyObject_IsTrue(value);
    if (on < 0) throw Raised();
    Tensor(self_of(s)).set_requires_grad((on != 0) != (stop != nullptr));
    return 0;
  });
}
PyObject* get_leaf(PyObject* s, void*) { return PyBool_FromLong(is_leaf(self_of(s))); }
PyObject* get_grad(PyObject* s, void*) {
  return guarded([&] { return wrap(self_of(s).grad()); });
}
int set_grad(PyObject* s, PyObject* value, void*) {
  return guarded_int([&] {
    Tensor g;
    if (value && value != Py_None) {
      if (!is_tensor(value))
        raise_type(std::string("grad: a ") + Py_TYPE(value)->tp_name + " is no tensor. Give a tensor or None.");
      g = self_of(value);
    }
    Tensor(self_of(s)).set_grad(g);
    return 0;
  });
}
PyObject* get_priority(PyObject*, void*) { return PyFloat_FromDouble(1000); }

// -- elements as Python's
PyObject* number(const char* p, DType t) {
  auto read = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (t) {
    case DType::boolean: return PyBool_FromLong(*p != 0);
    case DType::i8: return PyLong_FromLong(read(int8_t()));
    case DType::i16: return PyLong_FromLong(read(int16_t()));
    case DType::i32: return PyLong_FromLong(read(int32_t()));
    case DType::i64: return PyLong_FromLongLong(read(int64_t()));
    case DType::u8: return PyLong_FromLong(read(uint8_t()));
    case DType::u16: return PyLong_FromLong(read(uint16_t()));
    case DType::u32: return PyLong_FromUnsignedLong(read(uint32_t()));
    case DType::u64: return PyLong_FromUnsignedLongLong(read(uint64_t()));
    case DType::f32: return PyFloat_FromDouble(read(float()));
    default: return PyFloat_FromDouble(read(double()));
  }
}
bool plain(DType t) { return (set_of(t) & (kBool | kInt)) || t == DType::f32 || t == DType::f64; }
PyObject* nested(const char*& p, const Tensor& t, int axis) {
  if (axis == t.rank()) {
    PyObject* o = number(p, t.dtype());
    p += info(t.dtype()).bits / 8;
    return checked(o).give();
  }
  Py_ssize_t n = t.shape()(axis);
  Ref list = checked(PyList_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, nested(p, t, axis + 1));
  return list.give();
}
PyObject* to_list(PyObject* s, PyObject*) {
  return guarded([&] {
    Tensor t = self_of(s).detach();
    if (!plain(t.dtype())) t = cast(t, set_of(t.dtype()) & (kFloat | kStorage) ? DType::f32 : DType::f64);
    std::vector<char> bytes(size_bytes(t.dtype(), uint64_t(t.element_count())) + 8);
    {
      Unlocked u(work_of(t) >= kLongCall);
      t.copy_to_host(bytes.data());
    }
    const char* p = bytes.data();
    return nested(p, t, 0);
  });
}
PyObject* item(PyObject* s, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = self_of(s);
    if (t.element_count() != 1)
      raise_value("item: the tensor has shape " + to_string(t.shape()) +
                  ", not one element. Use tolist(), or an index.");
    DTypeSet set = set_of(t.dtype());
    if (set & kBool) return PyBool_FromLong(t.item_int() != 0);
    if (t.dtype() == DType::u64) return PyLong_FromUnsignedLongLong(uint64_t(t.item_int()));
    if (set & kInt) return PyLong_FromLongLong(t.item_int());
    return PyFloat_FromDouble(t.item());
  });
}

// -- the same values elsewhere
PyObject* to(PyObject* s, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] {
    Tensor t = self_of(s);
    auto apply = [&](PyObject* o, const char* name) {
      if (o == Py_None) return;
      if (name ? !std::strcmp(name, "dtype") : is_dtype_like(o)) {
        DType d = dtype_from_object(o, "to");
        if (d != t.dtype()) t = cast(t, d);
      } else if (!name || !std::strcmp(name, "device")) {
        Device d = device_from_object(o, "to");
        Unlocked u(!(d == t.device()));
        t = t.to(d);
      } else if (!std::strcmp(name, "copy")) {
        if (PyObject_IsTrue(o) == 1 && t.impl() == self_of(s).impl()) t = t.clone();
      } else {
        raise_type(std::string("to: there is no argument '") + name + "'. There are device, dtype and copy.");
      }
    };
    for (Py_ssize_t i = 0; i < n; ++i) apply(args[i], nullptr);
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      apply(args[n + i], PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i)));
    return wrap(t);
  });
}
PyObject* as_dtype(PyObject* s, PyObject* dtype) {
  return guarded([&] {
    const Tensor& t = self_of(s);
    DType d = dtype_from_object(dtype, "astype");
    return wrap(d == t.dtype() ? t : cast(t, d));
  });
}
template <DType d>
PyObject* as(PyObject* s, PyObject*) {
  return guarded([&] {
    const Tensor& t = self_of(s);
    return wrap(d == t.dtype() ? t : cast(t, d));
  });
}
PyObject* to_cpu(PyObject* s, PyObject*) {
  return guarded([&] { return wrap(self_of(s).to(Device())); });
}
PyObject* detach(PyObject* s, PyObject*) {
  return guarded([&] { return wrap(self_of(s).detach()); });
}
PyObject* clone(PyObject* s, PyObject*) {
  return guarded([&] { return wrap(self_of(s).clone()); });
}
PyObject* deep_copy(PyObject* s, PyObject*) {
  return guarded([&] {
    const Tensor& t = self_of(s);
    Tensor c = t.detach().clone();
    if (t.requires_grad()) {
      if (!is_leaf(t))
        raise_value("deepcopy: the tensor was computed while gradients were recorded. Use detach() or clone().");
      c.set_requires_grad(true);
    }
    return wrap(c);
  });
}
PyObject* contiguous(PyObject* s, PyObject*) {
  return guarded([&] { return wrap(self_of(s).contiguous()); });
}
PyObject* is_contiguous(PyObject* s, PyObject*) { return PyBool_FromLong(self_of(s).is_contiguous()); }
PyObject* dim(PyObject* s, PyObject*) { return PyLong_FromLong(self_of(s).rank()); }
PyObject* numel(PyObject* s, PyObject*) { return PyLong_FromLongLong(self_of(s).element_count()); }
PyObject* data_pointer(PyObject* s, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(self_of(s).data()); });
}
PyObject* requires_grad_(PyObject* s, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    int on = n ? PyObject_IsTrue(args[0]) : 1;
    if (on < 0) throw Raised();
    Tensor(self_of(s)).set_requires_grad(on != 0);
    Py_INCREF(s);
    return s;
  });
}
PyObject* copy_(PyObject* s, PyObject* value) {
  return guarded([&] {
    const Tensor& t = self_of(s);
    Tensor v = tensor_from(value, DType::none, t.device(), Sharing::if_possible, "copy_");
    if (v.dtype() != t.dtype()) v = cast(v, t.dtype());
    if (!(v.shape() == t.shape())) v = expand(v, t.shape());
    write(s, v, "copy_");
    Py_INCREF(s);
    return s;
  });
}

// -- protocols
PyObject* dlpack(PyObject* s, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] {
    PyObject *version = nullptr, *device = nullptr, *copy = nullptr;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
      PyObject* value = args[n + i];
      if (!std::strcmp(name, "max_version")) version = value;
      else if (!std::strcmp(name, "dl_device")) device = value;
      else if (!std::strcmp(name, "copy")) copy = value;
      else if (std::strcmp(name, "stream")) raise_type(std::string("__dlpack__: there is no argument '") + name + "'.");
    }
    return to_dlpack(self_of(s), version, device, copy);
  });
}
PyObject* dlpack_place(PyObject* s, PyObject*) {
  return guarded([&] { return dlpack_device(self_of(s)); });
}

template <class F>
PyCFunction method(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "Sizes of the axes, a tuple.", nullptr},
    {"strides", get_strides, nullptr, "Steps along the axes, in elements.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"dtype", get_dtype, nullptr, "Type of the elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes that the elements take.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes that one element takes.", nullptr},
    {"device", get_device, nullptr, "Where the elements lie.", nullptr},
    {"place", get_device, nullptr, "Where the elements lie; same as device.", nullptr},
    {"T", get_transposed, nullptr, "A matrix transposed, a view.", nullptr},
    {"mT", get_matrix_transposed, nullptr, "The last two axes swapped, a view.", nullptr},
    {"requires_grad", get_requires, set_requires, "Whether operations on it are recorded for gradients.", nullptr},
    {"stop_gradient", get_stop, set_requires, "The opposite of requires_grad.", const_cast<char*>("stop")},
    {"is_leaf", get_leaf, nullptr, "Whether it was made, not computed from what requires a gradient.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() has added up, or None.", nullptr},
    {"__array_priority__", get_priority, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef tensor_methods[] = {
    {"tolist", to_list, METH_NOARGS, "The elements in nested lists of Python numbers. Waits for the device."},
    {"item", item, METH_NOARGS, "The one element as a Python number. Waits for the device."},
    {"to", method(to), METH_FASTCALL | METH_KEYWORDS,
     "to(device_or_dtype)\n--\n\nThe same values on a device or in a dtype; itself if it is so already."},
    {"astype", as_dtype, METH_O, "astype(dtype)\n--\n\nThe same values in a dtype."},
    {"type", as_dtype, METH_O, "type(dtype)\n--\n\nThe same values in a dtype."},
    {"float", as<DType::f32>, METH_NOARGS, "As float32."},
    {"double", as<DType::f64>, METH_NOARGS, "As float64."},
    {"half", as<DType::f16>, METH_NOARGS, "As float16."},
    {"bfloat16", as<DType::bf16>, METH_NOARGS, "As bfloat16."},
    {"int", as<DType::i32>, METH_NOARGS, "As int32."},
    {"long", as<DType::i64>, METH_NOARGS, "As int64."},
    {"bool", as<DType::boolean>, METH_NOARGS, "As bool: x != 0."},
    {"cpu", to_cpu, METH_NOARGS, "On the host."},
    {"detach", detach, METH_NOARGS, "The same elements, not recorded for gradients."},
    {"clone", clone, METH_NOARGS, "A copy of the elements; recorded for gradients."},
    {"__deepcopy__", deep_copy, METH_O, "A copy that shares nothing; a leaf stays a leaf."},
    {"__copy__", detach, METH_NOARGS, "The same elements."},
    {"contiguous", contiguous, METH_NOARGS, "Row-major; itself if it is so already."},
    {"is_contiguous", is_contiguous, METH_NOARGS, "Whether the elements lie row-major without gaps."},
    {"dim", dim, METH_NOARGS, "Number of axes."},
    {"numel", numel, METH_NOARGS, "Number of elements."},
    {"data_ptr", data_pointer, METH_NOARGS, "Address of the first element, in host memory."},
    {"requires_grad_", method(requires_grad_), METH_FASTCALL,
     "requires_grad_(on=True)\n--\n\nSets requires_grad and gives the tensor."},
    {"copy_", copy_, METH_O, "copy_(value)\n--\n\nWrites value, broadcast and cast, into the elements."},
    {"__dlpack__", method(dlpack), METH_FASTCALL | METH_KEYWORDS, "A DLPack capsule that shares the elements."},
    {"__dlpack_device__", dlpack_place, METH_NOARGS, "DLPack's (type, number) of the device."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oarlock::python
