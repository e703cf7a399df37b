// Sequential, LayerList, LayerDict.
#include <oarlock/nn/containers.h>

#include "nn.h"

namespace oarlock::python {
namespace {

nn::LayerPtr layer_from(nb::handle h, const char* where) {
  if (!nb::isinstance<nn::Layer>(h))
    raise_type(std::string(where) + ": a " + Py_TYPE(h.ptr())->tp_name + " is no layer. Give layers.");
  return nb::cast<nn::LayerPtr>(h);
}
std::vector<nn::LayerPtr> layers_from(nb::handle o, const char* where) {
  std::vector<nn::LayerPtr> out;
  for (nb::handle h : o) out.push_back(layer_from(h, where));
  return out;
}
std::vector<std::pair<std::string, nn::LayerPtr>> named_from(nb::handle o, const char* where) {
  std::vector<std::pair<std::string, nn::LayerPtr>> out;
  nb::object items = nb::hasattr(o, "items") ? nb::object(o.attr("items")()) : nb::borrow(o);
  for (nb::handle pair : items)
    out.emplace_back(nb::cast<std::string>(nb::object(pair[0])), layer_from(nb::object(pair[1]), where));
  return out;
}
// Layers as arguments, as one list, or as (name, layer) pairs or a dict.
template <class L>
void fill(nb::pointer_and_handle<L> self, nb::args given, const char* where) {
  nb::object list = given;
  if (given.size() == 1 && !nb::isinstance<nn::Layer>(given[0]) && !nb::isinstance<nb::tuple>(given[0]))
    list = given[0];
  if (nb::hasattr(list, "items")) return make_layer<L>(self, named_from(list, where));
  nb::object items = nb::list(list);
  if (nb::len(items) && nb::isinstance<nb::tuple>(items[0])) return make_layer<L>(self, named_from(items, where));
  make_layer<L>(self, layers_from(items, where));
}
template <class C, class L>
void add_list(C& c) {
  c.def("__len__", [](const L& l) { return l.size(); })
      .def("__getitem__",
           [](nb::handle self, nb::handle key) -> nb::object {
             const L& l = *nb::inst_ptr<L>(self);
             if (PySlice_Check(key.ptr())) {
               nb::list parts;
               nb::object range = nb::module_::import_("builtins").attr("range")(l.size());
               for (nb::handle i : nb::object(range[key])) parts.append(nb::cast(l[nb::cast<int64_t>(i)]));
               return nb::type<L>()(*nb::borrow<nb::args>(nb::tuple(parts)));
             }
             int64_t i = integer_from(key.ptr(), "index", "place"), n = int64_t(l.size());
             if (i < -n || i >= n)
               raise_index("index: " + std::to_string(i) + " is out of bounds, there are " + std::to_string(n) +
                           " layers.");
             return nb::cast(l[i]);
           })
      .def("__iter__", [](const L& l) { return nb::iter(nb::cast(l.children())); })
      .def(
          "append",
          [](nb::handle self, nb::handle layer) {
            nb::inst_ptr<L>(self)->append(layer_from(layer, "append"));
            return nb::borrow(self);
          },
          nb::arg("layer"));
}

}  // namespace

void bind_containers(nb::module_& m) {
  auto sequential = layer_class<nn::Sequential>(
      m, "Sequential", "Sequential(*layers)\n\nOne layer after another, each given what the one before it gave.");
  sequential.def("__init__", [](nb::pointer_and_handle<nn::Sequential> self, nb::args layers) {
    fill(self, layers, "Sequential");
  });
  add_list<decltype(sequential), nn::Sequential>(sequential);

  auto list = layer_class<nn::LayerList>(
      m, "LayerList", "LayerList(layers=())\n\nA list that registers what is in it; it computes nothing itself.");
  list.def(
      "__init__",
      [](nb::pointer_and_handle<nn::LayerList> self, nb::handle layers) {
        make_layer<nn::LayerList>(self, layers_from(layers, "LayerList"));
      },
      nb::arg("layers") = nb::make_tuple());
  add_list<decltype(list), nn::LayerList>(list);
  list.def(
          "extend",
          [](nb::handle self, nb::handle layers) {
            nb::inst_ptr<nn::LayerList>(self)->extend(layers_from(layers, "extend"));
            return nb::borrow(self);
          },
          nb::arg("layers"))
      .def(
          "insert", [](nn::LayerList& l, int64_t at, nb::handle layer) { l.insert(at, layer_from(layer, "insert")); },
          nb::arg("index"), nb::arg("layer"))
      .def("__setitem__",
           [](nn::LayerList& l, int64_t at, nb::handle layer) { l.set(at, layer_from(layer, "index")); });

  auto dict =
      layer_class<nn::LayerDict>(m, "LayerDict", "LayerDict(layers={})\n\nLayers by name; it computes nothing itself.");
  dict.def(
          "__init__",
          [](nb::pointer_and_handle<nn::LayerDict> self, nb::handle layers) {
            make_layer<nn::LayerDict>(self, named_from(layers, "LayerDict"));
          },
          nb::arg("layers") = nb::dict())
      .def("__len__", [](const nn::LayerDict& d) { return d.size(); })
      .def("__contains__", [](const nn::LayerDict& d, const std::string& key) { return d.contains(key); })
      .def("__getitem__",
           [](const nn::LayerDict& d, const std::string& key) {
             if (!d.contains(key)) raise(PyExc_KeyError, key);
             return d[key];
           })
      .def("__setitem__",
           [](nn::LayerDict& d, const std::string& key, nb::handle layer) { d.set(key, layer_from(layer, "index")); })
      .def("__delitem__",
           [](nn::LayerDict& d, const std::string& key) {
             if (!d.contains(key)) raise(PyExc_KeyError, key);
             d.pop(key);
           })
      .def("__iter__", [](const nn::LayerDict& d) { return nb::iter(nb::cast(d.keys())); })
      .def("keys", &nn::LayerDict::keys)
      .def("values", &nn::LayerDict::children)
      .def("items", &nn::LayerDict::named_children)
      .def(
          "pop",
          [](nn::LayerDict& d, const std::string& key) {
            if (!d.contains(key)) raise(PyExc_KeyError, key);
            return d.pop(key);
          },
          nb::arg("key"));
}

}  // namespace oarlock::python
