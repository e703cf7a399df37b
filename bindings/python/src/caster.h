// How nanobind passes the library's small values.
#pragma once
#include <nanobind/nanobind.h>

#include "convert.h"

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<oarlock::Tensor> {
  NB_TYPE_CASTER(oarlock::Tensor, const_name("Tensor"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    const oarlock::Tensor* t = oarlock::python::tensor_of(src.ptr());
    if (!t) return false;
    value = *t;
    return true;
  }
  static handle from_cpp(const oarlock::Tensor& t, rv_policy, cleanup_list*) noexcept {
    return oarlock::python::guarded([&] { return oarlock::python::wrap(t); });
  }
};

template <>
struct type_caster<oarlock::DType> {
  NB_TYPE_CASTER(oarlock::DType, const_name("DType"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    try {
      value = oarlock::python::dtype_from_object(src.ptr(), "dtype");
      return true;
    } catch (...) {
      PyErr_Clear();
      return false;
    }
  }
  static handle from_cpp(oarlock::DType t, rv_policy, cleanup_list*) noexcept {
    PyObject* o = oarlock::python::dtype_object(t);
    Py_XINCREF(o);
    return o;
  }
};

template <>
struct type_caster<oarlock::Shape> {
  NB_TYPE_CASTER(oarlock::Shape, const_name("tuple[int, ...]"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    try {
      value = oarlock::python::shape_from(src.ptr(), "shape");
      return true;
    } catch (...) {
      PyErr_Clear();
      return false;
    }
  }
  static handle from_cpp(const oarlock::Shape& s, rv_policy, cleanup_list*) noexcept {
    return oarlock::python::guarded([&] { return oarlock::python::tuple_of(s); });
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
