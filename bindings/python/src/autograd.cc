// Recording, gradients, and what Python puts between: hooks and functions with a gradient of their own.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind.h"
#include "callback.h"
#include "caster.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {

// Between enter and leave, on one thread, last in first out, as `with` does.
struct GradScope {
  bool on, before = true;
};
struct AnomalyScope {
  std::optional<AnomalyMode> mode;
};

class PythonFunction final : public Function {
 public:
  PythonFunction(std::string name, nb::object forward, nb::object backward)
      : name_(std::move(name)), forward_(std::move(forward)), backward_(std::move(backward)) {}
  std::string name() const override { return name_; }
  std::vector<Tensor> forward(FunctionContext& context, std::span<const Tensor> inputs) override {
    return call(forward_, context, inputs);
  }
  std::vector<Tensor> backward(FunctionContext& context, std::span<const Tensor> gradients) override {
    return call(backward_, context, gradients);
  }

 private:
  static std::vector<Tensor> call(const Callback& f, FunctionContext& context, std::span<const Tensor> tensors) {
    return called([&] {
      nb::list given;
      for (const Tensor& t : tensors) given.append(nb::cast(t));
      nb::object out = f.get()(nb::cast(&context, nb::rv_policy::reference), given);
      std::vector<Tensor> result;
      for (nb::handle h : out) result.push_back(h.is_none() ? Tensor() : nb::cast<Tensor>(h));
      return result;
    });
  }

  std::string name_;
  Callback forward_, backward_;
};

bool of_this_package(PyFrameObject* frame) {
  Ref globals(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_globals"));
  PyObject* name = globals ? PyDict_GetItemString(globals.get(), "__name__") : nullptr;
  const char* s = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!s) PyErr_Clear();
  std::string_view module = s ? s : "";
  return module == "oarlock" || module.starts_with("oarlock.");
}

// "train.py:31", the innermost line of the program; the package's own lines do not count.
std::string python_line() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return "";
  std::string text;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    Ref file(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_filename"));
    const char* s = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    Py_DECREF(code);
    if (!s) PyErr_Clear();
    if (s && !of_this_package(frame)) {
      text = std::string(s) + ":" + std::to_string(PyFrame_GetLineNumber(frame));
      Py_DECREF(frame);
      break;
    }
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return text;
}

}  // namespace

void bind_autograd(nb::module_& m) {
  nb::class_<GradScope>(m, "GradScope")
      .def("__init__", [](GradScope* s, bool on) { new (s) GradScope{on}; })
      .def("enter", [](GradScope& s) { s.before = set_grad_enabled(s.on); })
      .def("leave", [](GradScope& s) { set_grad_enabled(s.before); });
  nb::class_<AnomalyScope>(m, "AnomalyScope")
      .def("__init__",
           [](AnomalyScope* s, bool on) {
             new (s) AnomalyScope;
             s->mode.emplace(on);
           })
      .def("leave", [](AnomalyScope& s) { s.mode.reset(); });
  set_call_site(python_line);

  m.def("is_grad_enabled", &grad_enabled, "Whether this thread records what it computes.");
  m.def("backward_of",
        [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& seeds, bool keep_graph, bool create_graph) {
          nb::gil_scoped_release unlocked;
          backward(outputs, seeds, keep_graph, create_graph);
        });
  m.def("gradients_of", [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                           const std::vector<Tensor>& seeds, bool keep_graph, bool create_graph) {
    nb::gil_scoped_release unlocked;
    return gradients(outputs, inputs, seeds, keep_graph, create_graph);
  });
  m.def("add_grad_hook", [](const Tensor& t, nb::object hook) {
    auto callback = std::make_shared<Callback>(std::move(hook));
    return add_grad_hook(t, [callback](const Tensor& gradient) {
      return called([&] {
        nb::object out = callback->get()(gradient);
        return out.is_none() ? Tensor() : nb::cast<Tensor>(out);
      });
    });
  });
  m.def("remove_grad_hook", &remove_grad_hook);
  m.def("retain_grad", &retain_grad);
  nb::class_<FunctionContext>(m, "FunctionContext")
      .def("save", [](FunctionContext& c, const std::vector<Tensor>& tensors) { c.save(tensors); })
      .def("saved", &FunctionContext::saved)
      .def("wants", &FunctionContext::wants)
      .def("mark_non_differentiable", &FunctionContext::mark_non_differentiable);
  m.def("apply_function",
        [](std::string name, nb::object forward, nb::object backward, const std::vector<Tensor>& inputs) {
          return apply_function(
              std::make_shared<PythonFunction>(std::move(name), std::move(forward), std::move(backward)), inputs);
        });
}

}  // namespace oarlock::python
