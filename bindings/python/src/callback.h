// Python called from inside the library, on any thread, with or without the interpreter lock.
#pragma once
#include <nanobind/nanobind.h>

#include <cstring>
#include <memory>

#include "object.h"

namespace oarlock::python {

// A Python callable that C++ holds.
class Callback {
 public:
  explicit Callback(nanobind::object f) : f_(std::move(f)) {}
  Callback(Callback&&) = default;
  ~Callback() {
    if (!f_.is_valid()) return;
    if (!Py_IsInitialized()) {
      f_.release();
      return;
    }
    nanobind::gil_scoped_acquire lock;
    f_.reset();
  }
  const nanobind::object& get() const { return f_; }

 private:
  nanobind::object f_;
};

// Remembers the Python exception on its way through the library, so that the caller gets the very same one; throws Error.
[[noreturn]] void pass_on(nanobind::python_error& e);

// Runs f with the lock; what Python raises ends the library's call and comes out of it unchanged.
template <class F>
auto called(F&& f) -> decltype(f()) {
  nanobind::gil_scoped_acquire lock;
  try {
    return f();
  } catch (nanobind::python_error& e) { pass_on(e); } catch (const nanobind::cast_error&) {
    throw Error(Code::invalid_argument, "callback: it returned something that is no tensor. Return tensors or None.");
  } catch (const Raised&) {
    nanobind::python_error e;
    pass_on(e);
  }
}

// What Python raised on a thread of the library's: it travels to the thread that hears of it, and is raised there.
class PythonError : public Error {
 public:
  PythonError(const std::string& text, std::shared_ptr<Callback> exception)
      : Error(Code::cancelled, text), exception_(std::move(exception)) {}
  const nanobind::object& exception() const { return exception_->get(); }

 private:
  std::shared_ptr<Callback> exception_;
};
[[noreturn]] void carry(nanobind::python_error& e);

// As called, for what may run on threads that Python never sees.
template <class F>
auto carried(F&& f) -> decltype(f()) {
  nanobind::gil_scoped_acquire lock;
  try {
    return f();
  } catch (nanobind::python_error& e) { carry(e); } catch (const Raised&) {
    nanobind::python_error e;
    carry(e);
  } catch (const nanobind::cast_error&) {
    throw Error(Code::invalid_argument, "callback: a Python method returned a value of the wrong type.");
  }
}

// Is the attribute that this object's class has under that name written in Python, rather than that of the bound class?
bool is_python(nanobind::handle self, nanobind::handle bound, const char* name);

}  // namespace oarlock::python
