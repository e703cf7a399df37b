// Recording and gradients.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind.h"
#include "caster.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {

// A NoGrad between enter and leave; made and dropped on one thread, last in first out, as `with` does.
struct NoGradScope {
  std::optional<NoGrad> scope;
};

}  // namespace

void bind_autograd(nb::module_& m) {
  nb::class_<NoGradScope>(m, "NoGradScope")
      .def(nb::init<>())
      .def("enter", [](NoGradScope& s) { s.scope.emplace(); })
      .def("leave", [](NoGradScope& s) { s.scope.reset(); });
  m.def("is_grad_enabled", &grad_enabled, "Whether this thread records what it computes.");
  m.def("backward_of", [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& seeds, bool keep_graph, bool create_graph) {
    nb::gil_scoped_release unlocked;
    backward(outputs, seeds, keep_graph, create_graph);
  });
  m.def("gradients_of", [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, const std::vector<Tensor>& seeds,
                           bool keep_graph, bool create_graph) {
    nb::gil_scoped_release unlocked;
    return gradients(outputs, inputs, seeds, keep_graph, create_graph);
  });
}

}  // namespace oarlock::python
