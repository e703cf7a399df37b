// Exported programs and predictors.
#include "bind.h"
#include "convert.h"
#include "nn.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {

using inference::Config;
using inference::InputHandle;
using inference::OutputHandle;
using inference::Predictor;
using jit::ExportedProgram;

std::vector<Tensor> tensors_of(nb::handle list, const char* where) {
  std::vector<Tensor> out;
  for (nb::handle h : list) out.push_back(tensor_from(h.ptr(), DType::none, std::nullopt, Sharing::if_possible, where));
  return out;
}

}  // namespace

void bind_inference(nb::module_& m) {
  nb::class_<ExportedProgram>(
      m, "ExportedProgram",
      "What a function or layer computes in inference, with its weights and without the code that made it. Made by\n"
      "oarlock.jit.export and oarlock.jit.load. Never changes; any thread.")
      .def_prop_ro("input_names", &ExportedProgram::input_names, "In the order that a run takes them.")
      .def_prop_ro("output_names", &ExportedProgram::output_names, "In the order that a run gives them.")
      .def(
          "parameters", [](const ExportedProgram& p) { return dict_of(p.parameters()); },
          "The weights, by name. Not to be written to.")
      .def("text", &ExportedProgram::text, "The program in words: a line a node, with shapes.")
      .def("__str__", &ExportedProgram::text)
      .def(
          "save",
          [](const ExportedProgram& p, const std::string& path) {
            nb::gil_scoped_release unlocked;
            jit::save(p, path);
          },
          nb::arg("path"), "Writes path.oarp and path.safetensors: see oarlock.jit.save.");

  nb::class_<Config>(m, "Config",
                     "How a program is to be run: the path of a saved one, or an ExportedProgram.\n\n"
                     "weights_path: a safetensors file to take instead of the one beside the program.")
      .def(nb::init<ExportedProgram>(), nb::arg("program"))
      .def(
          "__init__",
          [](Config* self, const std::string& path, const std::string& weights_path) {
            nb::gil_scoped_release unlocked;
            new (self) Config(path, weights_path);
          },
          nb::arg("program"), nb::arg("weights_path") = "")
      .def(
          "set_device",
          [](Config& c, nb::handle device) -> Config& {
            return c.set_device(device_from_object(device.ptr(), "set_device"));
          },
          nb::arg("device"), nb::rv_policy::reference, "Where it runs; the host at first.")
      .def("set_plan_limits", &Config::set_plan_limits, nb::arg("max_plans") = 64,
           nb::arg("max_bytes") = uint64_t(256) << 20, nb::rv_policy::reference,
           "Plans, each for one list of input shapes, that are kept, and what their memory may come to.")
      .def("set_cpu_math_library_num_threads", &Config::set_cpu_math_library_num_threads, nb::arg("threads"),
           nb::rv_policy::reference, "Threads that one run uses on the host; 0: the setting threads.")
      .def("delete_pass", &Config::delete_pass, nb::arg("name"), nb::rv_policy::reference, "Leaves a pass out.")
      .def(
          "warm_up",
          [](Config& c, nb::args shapes) -> Config& {
            std::vector<Shape> all;
            for (nb::handle s : shapes) all.push_back(shape_from(s.ptr(), "warm_up"));
            return c.warm_up(std::move(all));
          },
          nb::rv_policy::reference, "Shapes, one per input, to make a plan for before the first run.");

  nb::class_<InputHandle>(m, "InputHandle", "What the next run of its predictor reads as one input.")
      .def("name", &InputHandle::name)
      .def_prop_ro("dtype", &InputHandle::dtype)
      .def(
          "copy_from_cpu",
          [](InputHandle& h, nb::handle array) {
            h.share_external_data(tensor_from(array.ptr(), DType::none, std::nullopt, Sharing::never, "copy_from_cpu"));
          },
          nb::arg("array"), "Copies an array, with its shape; its dtype is the input's.")
      .def(
          "share_external_data",
          [](InputHandle& h, nb::handle t) {
            h.share_external_data(
                tensor_from(t.ptr(), DType::none, std::nullopt, Sharing::if_possible, "share_external_data"));
          },
          nb::arg("tensor"),
          "Reads the tensor itself, or an array's memory; it must not be written to until the run is over.");
  nb::class_<OutputHandle>(m, "OutputHandle", "What the last run of its predictor gave as one output.")
      .def("name", &OutputHandle::name)
      .def("shape", [](const OutputHandle& h) { return nb::cast(h.tensor()).attr("shape"); })
      .def("tensor", &OutputHandle::tensor, "On the predictor's device.")
      .def(
          "copy_to_cpu", [](const OutputHandle& h) { return nb::cast(h.tensor()).attr("numpy")(); }, "A NumPy array.");

  nb::class_<Predictor>(m, "Predictor",
                        "A program made ready to run; any number of threads may call run(inputs) at a time.")
      .def(
          "__init__",
          [](Predictor* self, const Config& config) {
            nb::gil_scoped_release unlocked;
            new (self) Predictor(config);
          },
          nb::arg("config"))
      .def("clone", &Predictor::clone, "The same program, weights and plans; handles of its own.")
      .def("get_input_names", &Predictor::get_input_names)
      .def("get_output_names", &Predictor::get_output_names)
      .def(
          "get_input_handle", [](const Predictor& p, const std::string& name) { return p.get_input_handle(name); },
          nb::arg("name"))
      .def(
          "get_output_handle", [](const Predictor& p, const std::string& name) { return p.get_output_handle(name); },
          nb::arg("name"))
      .def(
          "run",
          [](Predictor& p, nb::handle inputs) -> nb::object {
            if (inputs.is_none()) {
              nb::gil_scoped_release unlocked;
              p.run();
              return nb::none();
            }
            std::vector<Tensor> given = tensors_of(inputs, "run"), out;
            {
              nb::gil_scoped_release unlocked;
              out = p.run(given);
            }
            return nb::cast(std::move(out));
          },
          nb::arg("inputs") = nb::none(),
          "inputs: tensors or arrays, in the order of the names; gives a list of tensors on the predictor's device. "
          "From\n"
          "any thread. None: reads the input handles and fills the output handles; one thread at a time.")
      .def(
          "warm_up",
          [](const Predictor& p, nb::args shapes) {
            std::vector<Shape> all;
            for (nb::handle s : shapes) all.push_back(shape_from(s.ptr(), "warm_up"));
            nb::gil_scoped_release unlocked;
            p.warm_up(all);
          },
          "Makes the plan for these shapes, one per input.")
      .def(
          "plan_memory",
          [](const Predictor& p) {
            Predictor::PlanMemory held = p.plan_memory();
            nb::dict d;
            d["plans"] = held.plans;
            d["bytes"] = held.bytes;
            return d;
          },
          "Plans that are kept now, and the bytes of their intermediate values.");
}

}  // namespace oarlock::python
