// The parts of the module that nanobind binds, a function each; module.cc calls them.
#pragma once
#include <nanobind/nanobind.h>

namespace oarlock::python {
void bind_device(nanobind::module_& m);
void bind_autograd(nanobind::module_& m);
void bind_settings(nanobind::module_& m);
void bind_plugins(nanobind::module_& m);
void bind_op_table(nanobind::module_& m);
void bind_layer(nanobind::module_& m);
void bind_containers(nanobind::module_& m);
void bind_layers(nanobind::module_& m);
void bind_initializers(nanobind::module_& m);
void bind_activations(nanobind::module_& m);
void bind_losses(nanobind::module_& m);
void bind_optim(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_datasets(nanobind::module_& m);
void bind_samplers(nanobind::module_& m);
void bind_loader(nanobind::module_& m);
void bind_readers(nanobind::module_& m);
void bind_vision(nanobind::module_& m);
void bind_metrics(nanobind::module_& m);
void bind_callbacks(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_inference(nanobind::module_& m);
void bind_jit(nanobind::module_& m);
}  // namespace oarlock::python
