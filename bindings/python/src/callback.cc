#include "callback.h"

namespace oarlock::python {
namespace {
struct Pending {
  PyObject* exception = nullptr;
  std::string text;
};
thread_local Pending pending;

// The last line of the traceback says what it was.
std::string said(nanobind::python_error& e) {
  std::string text = e.what();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}
}  // namespace

void pass_on(nanobind::python_error& e) {
  pending.text = said(e);
  e.restore();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);  // what C raised may have been a text only
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  Py_XDECREF(std::exchange(pending.exception, value));
  throw Error(Code::cancelled, pending.text);
}

void carry(nanobind::python_error& e) {
  std::string text = said(e);
  throw PythonError(text, std::make_shared<Callback>(nanobind::borrow(e.value())));
}

bool is_python(nanobind::handle self, nanobind::handle bound, const char* name) {
  nanobind::object mine = nanobind::getattr(self.type(), name, nanobind::none());
  nanobind::object theirs = nanobind::getattr(bound, name, nanobind::none());
  return !mine.is_none() && Py_TYPE(mine.ptr()) != Py_TYPE(theirs.ptr());
}

bool raise_pending(const char* text) noexcept {
  if (!pending.exception) return false;
  bool same = std::strstr(text, pending.text.c_str()) != nullptr;
  PyObject* e = std::exchange(pending.exception, nullptr);
  if (same) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e)), e);
  Py_DECREF(e);
  return same;
}

}  // namespace oarlock::python
