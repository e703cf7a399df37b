// Python values as the library's: numbers, lists, arrays, shapes, dtypes, devices.
#pragma once
#include <optional>
#include <vector>

#include "object.h"

namespace oarlock::python {

// -- dtypes. Each is one object of the class DType.
PyObject* dtype_object(DType t);   // borrowed
const char* python_name(DType t);  // "float32"
// A DType, its name or the core's ("float32", "f32"), float, int, bool, a NumPy dtype or scalar type. Throws Raised.
DType dtype_from_object(PyObject* o, const char* where);
bool is_dtype_like(PyObject* o);  // a DType, a type, a NumPy dtype or the name of a dtype
void add_dtypes(PyObject* module);

// -- devices
PyObject* device_object(Device d);
Device device_from_object(PyObject* o, const char* where);  // a Device or its name

// -- sizes
int64_t integer_from(PyObject* o, const char* where, const char* what);
double real_from(PyObject* o, const char* where, const char* what);
// An integer or a sequence of integers, appended.
void integers_from(PyObject* o, std::vector<int64_t>& out, const char* where, const char* what);
Shape shape_from(PyObject* o, const char* where);
// Sizes that are not known yet become objects of the type set by set_size_type, integers that know their text.
PyObject* tuple_of(const Shape& s);
PyObject* size_object(Dim d);
void set_size_type(PyObject* type);  // takes the reference

// -- tensors
bool is_number(PyObject* o);  // bool, int or float, not a subclass with a meaning of its own
// A Python number beside a tensor takes that tensor's dtype unless its kind is higher: an integer beside bools gives int64,
// a fraction beside integers or bools float32. OverflowError where it does not fit.
Tensor weak(PyObject* number, const Tensor& beside);
// As weak, with the dtype it takes alone: bool, int64, float32.
Tensor alone(PyObject* number, DType dtype = DType::none, Device device = Device());

enum class Sharing { always, never, if_possible };
// Of anything: a tensor, a number, nested sequences, an object with the buffer, DLPack or array protocol.
// dtype none: that of the data.
Tensor tensor_from(PyObject* o, DType dtype, std::optional<Device> device, Sharing sharing, const char* where);
// Of an object with the buffer protocol; no value if it has none.
Tensor from_buffer(PyObject* o, Sharing sharing, const char* where);
// Of a DLPack producer or capsule.
Tensor from_dlpack(PyObject* o, std::optional<Device> device, Sharing sharing);
PyObject* to_dlpack(const Tensor& t, PyObject* max_version, PyObject* dl_device, PyObject* copy);
PyObject* dlpack_device(const Tensor& t);
// True for an object of numpy, without importing it.
bool is_numpy(PyObject* o);

}  // namespace oarlock::python
