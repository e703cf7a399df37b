#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "caster.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {
PyObject* device_class;
PyObject* first_devices[16];  // most tensors are on one of these

// What this thread's `with` blocks go back to.
std::vector<Device>& entered() {
  static thread_local std::vector<Device> stack;
  return stack;
}
}  // namespace

Device device_from_object(PyObject* o, const char* where) {
  if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(device_class)) return *nb::inst_ptr<Device>(nb::handle(o));
  if (PyUnicode_Check(o)) {
    const char* s = PyUnicode_AsUTF8(o);
    if (!s) throw Raised();
    return Device(s);
  }
  raise_type(std::string(where) + ": device is a " + Py_TYPE(o)->tp_name +
             ". Give a Device or its name, 'cpu' or 'sim:0'.");
}

PyObject* device_object(Device d) {
  PyObject** known = d.index() < int(std::size(first_devices)) ? &first_devices[d.index()] : nullptr;
  if (known && *known) {
    Py_INCREF(*known);
    return *known;
  }
  nb::object o = nb::cast(d);
  if (known) {
    *known = o.ptr();
    o.inc_ref();
  }
  return o.release().ptr();
}

void bind_device(nb::module_& m) {
  nb::class_<Device> c(m, "Device",
                       "Device(name)\n\nWhere tensors live and run: 'cpu' is the host, plugins bring others. In a with "
                       "statement, where this thread makes what no operand places: tensor, zeros, arange, random "
                       "numbers, parameters of layers.\n\n>>> with oarlock.Device('cpu'):\n...     "
                       "oarlock.zeros(2).device\nDevice('cpu')");
  device_class = c.ptr();
  c.def(
       "__init__", [](Device* self, nb::handle name) { new (self) Device(device_from_object(name.ptr(), "Device")); },
       nb::arg("name") = "cpu")
      .def_prop_ro("name", &Device::name, "Its word: 'cpu', 'sim:0'.")
      .def_prop_ro("index", &Device::index, "Its number in oarlock.devices().")
      .def_prop_ro("description", &Device::description, "As on the box.")
      .def_prop_ro("is_host", &Device::is_host, "Whether it is the host CPU.")
      .def(
          "__enter__",
          [](const Device& d) {
            entered().push_back(current_device());
            set_device(d);
            return d;
          },
          "Until the end of the block this thread makes on it what no operand places.")
      .def(
          "__exit__",
          [](const Device&, nb::handle, nb::handle, nb::handle) {
            if (entered().empty()) return;
            set_device(entered().back());
            entered().pop_back();
          },
          nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none())
      .def(
          "synchronize",
          [](const Device& d) {
            nb::gil_scoped_release unlocked;
            d.synchronize();
          },
          "Waits until everything enqueued on it has run; a failure met on the way is raised.")
      .def("__repr__", [](const Device& d) { return "Device('" + d.name() + "')"; })
      .def("__str__", &Device::name)
      .def("__hash__", [](const Device& d) { return Py_hash_t(d.index()); })
      .def("__reduce__",
           [m](const Device& d) { return nb::make_tuple(nb::handle(device_class), nb::make_tuple(d.name())); })
      .def(
          "__eq__",
          [](const Device& d, nb::handle other) {
            try {
              return device_from_object(other.ptr(), "==") == d;
            } catch (const Error&) {
            } catch (const Raised&) { PyErr_Clear(); }
            return false;
          },
          nb::arg("other").none());
  m.def("devices", &devices, "All devices, the host first. Loads plugins on first use.");
  m.def(
      "set_device", [](nb::handle device) { set_device(device_from_object(device.ptr(), "set_device")); },
      nb::arg("device"), "Where this thread makes what no operand places, from now on.");
  m.def("get_device", &current_device, "Where this thread makes what no operand places.");

  nb::class_<MemoryStats>(m, "MemoryStats", "What the caching allocator of a device holds, in bytes.")
      .def_ro("in_use", &MemoryStats::in_use)
      .def_ro("peak", &MemoryStats::peak)
      .def_ro("reserved", &MemoryStats::reserved)
      .def_ro("allocations", &MemoryStats::allocations)
      .def_ro("system_allocations", &MemoryStats::system_allocations)
      .def("__repr__", [](const MemoryStats& s) {
        return "MemoryStats(in_use=" + std::to_string(s.in_use) + ", peak=" + std::to_string(s.peak) +
               ", reserved=" + std::to_string(s.reserved) + ")";
      });
  auto of = [](nb::handle device) { return device_from_object(device.ptr(), "memory"); };
  m.def(
      "memory_stats", [of](nb::handle device) { return memory_stats(of(device)); }, nb::arg("device") = "cpu",
      "What the caching allocator of a device holds.");
  m.def(
      "reset_peak_memory", [of](nb::handle device) { reset_peak_memory(of(device)); }, nb::arg("device") = "cpu");
  m.def(
      "release_cached_memory", [of](nb::handle device) { release_cached_memory(of(device)); },
      nb::arg("device") = "cpu", "Gives cached but unused memory back to the system or the driver.");
}

}  // namespace oarlock::python
