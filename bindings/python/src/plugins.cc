// Plugins as a program sees them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "caster.h"

namespace nb = nanobind;

namespace oarlock::python {

void bind_plugins(nb::module_& m) {
  nb::class_<PluginInfo>(m, "PluginInfo", "A plugin that was found: loaded, or why not.")
      .def_ro("path", &PluginInfo::path)
      .def_prop_ro(
          "state",
          [](const PluginInfo& p) {
            return p.state == PluginState::loaded ? "loaded" : p.state == PluginState::refused ? "refused" : "failed";
          })
      .def_ro("reason", &PluginInfo::reason)
      .def_ro("origin", &PluginInfo::origin)
      .def_ro("name", &PluginInfo::name)
      .def_ro("vendor", &PluginInfo::vendor)
      .def_ro("version", &PluginInfo::version)
      .def_ro("build_target", &PluginInfo::build_target)
      .def_ro("tables", &PluginInfo::tables)
      .def_ro("devices", &PluginInfo::devices)
      .def_ro("packs", &PluginInfo::packs)
      .def_ro("ops", &PluginInfo::ops)
      .def_ro("warnings", &PluginInfo::warnings)
      .def_ro("kernel_count", &PluginInfo::kernel_count)
      .def_ro("load_ms", &PluginInfo::load_ms)
      .def("__repr__", [](const PluginInfo& p) {
        bool loaded = p.state == PluginState::loaded;
        return "PluginInfo('" + (p.name.empty() ? p.path : p.name) + "', " + (loaded ? "loaded" : p.reason) + ")";
      });
  m.def("found_plugins", [] {
    nb::gil_scoped_release unlocked;
    return plugins();
  });
  m.def(
      "load_plugin",
      [](std::string_view path) {
        nb::gil_scoped_release unlocked;
        return load_plugin(path).take();
      },
      nb::arg("path"), "Loads one more plugin from a file, by its absolute path.");
  m.def(
      "probe_plugin",
      [](std::string_view path, int timeout_ms) {
        nb::gil_scoped_release unlocked;
        return probe_plugin(path, timeout_ms);
      },
      nb::arg("path"), nb::arg("timeout_ms") = 10'000,
      "Tries a plugin in a child process, so that a crash is only a reason.");
  nb::class_<SearchFolder>(m, "SearchFolder", "A folder searched for plugins.")
      .def_ro("path", &SearchFolder::path)
      .def_ro("origin", &SearchFolder::origin)
      .def_ro("note", &SearchFolder::note)
      .def("__repr__", [](const SearchFolder& f) {
        return "SearchFolder('" + f.path + "', " + f.origin + (f.note.empty() ? "" : ": " + f.note) + ")";
      });
  m.def("plugin_search_path", &plugin_search_path, "The folders searched for plugins, in order.");
}

}  // namespace oarlock::python
