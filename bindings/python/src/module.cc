// The extension module oarlock._core.
#include <nanobind/nanobind.h>

#include "bind.h"
#include "call.h"
#include "convert.h"
#include "create.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  using namespace oarlock::python;
  // Whatever of this library is thrown through nanobind becomes the same exceptions as elsewhere.
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const oarlock::Error&) { set_error(); } catch (const Raised&) {
    }
  });
  try {
    add_errors(m.ptr());
    add_dtypes(m.ptr());
    add_tensor_type(m.ptr());
    add_ops(m.ptr());
    add_creation(m.ptr());
  } catch (const Raised&) { throw nb::python_error(); }
  bind_device(m);
  bind_autograd(m);
  bind_settings(m);
  bind_plugins(m);
  bind_op_table(m);
  nb::module_ nn = m.def_submodule("_nn", "Layers.");
  nb::module_ initializer = nn.def_submodule("initializer", "First values of parameters.");
  bind_layer(nn);
  bind_containers(nn);
  bind_layers(nn);
  bind_activations(nn);
  bind_losses(nn);
  bind_initializers(initializer);
  nb::module_ optim = m.def_submodule("_optim", "Optimisers.");
  bind_optim(optim);
  bind_files(m);
  nb::module_ data = m.def_submodule("_data", "Datasets, samplers, the loader.");
  nb::module_ vision = m.def_submodule("_vision", "Image sets and transforms.");
  nb::module_ metric = m.def_submodule("_metric", "Metrics.");
  nb::module_ model = m.def_submodule("_model", "Model and callbacks.");
  bind_datasets(data);
  bind_samplers(data);
  bind_loader(data);
  bind_readers(data);
  bind_vision(vision);
  bind_metrics(metric);
  bind_callbacks(model);
  bind_model(model);
  nb::module_ jit = m.def_submodule("_jit", "Captured functions.");
  nb::module_ inference = m.def_submodule("_inference", "Predictors.");
  bind_inference(inference);
  bind_jit(jit);
  nb::set_leak_warnings(false);  // constants of the module live as long as the process
}
