// Tensors of Python data: numbers, nested sequences and whatever speaks a protocol.
#include <vector>

#include "convert.h"

namespace oarlock::python {
namespace {

bool is_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

// The leaves of nested lists, row-major, and their common shape.
struct Leaves {
  const char* where;
  std::vector<PyObject*> items;  // borrowed from the lists
  std::vector<int64_t> sizes;
  bool arrays = false;  // some leaf is a tensor or an array: the lists are stacked instead
  int depth = -1;       // at which the leaves lie

  void walk(PyObject* o, int level) {
    if (!is_sequence(o)) {
      if (is_tensor(o) || (!is_number(o) && !PyIndex_Check(o) && !PyNumber_Check(o))) arrays = true;
      else if (is_numpy(o) && PySequence_Check(o)) arrays = true;
      if (depth < 0) depth = level;
      if (depth != level && !arrays)
        raise_value(std::string(where) + ": a number stands at depth " + std::to_string(level) +
                    " where others stand at depth " + std::to_string(depth) + ". Give lists of one shape.");
      items.push_back(o);
      return;
    }
    if (level >= kMaxRank)
      raise_value(std::string(where) + ": lists nest deeper than " + std::to_string(kMaxRank) + ". Give fewer axes.");
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    if (int(sizes.size()) == level && (depth < 0 || level < depth)) sizes.push_back(n);
    else if (level >= int(sizes.size()))
      raise_value(std::string(where) + ": a list stands where others have a number, at depth " + std::to_string(level) +
                  ". Give lists of one shape.");
    else if (sizes[size_t(level)] != n)
      raise_value(std::string(where) + ": a list at depth " + std::to_string(level) + " has " + std::to_string(n) +
                  " entries, another " + std::to_string(sizes[size_t(level)]) + ". Give lists of one shape.");
    for (Py_ssize_t i = 0; i < n; ++i) walk(PySequence_Fast_GET_ITEM(o, i), level + 1);
  }
};

Tensor stacked(PyObject* list, DType dtype, std::optional<Device> device, const char* where) {
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  std::vector<Tensor> parts;
  for (Py_ssize_t i = 0; i < n; ++i) {
    Tensor t = tensor_from(PySequence_Fast_GET_ITEM(list, i), dtype, device, Sharing::if_possible, where);
    if (i && !(t.shape() == parts[0].shape() || parts[0].rank() == 0)) {
      Shape first(parts[0].shape());
      first = Shape();
      for (int k = 1; k < parts[0].rank(); ++k) first.push(parts[0].shape()[k]);
      if (!(first == t.shape()))
        raise_value(std::string(where) + ": entry " + std::to_string(i) + " has shape " + to_string(t.shape()) +
                    ", entry 0 " + to_string(first) + ". Give entries of one shape.");
    }
    const int64_t axis = 0;
    parts.push_back(unsqueeze(t, std::span<const int64_t>(&axis, 1)));
  }
  return concat(parts, 0);
}

bool is_bool(PyObject* o) {
  if (PyBool_Check(o)) return true;
  return is_numpy(o) && std::string(Py_TYPE(o)->tp_name).rfind("numpy.bool", 0) == 0;
}

Tensor of_sequence(PyObject* o, DType dtype, std::optional<Device> device, const char* where) {
  Leaves leaves{where, {}, {}};
  leaves.walk(o, 0);
  if (leaves.arrays) return stacked(o, dtype, device, where);
  bool real = false, whole = false;
  for (PyObject* x : leaves.items) {
    if (PyComplex_Check(x))
      raise_type(std::string(where) + ": complex numbers are not supported. Give real and imaginary parts.");
    if (is_bool(x)) continue;
    if (PyIndex_Check(x)) whole = true;
    else real = true;
  }
  Shape shape(leaves.sizes);
  size_t n = leaves.items.size();
  DType natural = real || n == 0 ? DType::f32 : whole ? DType::i64 : DType::boolean;
  DType wanted = dtype == DType::none ? natural : dtype;
  Tensor t;
  if (wanted == DType::f32 || wanted == DType::f64 || (real && (set_of(wanted) & ~kFloat)) ||
      (set_of(wanted) & (kFloat | kStorage))) {
    // Doubles first where the target is neither: one rounding, and float to integer truncates as cast does.
    DType held = wanted == DType::f32 ? DType::f32 : DType::f64;
    t = Tensor::empty(shape, held);
    for (size_t i = 0; i < n; ++i) {
      double v = real_from(leaves.items[i], where, "an entry");
      if (held == DType::f32) t.data_as<float>()[i] = float(v);
      else t.data_as<double>()[i] = v;
    }
  } else if (wanted == DType::boolean) {
    t = Tensor::empty(shape, DType::boolean);
    for (size_t i = 0; i < n; ++i) {
      int v = PyObject_IsTrue(leaves.items[i]);
      if (v < 0) throw Raised();
      t.data_as<uint8_t>()[i] = uint8_t(v);
    }
  } else {
    t = Tensor::empty(shape, DType::i64);
    for (size_t i = 0; i < n; ++i) {
      PyObject* x = leaves.items[i];
      int64_t v;
      if (is_bool(x)) {
        v = PyObject_IsTrue(x);
      } else {
        Ref number = checked(PyNumber_Index(x));
        // Range checks and the words for them are those of a single number.
        Tensor one = alone(number.get(), wanted);
        v = wanted == DType::u64 ? int64_t(*one.data_as<uint64_t>()) : one.item_int();
      }
      t.data_as<int64_t>()[i] = v;
    }
  }
  if (t.dtype() != wanted) t = cast(t, wanted);
  return device ? t.to(*device) : t;
}

// Arrays of a type that NumPy itself does not have (ml_dtypes): shared as plain words.
Tensor of_foreign_dtype(PyObject* array, Sharing sharing, const char* where) {
  Ref dtype = checked(PyObject_GetAttrString(array, "dtype"));
  DType t = dtype_from_object(dtype.get(), where);
  if (info(t).bits < 8)
    raise_type(std::string(where) + ": the array holds one " + python_name(t) + " a byte. Cast it to int8 first.");
  Ref words = checked(PyObject_CallMethod(array, "view", "s", info(t).bits == 16 ? "uint16" : "uint8"));
  Tensor plain = from_buffer(words.get(), sharing, where);
  // The words under their own dtype; `held` keeps them alive.
  auto* held = new Tensor(plain);
  return Tensor::borrow(
      plain.element_count() ? plain.data() : nullptr, plain.shape(), t, plain.strides(),
      [](void* p) { delete static_cast<Tensor*>(p); }, held);
}

bool native_to_numpy(PyObject* array) {
  Ref dtype(PyObject_GetAttrString(array, "dtype"));
  Ref number(dtype ? PyObject_GetAttrString(dtype.get(), "num") : nullptr);
  if (!number) {
    PyErr_Clear();
    return true;
  }
  return PyLong_AsLong(number.get()) < 256;  // user-defined types begin there
}

Tensor as_is(PyObject* o, DType dtype, std::optional<Device> device, Sharing sharing, const char* where) {
  if (is_number(o) && !(PyFloat_Check(o) && is_numpy(o))) return alone(o, dtype, device.value_or(Device()));
  if (is_sequence(o)) return of_sequence(o, dtype, device, where);
  if (PyComplex_Check(o))
    raise_type(std::string(where) + ": complex numbers are not supported. Give real and imaginary parts.");
  if (PyUnicode_Check(o)) raise_type(std::string(where) + ": a str has no numbers. Give numbers, lists or arrays.");
  if (is_numpy(o)) return native_to_numpy(o) ? from_buffer(o, sharing, where) : of_foreign_dtype(o, sharing, where);
  if (PyObject_HasAttrString(o, "__dlpack__")) return from_dlpack(o, device, sharing);
  if (PyObject_CheckBuffer(o)) return from_buffer(o, sharing, where);
  if (PyObject_HasAttrString(o, "__array__") || PyObject_HasAttrString(o, "__array_interface__")) {
    Ref numpy = checked(PyImport_ImportModule("numpy"));
    Ref array = checked(PyObject_CallMethod(numpy.get(), "asarray", "O", o));
    return tensor_from(array.get(), dtype, device, sharing, where);
  }
  if (PySequence_Check(o) && !PyBytes_Check(o)) {
    Ref list = checked(PySequence_List(o));
    return of_sequence(list.get(), dtype, device, where);
  }
  raise_type(std::string(where) + ": a " + Py_TYPE(o)->tp_name +
             " is no tensor. Give a tensor, a number, lists of numbers or an array.");
}

}  // namespace

Tensor tensor_from(PyObject* o, DType dtype, std::optional<Device> device, Sharing sharing, const char* where) {
  if (const Tensor* given = tensor_of(o)) {
    Tensor t = *given;
    Device home = t.device();
    if (sharing == Sharing::always && ((dtype != DType::none && dtype != t.dtype()) || (device && !(*device == home))))
      raise_value(std::string(where) + ": copy is False, but another dtype or device wants a copy. Leave copy out.");
    if (device) t = t.to(*device);
    if (dtype != DType::none && t.dtype() != dtype) t = cast(t, dtype);
    return sharing == Sharing::never && t.impl() == given->impl() ? t.clone() : t;
  }
  if (sharing == Sharing::always && (is_number(o) || is_sequence(o)))
    raise_value(std::string(where) + ": copy is False, but a " + Py_TYPE(o)->tp_name +
                " has no memory to share. Leave copy out.");
  // A copy in another dtype or on another device comes from a shared view of the source.
  Sharing first = sharing == Sharing::never && (dtype != DType::none || device) ? Sharing::if_possible : sharing;
  Tensor t = as_is(o, dtype, device, first, where);
  Tensor before = t;
  if (device && !(t.device() == *device)) t = t.to(*device);
  if (dtype != DType::none && t.dtype() != dtype) t = cast(t, dtype);
  if (sharing == Sharing::always && t.impl() != before.impl())
    raise_value(std::string(where) + ": copy is False, but another dtype or device wants a copy. Leave copy out.");
  if (first != sharing && t.impl() == before.impl() && !is_number(o) && !is_sequence(o)) t = t.clone();
  return t;
}

}  // namespace oarlock::python
