// The operators of tensors, as slots of their type.
#pragma once
#include <vector>

#include "object.h"

namespace oarlock::python {

// Appends the slots of + - * and the like, comparison and in-place forms.
void add_operator_slots(std::vector<PyType_Slot>& slots);
// x[key] and x[key] = value; index.cc.
PyObject* get_index(PyObject* self, PyObject* key) noexcept;
int set_index(PyObject* self, PyObject* key, PyObject* value) noexcept;
Py_ssize_t length_of(PyObject* self) noexcept;
// Writes value into self as in-place operators and assignments do: into its elements, or, where gradients are recorded,
// by giving self the new value. Throws.
void write(PyObject* self, const Tensor& value, const char* where);
// Methods written by hand, ended by an empty one; methods.cc.
extern PyMethodDef tensor_methods[];
extern PyGetSetDef tensor_properties[];
int tensor_getbuffer(PyObject* self, Py_buffer* out, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* b);

}  // namespace oarlock::python
