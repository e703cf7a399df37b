// The Python object of a tensor, and how C++ errors become Python's.
//
// Tensors are a type written against Python's C interface, not a nanobind class: an eager call on a small tensor takes
// about as long as one look-up in a table of instances. Everything that is not on that path is bound by nanobind, which
// knows Tensor, DType, Device and Shape through the casters in caster.h.
#pragma once
#include <Python.h>

#include <string>

#include <oarlock/oarlock.h>

namespace oarlock::python {

// Thrown where a Python exception is set already.
struct Raised {};
[[noreturn]] void raise(PyObject* type, const std::string& text);
[[noreturn]] void raise_type(const std::string& text);
[[noreturn]] void raise_value(const std::string& text);
[[noreturn]] void raise_index(const std::string& text);
// In a catch block: sets the Python exception that the current C++ one means.
void set_error() noexcept;
// Raises the exception that a Python function called by the library raised, if this is the error that it became.
bool raise_pending(const char* text) noexcept;
// The exceptions of the module, made once; adds them to it.
void add_errors(PyObject* module);

// As PyModule_AddObjectRef, which Python 3.9 has not.
int add_object(PyObject* module, const char* name, PyObject* o);

// Runs f, which gives a new reference; any exception becomes Python's.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error();
    return -1;
  }
}

struct TensorObject {
  PyObject_HEAD Tensor value;
  PyObject* weak;
  bool is_view;  // shares elements with the tensor that it was taken from by an index
};
extern PyTypeObject* tensor_type;
void add_tensor_type(PyObject* module);

inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type); }
// Null if o is no tensor.
inline const Tensor* tensor_of(PyObject* o) {
  return is_tensor(o) ? &reinterpret_cast<TensorObject*>(o)->value : nullptr;
}
// Made, not computed from what requires a gradient.
bool is_leaf(const Tensor& t);
// A new reference; None for a tensor without value.
PyObject* wrap(Tensor t);

// Releases the interpreter lock for as long as it lives, if asked.
class Unlocked {
 public:
  explicit Unlocked(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};
// Elements from which a call lets other threads run: giving up the lock and taking it again costs about 60 ns, a pass over
// so many elements some microseconds.
inline constexpr int64_t kLongCall = 4096;
inline int64_t work_of(const Tensor& t) {
  if (!t.defined()) return 0;
  if (!t.device().is_host()) return kLongCall;
  int64_t n = 1;
  for (Dim d : t.shape()) n *= d.n;  // a tensor that exists has a product that fits
  return n;
}

// A reference owned.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : p_(owned) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* give() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};
// Throws Raised for null.
inline Ref checked(PyObject* owned) {
  if (!owned) throw Raised();
  return Ref(owned);
}

}  // namespace oarlock::python
