// Weights and checkpoints in files, and the state of random numbers.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include <oarlock/random.h>
#include <oarlock/save.h>

#include "bind.h"
#include "data.h"
#include "nn.h"

namespace oarlock::python {
namespace {
using nb::arg;

LoadOptions options_from(nb::handle device, bool map) {
  LoadOptions o;
  if (!device.is_none()) o.device = device_from_object(device.ptr(), "load");
  o.map = map;
  return o;
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def(
      "save",
      [](nb::handle a, nb::handle b, const Metadata& metadata) {
        // save(path, tensors), or the other way round as torch and paddle have it.
        bool path_first = nb::isinstance<nb::str>(a) || nb::isinstance<nb::bytes>(a) || nb::hasattr(a, "__fspath__");
        std::string path = path_from(path_first ? a : b);
        NamedTensors tensors = named_tensors_from(path_first ? b : a, "save");
        nb::gil_scoped_release unlocked;
        save(path, tensors, metadata);
      },
      arg("path"), arg("tensors"), arg("metadata") = Metadata(),
      "Writes a dict of tensors as a safetensors file; whoever reads meanwhile has the old file or the new one.");
  m.def(
      "load",
      [](nb::handle path, nb::handle device, bool map) {
        std::string p = path_from(path);
        LoadOptions o = options_from(device, map);
        NamedTensors out;
        {
          nb::gil_scoped_release unlocked;
          out = load(p, o);
        }
        return dict_of(out);
      },
      arg("path"), arg("device") = nb::none(), arg("map") = true, "The tensors of a safetensors file, a dict.");
  m.def(
      "load_metadata", [](nb::handle path) { return TensorFile(path_from(path)).metadata(); }, arg("path"),
      "The texts that a file carries.");
  m.def(
      "save_to_bytes",
      [](nb::handle tensors, const Metadata& metadata) {
        std::vector<std::byte> bytes = save_to_memory(named_tensors_from(tensors, "save_to_bytes"), metadata);
        return nb::bytes(bytes.data(), bytes.size());
      },
      arg("tensors"), arg("metadata") = Metadata());
  m.def(
      "load_from_bytes",
      [](nb::bytes b) {
        return dict_of(load_from_memory({static_cast<const std::byte*>(b.data()), b.size()}));
      },
      arg("data"));
  m.def(
      "save_checkpoint",
      [](nb::handle path, nb::dict parts, const Metadata& metadata) {
        Checkpoint c;
        c.metadata = metadata;
        for (auto [name, state] : parts)
          c.parts.emplace_back(nb::cast<std::string>(name), named_tensors_from(state, "save_checkpoint"));
        std::string p = path_from(path);
        nb::gil_scoped_release unlocked;
        save_checkpoint(p, c);
      },
      arg("path"), arg("parts"), arg("metadata") = Metadata(),
      "Writes named state dicts and the random state as one file.");
  m.def(
      "load_checkpoint",
      [](nb::handle path, nb::handle device, bool restore_random) {
        Checkpoint c = load_checkpoint(path_from(path), options_from(device, false), restore_random);
        nb::dict out;
        for (auto& [name, state] : c.parts) out[name.c_str()] = dict_of(state);
        return nb::make_tuple(out, c.metadata);
      },
      arg("path"), arg("device") = nb::none(), arg("restore_random") = true,
      "The parts and the texts of a checkpoint.");

  nb::class_<Generator>(m, "Generator", "Hands out the seeds of random ops, so that a run follows from one number.")
      .def(nb::init<uint64_t>(), arg("seed") = 0)
      .def("next", &Generator::next, "The seed of one op call.")
      .def("set_seed", &Generator::set_seed, arg("seed"))
      .def("manual_seed", &Generator::set_seed, arg("seed"))
      .def(
          "state", [](const Generator& g) { return std::pair(g.state().seed, g.state().offset); },
          "The pair (seed, offset).")
      .def(
          "set_state",
          [](Generator& g, std::pair<uint64_t, uint64_t> s) {
            g.set_state({s.first, s.second});
          },
          arg("state"));
  m.def("default_generator", &default_generator, nb::rv_policy::reference, "That of everything that is given none.");
}

}  // namespace oarlock::python
