#include "callback.h"

namespace oarlock::python {
namespace {
struct Pending {
  PyObject* exception = nullptr;
  std::string text;
};
thread_local Pending pending;
}  // namespace

void pass_on(nanobind::python_error& e) {
  Py_XDECREF(pending.exception);
  pending.exception = e.value().ptr();
  Py_XINCREF(pending.exception);
  pending.text = e.what();
  size_t end = pending.text.rfind('\n', pending.text.size() - 2);  // the traceback's last line says what
  if (end != std::string::npos) pending.text = pending.text.substr(end + 1);
  while (!pending.text.empty() && pending.text.back() == '\n') pending.text.pop_back();
  throw Error(Code::cancelled, pending.text);
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
