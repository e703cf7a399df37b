// Exceptions. Each kind of failure is oarlock.Error and also what Python programs expect to catch.
#include <cstring>

#include <oarlock/data/loader.h>

#include "callback.h"

namespace oarlock::python {
namespace {
PyObject* error_base;
PyObject* invalid_type;
PyObject* memory_type;
PyObject* unsupported_type;
PyObject* timeout_type;
PyObject* data_type;
PyObject* sample_type;

PyObject* make(PyObject* module, const char* name, PyObject* other, const char* doc) {
  Ref bases(other        ? PyTuple_Pack(2, error_base, other)
            : error_base ? PyTuple_Pack(1, error_base)
                         : PyTuple_Pack(1, PyExc_RuntimeError));
  std::string full = std::string("oarlock.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), nullptr);
  if (!type || add_object(module, name, type) < 0) throw Raised();
  return type;
}
PyObject* type_of(Code code) {
  switch (code) {
    case Code::invalid_argument: return invalid_type;
    case Code::out_of_memory: return memory_type;
    case Code::unsupported: return unsupported_type;
    case Code::timeout: return timeout_type;
    case Code::bad_data: return data_type;
    default: return error_base;
  }
}
// Another exception, where one is set as an error already: taken off, with its traceback.
Ref taken() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Ref(value);
}
void set(PyObject* type, const Error& e, int64_t index = -1, PyObject* cause = nullptr) {
  Ref text(PyUnicode_DecodeUTF8(e.what(), Py_ssize_t(std::strlen(e.what())), "replace"));
  Ref exception(text ? PyObject_CallOneArg(type, text.get()) : nullptr);
  if (!exception) return;
  Ref code(PyUnicode_FromString(name(e.code())));
  if (code) PyObject_SetAttrString(exception.get(), "code", code.get());
  if (type == sample_type) {
    Ref number(PyLong_FromLongLong(index));
    if (number) PyObject_SetAttrString(exception.get(), "index", number.get());
    Py_XINCREF(cause);
    PyException_SetCause(exception.get(), cause);
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
}
void set_sample_error(const data::SampleError& e) {
  try {
    std::rethrow_exception(e.cause());
  } catch (...) { set_error(); }
  Ref cause = taken();
  // Interrupts and exits are nobody's sample.
  if (cause && !PyErr_GivenExceptionMatches(cause.get(), PyExc_Exception))
    return PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.get())), cause.get());
  set(sample_type, e, e.index(), cause.get());
}
}  // namespace

int add_object(PyObject* module, const char* name, PyObject* o) {
  Py_INCREF(o);
  if (PyModule_AddObject(module, name, o) == 0) return 0;
  Py_DECREF(o);
  return -1;
}

void add_errors(PyObject* module) {
  error_base = make(module, "Error", nullptr, "What Oarlock raises; .code says in a word what went wrong.");
  invalid_type = make(module, "InvalidArgument", PyExc_ValueError, "Shapes, dtypes or attributes that do not fit.");
  memory_type = make(module, "OutOfMemory", PyExc_MemoryError, "A device has no memory left.");
  unsupported_type = make(module, "Unsupported", PyExc_NotImplementedError, "Nothing loaded can do this.");
  timeout_type = make(module, "Timeout", PyExc_TimeoutError, "A wait ended before what it waited for.");
  data_type = make(module, "BadData", PyExc_ValueError, "A file or a message that is damaged or of another kind.");
  sample_type = make(module, "SampleError", nullptr,
                     "A sample that a loader could not have; .index is its number (-1: a whole batch), __cause__ why.");
  Ref ok(PyUnicode_FromString("internal"));
  if (PyObject_SetAttrString(error_base, "code", ok.get()) < 0) throw Raised();
}

void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw Raised();
}
void raise_type(const std::string& text) { raise(PyExc_TypeError, text); }
void raise_value(const std::string& text) { raise(PyExc_ValueError, text); }
void raise_index(const std::string& text) { raise(PyExc_IndexError, text); }

void set_error() noexcept {
  try {
    throw;
  } catch (const Raised&) {
  } catch (const PythonError& e) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e.exception().ptr())), e.exception().ptr());
  } catch (const data::SampleError& e) { set_sample_error(e); } catch (const Error& e) {
    if (raise_pending(e.what())) return;
    set(type_of(e.code()), e);
  } catch (const std::bad_alloc&) { PyErr_NoMemory(); } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) { PyErr_SetString(PyExc_RuntimeError, "an exception that is no std::exception"); }
}

}  // namespace oarlock::python
