// Tensors from data: asarray and its kin.
#include "convert.h"
#include "create.h"

#include <oarlock/jit.h>

namespace oarlock::python {
namespace {

struct Given {
  PyObject* data = nullptr;
  DType dtype = DType::none;
  std::optional<Device> device;
  bool requires_grad = false;
  Sharing sharing = Sharing::if_possible;
};

Given read(PyObject* args, PyObject* keywords, const char* format, const char* where) {
  PyObject *dtype = nullptr, *device = nullptr, *grad = nullptr, *stop = nullptr, *copy = nullptr, *place = nullptr;
  static const char* const names[] = {"data", "dtype",         "device", "requires_grad",
                                      "copy", "stop_gradient", "place",  nullptr};
  Given g;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, format, const_cast<char**>(names), &g.data, &dtype, &device, &grad,
                                   &copy, &stop, &place))
    throw Raised();
  auto yes = [](PyObject* o) { return o && o != Py_None && PyObject_IsTrue(o) == 1; };
  if (dtype && dtype != Py_None) g.dtype = dtype_from_object(dtype, where);
  if (!device || device == Py_None) device = place;
  if (device && device != Py_None) g.device = device_from_object(device, where);
  g.requires_grad = yes(grad) || (stop && stop != Py_None && !yes(stop));
  if (copy && copy != Py_None) g.sharing = yes(copy) ? Sharing::never : Sharing::always;
  return g;
}

// Where data goes without a word about it: nowhere else on the host, so that it may be shared.
std::optional<Device> placed(const std::optional<Device>& given) {
  if (given || current_device().is_host()) return given;
  return current_device();
}

PyObject* tensor(PyObject*, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    Given g = read(args, keywords, "O|OOOOOO:tensor", "tensor");
    Tensor t;
    if (const Tensor* given = tensor_of(g.data)) {
      Tensor plain = given->detach();
      Ref o = checked(wrap(plain));
      t = tensor_from(o.get(), g.dtype, g.device, Sharing::never, "tensor");
    } else {
      t = tensor_from(g.data, g.dtype, placed(g.device), Sharing::never, "tensor");
    }
    if (g.requires_grad) t.set_requires_grad(true);
    return wrap(t);
  });
}
PyObject* asarray(PyObject*, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    Given g = read(args, keywords, "O|OOOOOO:asarray", "asarray");
    if (g.sharing == Sharing::if_possible && g.dtype == DType::none && !g.device && is_tensor(g.data)) {
      Py_INCREF(g.data);
      return g.data;
    }
    bool stays = is_tensor(g.data) || g.sharing == Sharing::always;
    Tensor t = tensor_from(g.data, g.dtype, stays ? g.device : placed(g.device), g.sharing, "asarray");
    if (g.requires_grad) t.set_requires_grad(true);
    return wrap(t);
  });
}
PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    if (is_number(array) || is_tensor(array) || PyList_Check(array) || PyTuple_Check(array))
      raise_type(std::string("from_numpy: a ") + Py_TYPE(array)->tp_name +
                 " is no array. Use oarlock.tensor, which copies.");
    return wrap(tensor_from(array, DType::none, std::nullopt, Sharing::always, "from_numpy"));
  });
}
PyObject* from_dlpack_of(PyObject*, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    PyObject *o = nullptr, *device = nullptr, *copy = nullptr;
    static const char* const names[] = {"x", "device", "copy", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OO:from_dlpack", const_cast<char**>(names), &o, &device,
                                     &copy))
      throw Raised();
    std::optional<Device> where;
    if (device && device != Py_None) where = device_from_object(device, "from_dlpack");
    Sharing s = !copy || copy == Py_None ? Sharing::if_possible : copy == Py_True ? Sharing::never : Sharing::always;
    if (!PyCapsule_CheckExact(o) && !PyObject_HasAttrString(o, "__dlpack__"))
      raise_type(std::string("from_dlpack: a ") + Py_TYPE(o)->tp_name + " has no __dlpack__. Use oarlock.asarray.");
    return wrap(from_dlpack(o, where, s));
  });
}
PyObject* empty(PyObject*, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    PyObject *shape = nullptr, *dtype = nullptr, *device = nullptr;
    static const char* const names[] = {"shape", "dtype", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OO:empty", const_cast<char**>(names), &shape, &dtype, &device))
      throw Raised();
    DType d = dtype && dtype != Py_None ? dtype_from_object(dtype, "empty") : DType::f32;
    Device where = device && device != Py_None ? device_from_object(device, "empty") : current_device();
    return wrap(Tensor::empty(shape_from(shape, "empty"), d, where));
  });
}
PyObject* filled(PyObject*, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    PyObject *shape = nullptr, *value = nullptr, *dtype = nullptr, *device = nullptr;
    static const char* const names[] = {"shape", "value", "dtype", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:full", const_cast<char**>(names), &shape, &value, &dtype,
                                     &device))
      throw Raised();
    DType d = dtype && dtype != Py_None ? dtype_from_object(dtype, "full") : DType::none;
    std::optional<Device> where;
    if (device && device != Py_None) where = device_from_object(device, "full");
    Shape s = shape_from(shape, "full");
    for (Dim size : s)
      if (size.n < 0 && !(jit::capturing() && size.n < -1))  // a size that is known only when the program runs
        raise_value("full: the shape " + to_string(s) + " has a negative size. Give sizes of 0 and more.");
    Tensor one = tensor_from(value, d, std::nullopt, Sharing::if_possible, "full");
    if (one.rank() != 0) raise_value("full: the value has shape " + to_string(one.shape()) + ". Give a number.");
    if (where = placed(where); where) one = one.to(*where);
    return wrap(expand(one, s).clone());
  });
}

// -- for the package's Python files
PyObject* op_arange(PyObject*, PyObject* args) {
  return guarded([&] {
    long long count;
    PyObject* dtype;
    if (!PyArg_ParseTuple(args, "LO", &count, &dtype)) throw Raised();
    return wrap(arange(Dim(int64_t(count)), dtype_from_object(dtype, "arange")));
  });
}
PyObject* ones_like_of(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(full_like(*tensor_of(o), 1)); });
}
// The elements as unsigned words of their size, shared.
PyObject* words_of(PyObject*, PyObject* o) {
  return guarded([&] {
    Tensor t = tensor_of(o)->detach();
    int bits = info(t.dtype()).bits;
    if (bits < 8) t = t.contiguous();
    DType words = bits <= 8 ? DType::u8 : bits == 16 ? DType::u16 : bits == 32 ? DType::u32 : DType::u64;
    if (t.element_count() == 0) return wrap(Tensor::empty(t.shape(), words));
    auto* held = new Tensor(t);
    auto drop = [](void* p) { delete static_cast<Tensor*>(p); };
    if (bits >= 8) return wrap(Tensor::borrow(t.data(), t.shape(), words, t.strides(), drop, held));
    return wrap(Tensor::borrow(t.data(), Shape{int64_t(size_bytes(t.dtype(), uint64_t(t.element_count())))}, words,
                               nullptr, drop, held));
  });
}
PyObject* from_bytes(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *data, *shape, *dtype;
    if (!PyArg_ParseTuple(args, "SOO", &data, &shape, &dtype)) throw Raised();
    const char* bytes = PyBytes_AS_STRING(data);
    Py_ssize_t n = PyBytes_GET_SIZE(data);
    Shape s = shape_from(shape, "from_bytes");
    DType d = dtype_from_object(dtype, "from_bytes");
    for (Dim size : s)
      if (size.n < 0) raise_value("from_bytes: the shape " + to_string(s) + " has a negative size.");
    if (count(s) == INT64_MAX || size_bytes(d, uint64_t(count(s))) != uint64_t(n))
      raise_value("from_bytes: " + std::to_string(n) + " bytes are given, the shape " + to_string(s) + " of " +
                  python_name(d) + " takes another number.");
    return wrap(Tensor::from_host(bytes, s, d));
  });
}
PyObject* promoted(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) throw Raised();
    DType x = dtype_from_object(a, "result_type"), y = dtype_from_object(b, "result_type"), t = promote(x, y);
    if (t == DType::none)
      raise_type(std::string("result_type: ") + python_name(x) + " and " + python_name(y) +
                 " have no common dtype. Cast one.");
    PyObject* o = dtype_object(t);
    Py_INCREF(o);
    return o;
  });
}
PyObject* as_dtype(PyObject*, PyObject* o) {
  return guarded([&] {
    PyObject* d = dtype_object(dtype_from_object(o, "dtype"));
    Py_INCREF(d);
    return d;
  });
}

template <class F>
PyCFunction function(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef functions[] = {
    {"tensor", function(tensor), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, dtype=None, device=None, requires_grad=False)\n--\n\n"
     "A new tensor of numbers, nested lists, an array or a tensor; always a copy.\n\n"
     "Whole numbers become int64, others float32; arrays keep their dtype.\n\n"
     ">>> oarlock.tensor([[1, 2], [3, 4]]).shape\n(2, 2)\n"},
    {"asarray", function(asarray), METH_VARARGS | METH_KEYWORDS,
     "asarray(data, dtype=None, device=None, requires_grad=False, copy=None)\n--\n\n"
     "As tensor, but shares the memory of an array where it can: native byte order, writable, no negative strides.\n\n"
     "copy: True always copies, False never (ValueError where it would have to).\n\n"
     ">>> oarlock.asarray([1.5, 2.5]).dtype\noarlock.float32\n"},
    {"from_numpy", from_numpy, METH_O,
     "from_numpy(array)\n--\n\nA tensor on the memory of an array, which stays alive with it. ValueError where it "
     "can't be shared.\n\n"
     ">>> import numpy\n>>> a = numpy.zeros(2, dtype=numpy.float32)\n>>> oarlock.from_numpy(a)[0] = 5\n>>> "
     "float(a[0])\n5.0\n"},
    {"from_dlpack", function(from_dlpack_of), METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(x, *, device=None, copy=None)\n--\n\nA tensor on the memory of another library's array, by "
     "DLPack.\n\n"
     ">>> import numpy\n>>> oarlock.from_dlpack(numpy.arange(3)).tolist()\n[0, 1, 2]\n"},
    {"empty", function(empty), METH_VARARGS | METH_KEYWORDS,
     "empty(shape, dtype=None, device=None)\n--\n\nA tensor whose elements are not set.\n\n>>> oarlock.empty((2, "
     "3)).shape\n(2, 3)\n"},
    {"full", function(filled), METH_VARARGS | METH_KEYWORDS,
     "full(shape, value, dtype=None, device=None)\n--\n\nA tensor whose elements all are value; without dtype, that of "
     "the value.\n\n"
     ">>> oarlock.full((2,), 7).tolist()\n[7, 7]\n"},
    {"op_arange", op_arange, METH_VARARGS, nullptr},
    {"ones_like_of", ones_like_of, METH_O, nullptr},
    {"words_of", words_of, METH_O, nullptr},
    {"from_bytes", from_bytes, METH_VARARGS, nullptr},
    {"promoted", promoted, METH_VARARGS, nullptr},
    {"as_dtype", as_dtype, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_creation(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw Raised();
}

}  // namespace oarlock::python
