// Dtype objects. They are compared by identity; each is a constant of the module.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "convert.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {

struct DTypeObject {
  DType value;
};
PyObject* objects[64];
PyObject* dtype_class;

struct Name {
  DType t;
  const char* name;
  const char* alias;
};
// NumPy's and ml_dtypes' words, which torch and paddle share.
constexpr Name kNames[] = {
    {DType::boolean, "bool", "bool_"},
    {DType::i8, "int8", nullptr},
    {DType::i16, "int16", "short"},
    {DType::i32, "int32", nullptr},
    {DType::i64, "int64", "long"},
    {DType::u8, "uint8", nullptr},
    {DType::u16, "uint16", nullptr},
    {DType::u32, "uint32", nullptr},
    {DType::u64, "uint64", nullptr},
    {DType::f16, "float16", "half"},
    {DType::bf16, "bfloat16", nullptr},
    {DType::f32, "float32", "float"},
    {DType::f64, "float64", "double"},
    {DType::c64, "complex64", nullptr},
    {DType::c128, "complex128", nullptr},
    {DType::f8_e4m3, "float8_e4m3fn", nullptr},
    {DType::f8_e5m2, "float8_e5m2", nullptr},
    {DType::f8_e4m3_uz, "float8_e4m3fnuz", nullptr},
    {DType::f8_e5m2_uz, "float8_e5m2fnuz", nullptr},
    {DType::f8_e8m0, "float8_e8m0fnu", nullptr},
    {DType::i4, "int4", nullptr},
    {DType::u4, "uint4", nullptr},
    {DType::i2, "int2", nullptr},
    {DType::u2, "uint2", nullptr},
    {DType::f4_e2m1, "float4_e2m1fn", nullptr},
};

DType from_name(const char* text) {
  for (const char* prefix : {"oarlock.", "torch.", "paddle."})
    if (!std::strncmp(text, prefix, std::strlen(prefix))) text += std::strlen(prefix);
  for (const Name& n : kNames)
    if (!std::strcmp(n.name, text) || (n.alias && !std::strcmp(n.alias, text))) return n.t;
  return dtype_from(text);
}
// The text of attribute `name` of o, if it is a str.
std::string text_of(PyObject* o, const char* name) {
  Ref attribute(PyObject_GetAttrString(o, name));
  if (!attribute) PyErr_Clear();
  const char* s = attribute && PyUnicode_Check(attribute.get()) ? PyUnicode_AsUTF8(attribute.get()) : nullptr;
  return s ? s : "";
}

}  // namespace

PyObject* dtype_object(DType t) { return objects[int(t) & 63]; }
const char* python_name(DType t) {
  for (const Name& n : kNames)
    if (n.t == t) return n.name;
  return "none";
}

DType dtype_from_object(PyObject* o, const char* where) {
  if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(dtype_class))
    return nb::inst_ptr<DTypeObject>(nb::handle(o))->value;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f32;
  DType t = DType::none;
  if (PyUnicode_Check(o)) {
    const char* s = PyUnicode_AsUTF8(o);
    if (!s) throw Raised();
    t = from_name(s);
    if (t == DType::none)
      raise_type(std::string(where) + ": there is no dtype '" + s + "'. Use oarlock.float32, oarlock.int64, ...");
    return t;
  }
  if (is_numpy(o)) t = from_name(text_of(o, "name").c_str());  // a numpy.dtype
  else if (PyType_Check(o)) t = from_name(text_of(o, "__name__").c_str());
  if (t == DType::none)
    raise_type(std::string(where) + ": dtype is a " + Py_TYPE(o)->tp_name +
               ". Give oarlock.float32, 'float32', or a NumPy dtype.");
  return t;
}

bool is_dtype_like(PyObject* o) {
  if (PyUnicode_Check(o)) {
    const char* s = PyUnicode_AsUTF8(o);
    return s && from_name(s) != DType::none;
  }
  return Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(dtype_class) || PyType_Check(o) || is_numpy(o);
}

void add_dtypes(PyObject* module) {
  nb::module_ m = nb::borrow<nb::module_>(module);
  nb::class_<DTypeObject> c(m, "DType", "The type of a tensor's elements: oarlock.float32, oarlock.int64, ...");
  dtype_class = c.ptr();
  c.def_prop_ro(
       "name", [](const DTypeObject& d) { return python_name(d.value); }, "Its word: 'float32'.")
      .def_prop_ro(
          "bits", [](const DTypeObject& d) { return int(info(d.value).bits); }, "Bits an element takes.")
      .def_prop_ro(
          "itemsize", [](const DTypeObject& d) { return (info(d.value).bits + 7) / 8; }, "Bytes an element takes.")
      .def_prop_ro("is_floating_point", [](const DTypeObject& d) { return info(d.value).kind == DTypeKind::real; })
      .def_prop_ro("is_complex", [](const DTypeObject& d) { return info(d.value).kind == DTypeKind::complex; })
      .def_prop_ro("is_signed",
                   [](const DTypeObject& d) {
                     DTypeKind k = info(d.value).kind;
                     return k == DTypeKind::integer || k == DTypeKind::real || k == DTypeKind::complex;
                   })
      .def("__repr__", [](const DTypeObject& d) { return std::string("oarlock.") + python_name(d.value); })
      .def("__reduce__", [](const DTypeObject& d) { return nb::str(python_name(d.value)); })
      .def("__hash__", [](const DTypeObject& d) { return Py_hash_t(d.value); })
      .def(
          "__eq__",
          [](const DTypeObject& d, nb::handle other) {
            try {
              return dtype_from_object(other.ptr(), "==") == d.value;
            } catch (const Raised&) {
              PyErr_Clear();
              return false;
            }
          },
          nb::arg("other").none());
  for (const Name& n : kNames) {
    nb::object o = nb::cast(DTypeObject{n.t});
    objects[int(n.t)] = o.ptr();
    m.attr(n.name) = o;
    o.release();
  }
}

}  // namespace oarlock::python
