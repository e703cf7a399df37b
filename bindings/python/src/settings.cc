// Settings, placement and profiles.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <oarlock/base/profile.h>
#include <oarlock/base/settings.h>

#include "bind.h"
#include "caster.h"

namespace nb = nanobind;

namespace oarlock::python {

void bind_settings(nb::module_& m) {
  nb::class_<SettingInfo>(m, "SettingInfo", "A setting: its name, type, variable of the environment, and value.")
      .def_ro("name", &SettingInfo::name)
      .def_ro("type", &SettingInfo::type)
      .def_ro("environment", &SettingInfo::environment)
      .def_ro("about", &SettingInfo::about)
      .def_ro("default", &SettingInfo::default_text)
      .def_ro("value", &SettingInfo::value_text)
      .def_ro("origin", &SettingInfo::origin)
      .def_ro("problem", &SettingInfo::problem)
      .def("__repr__", [](const SettingInfo& s) {
        return "SettingInfo(" + s.name + "=" + s.value_text + ", from " + s.origin + ")";
      });
  m.def("settings", &settings, "All settings, a SettingInfo each.");
  m.def("set_setting_text", [](std::string_view name, std::string_view value) { throw_if(set_setting(name, value)); });

  nb::class_<PlacementRow>(m, "PlacementRow",
                           "How often an op ran on a device by a route since the last reset, and why there.")
      .def_ro("op", &PlacementRow::op)
      .def_ro("device", &PlacementRow::device)
      .def_ro("route", &PlacementRow::route)
      .def_ro("plugin", &PlacementRow::plugin)
      .def_ro("reason", &PlacementRow::reason)
      .def_ro("calls", &PlacementRow::calls)
      .def_ro("host_ns", &PlacementRow::host_ns)
      .def_ro("bytes", &PlacementRow::bytes)
      .def("__repr__", [](const PlacementRow& r) {
        return "PlacementRow(" + r.op + " on " + r.device + ": " + std::to_string(r.calls) + " calls by " + r.route +
               (r.plugin.empty() ? "" : " of " + r.plugin) + ")";
      });
  m.def("placement_rows", &placement);
  m.def("placement_text", [](const std::vector<PlacementRow>& rows) { return to_string(rows); });
  m.def("reset_placement", &reset_placement, "Forgets what ran so far: placement() begins anew.");
  m.def("profile_start", &profile_start);
  m.def("profile_stop", [](std::string_view path) { throw_if(profile_stop(path)); });
}

}  // namespace oarlock::python
