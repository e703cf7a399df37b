// Python numbers and sizes.
#include <cmath>
#include <cstring>

#include "convert.h"

namespace oarlock::python {

bool is_numpy(PyObject* o) { return !std::char_traits<char>::compare(Py_TYPE(o)->tp_name, "numpy.", 6); }

bool is_number(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o); }

int64_t integer_from(PyObject* o, const char* where, const char* what) {
  if (PyFloat_Check(o) || !PyIndex_Check(o))
    raise_type(std::string(where) + ": " + what + " is a " + Py_TYPE(o)->tp_name + ". Give an integer.");
  Ref number = checked(PyNumber_Index(o));
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (v == -1 && PyErr_Occurred()) throw Raised();
  if (overflow)
    raise(PyExc_OverflowError, std::string(where) + ": " + what + " does not fit in 64 bits. Give a smaller number.");
  return v;
}

double real_from(PyObject* o, const char* where, const char* what) {
  if (PyFloat_CheckExact(o)) return PyFloat_AS_DOUBLE(o);
  if (PyUnicode_Check(o) || PyComplex_Check(o) || !PyNumber_Check(o))
    raise_type(std::string(where) + ": " + what + " is a " + Py_TYPE(o)->tp_name + ". Give a number.");
  double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw Raised();
  return v;
}

void integers_from(PyObject* o, std::vector<int64_t>& out, const char* where, const char* what) {
  if (PyIndex_Check(o) && !is_tensor(o)) return out.push_back(integer_from(o, where, what));
  if (PyUnicode_Check(o) || PyBytes_Check(o) || !PySequence_Check(o))
    raise_type(std::string(where) + ": " + what + " is a " + Py_TYPE(o)->tp_name +
               ". Give an integer or a tuple of integers.");
  Ref list = checked(PySequence_Fast(o, "not a sequence"));
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list.get());
  for (Py_ssize_t i = 0; i < n; ++i) out.push_back(integer_from(PySequence_Fast_GET_ITEM(list.get(), i), where, what));
}

Shape shape_from(PyObject* o, const char* where) {
  std::vector<int64_t> sizes;
  integers_from(o, sizes, where, "shape");
  if (sizes.size() > size_t(kMaxRank))
    raise_value(std::string(where) + ": the shape has " + std::to_string(sizes.size()) + " sizes. Give at most " +
                std::to_string(kMaxRank) + ".");
  return Shape(sizes);
}

namespace {
PyObject* size_type = nullptr;
}
void set_size_type(PyObject* type) { size_type = type; }
PyObject* size_object(Dim d) {
  if (d.known() || !size_type) return checked(PyLong_FromLongLong(d.n)).give();
  Ref n = checked(PyLong_FromLongLong(d.n));
  return checked(PyObject_CallOneArg(size_type, n.get())).give();
}
PyObject* tuple_of(const Shape& s) {
  Ref t = checked(PyTuple_New(s.rank));
  for (int i = 0; i < s.rank; ++i) PyTuple_SET_ITEM(t.get(), i, size_object(s[i]));
  return t.give();
}

namespace {
bool fits(DType t, PyObject* number, int64_t* out_value) {
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (v == -1 && PyErr_Occurred()) throw Raised();
  int bits = info(t).bits;
  if (t == DType::u64 && overflow > 0) {
    unsigned long long u = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    *out_value = int64_t(u);
    return true;
  }
  *out_value = v;
  if (overflow) return false;
  if (info(t).kind == DTypeKind::natural) return v >= 0 && (bits == 64 || v < (int64_t(1) << bits));
  return bits == 64 || (v >= -(int64_t(1) << (bits - 1)) && v < (int64_t(1) << (bits - 1)));
}
}  // namespace

Tensor alone(PyObject* o, DType t, Device device) {
  Tensor made;
  bool whole = PyLong_Check(o);
  if (t == DType::none) t = PyBool_Check(o) ? DType::boolean : whole ? DType::i64 : DType::f32;
  if (whole && (set_of(t) & kInt)) {
    int64_t v;
    if (!fits(t, o, &v))
      raise(PyExc_OverflowError, "the integer " + std::string(PyUnicode_AsUTF8(checked(PyObject_Str(o)).get())) +
                                     " does not fit in " + python_name(t) +
                                     ". Give a smaller number, or cast the tensor.");
    // Little-endian: the low bytes of v are the element.
    made = Tensor::from_host(&v, Shape(), t, device);
    return made;
  }
  double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw Raised();
  if (t == DType::boolean) v = v != 0;
  if (set_of(t) & kInt) {
    made = cast(Tensor::scalar(v, DType::f64), t);
  } else if (set_of(t) & (kComplex | kStorage)) {
    made = cast(Tensor::scalar(v, DType::f32), t);
  } else {
    made = Tensor::scalar(v, t);
  }
  return device.is_host() ? made : made.to(device);
}

Tensor weak(PyObject* o, const Tensor& beside) {
  DType t = beside.dtype();
  DTypeSet s = set_of(t);
  if (PyFloat_Check(o)) {
    if (s & (kInt | kBool)) t = DType::f32;
  } else if (!PyBool_Check(o)) {
    if (s & kBool) t = DType::i64;
  }
  if (!beside.device().is_host()) return alone(o, t, beside.device());
  // Programs say the same few numbers again and again; nobody writes to these. The interpreter lock guards them.
  struct Known {
    uint64_t bits;
    DType dtype;
    bool whole;
    Tensor value;
  };
  static Known* const known = new Known[64]{};
  bool whole = PyLong_Check(o);
  uint64_t bits;
  if (whole) {
    int overflow = 0;
    bits = uint64_t(PyLong_AsLongLongAndOverflow(o, &overflow));
    if (overflow) return alone(o, t);
  } else {
    double v = PyFloat_AS_DOUBLE(o);
    std::memcpy(&bits, &v, sizeof bits);
  }
  Known& k = known[(bits * 0x9E3779B97F4A7C15u + uint64_t(t)) >> 58];
  if (!k.value.defined() || k.bits != bits || k.dtype != t || k.whole != whole) k = {bits, t, whole, alone(o, t)};
  return k.value;
}

}  // namespace oarlock::python
