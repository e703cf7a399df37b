// Python called from inside the library, on any thread, with or without the interpreter lock.
#pragma once
#include <nanobind/nanobind.h>

#include <cstring>

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

}  // namespace oarlock::python
