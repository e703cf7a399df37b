// The class Layer: calls, registration by attribute, state, hooks.
#include "bind.h"
#include "nn.h"

namespace oarlock::python {
namespace {

// A call made from Python: what its forward is to see, and what that gave.
struct PythonCall {
  const nn::Layer* layer = nullptr;
  nb::handle args, keywords;
  nb::object result;
  std::vector<TensorImpl*> given, gave;
};
thread_local PythonCall* current_call = nullptr;

void collect(nb::handle o, std::vector<Tensor>& out) {
  if (const Tensor* t = tensor_of(o.ptr())) out.push_back(*t);
  else if (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr()))
    for (nb::handle x : o) collect(x, out);
  else if (PyDict_Check(o.ptr()))
    for (auto [key, x] : nb::borrow<nb::dict>(o)) collect(x, out);
}
std::vector<TensorImpl*> impls(std::span<const Tensor> list) {
  std::vector<TensorImpl*> out;
  for (const Tensor& t : list) out.push_back(t.impl());
  return out;
}

nb::object call_layer(nb::handle self, nb::args args, nb::kwargs keywords) {
  nn::Layer& layer = *nb::inst_ptr<nn::Layer>(self);
  PythonCall call;
  call.layer = &layer;
  call.args = args;
  call.keywords = keywords;
  std::vector<Tensor> inputs;
  int64_t work = 0;
  for (nb::handle h : args) {
    if (const Tensor* t = tensor_of(h.ptr())) inputs.push_back(*t);
    else if (h.is_none()) inputs.push_back({});
    else if (is_numpy(h.ptr()))
      inputs.push_back(tensor_from(h.ptr(), DType::none, std::nullopt, Sharing::if_possible, name_of(layer)));
    else continue;  // for the Python forward alone
    work += work_of(inputs.back());
  }
  bool foreign = inputs.size() != args.size() || keywords.size() != 0;
  if (foreign && !has_python_forward(self, nb::handle())) {
    // A built-in layer takes its inputs by name as well.
    nb::object names = nb::getattr(self.type(), "_inputs", nb::make_tuple("x"));
    std::vector<Tensor> placed = inputs;
    for (auto [key, value] : keywords) {
      size_t at = 0, n = nb::len(names);
      while (at < n && !names[at].equal(key)) ++at;
      if (at == n)
        raise_type(std::string(name_of(layer)) + ": there is no input '" + nb::cast<std::string>(key) + "'.");
      if (placed.size() <= at) placed.resize(at + 1);
      if (!value.is_none())
        placed[at] = tensor_from(value.ptr(), DType::none, std::nullopt, Sharing::if_possible, name_of(layer));
    }
    if (inputs.size() != args.size())
      raise_type(std::string(name_of(layer)) + ": an input is no tensor. Give tensors.");
    inputs = std::move(placed);
  }
  call.given = impls(inputs);
  PythonCall* before = std::exchange(current_call, &call);
  std::vector<Tensor> out;
  try {
    Unlocked u(work >= kLongCall);
    out = layer.call(inputs);
  } catch (...) {
    current_call = before;
    throw;
  }
  current_call = before;
  if (call.result.is_valid() && call.gave == impls(out)) return std::move(call.result);
  return result_of(std::move(out));
}

nn::HookHandle add_pre_hook(nn::Layer& layer, nb::object hook) {
  auto f = std::make_shared<Callback>(std::move(hook));
  return layer.register_forward_pre_hook([f](nn::Layer& l, std::span<const Tensor> inputs) {
    return called([&] {
      nb::list given;
      for (const Tensor& t : inputs) given.append(nb::cast(t));
      nb::object back = f->get()(nb::find(&l), nb::tuple(given));
      std::vector<Tensor> out;
      collect(back, out);
      return out;
    });
  });
}
nn::HookHandle add_post_hook(nn::Layer& layer, nb::object hook) {
  auto f = std::make_shared<Callback>(std::move(hook));
  return layer.register_forward_post_hook(
      [f](nn::Layer& l, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
        return called([&] {
          nb::list given;
          for (const Tensor& t : inputs) given.append(nb::cast(t));
          nb::object back = f->get()(nb::find(&l), nb::tuple(given), result_of({outputs.begin(), outputs.end()}));
          std::vector<Tensor> out;
          collect(back, out);
          return out;
        });
      });
}

// What a layer owns under a name: (True, value) or (False, None).
nb::object own(const nn::Layer& layer, const std::string& name) {
  for (auto& [have, sub] : layer.sublayer_slots())
    if (have == name) return nb::make_tuple(true, sub);
  if (!layer.has_own(name)) return nb::make_tuple(false, nb::none());
  try {
    return nb::make_tuple(true, layer.parameter(name));
  } catch (const Error&) { return nb::make_tuple(true, layer.buffer(name)); }
}

}  // namespace

const char* name_of(const nn::Layer& layer) {
  thread_local std::string text;
  text = layer.type_name();
  return text.c_str();
}

nb::object result_of(std::vector<Tensor> out) {
  if (out.size() == 1) return nb::cast(out[0]);
  nb::list list;
  for (Tensor& t : out) list.append(nb::cast(t));
  return nb::tuple(list);
}

bool has_python_forward(nb::handle self, nb::handle) {
  nb::object f = nb::getattr(self.type(), "forward", nb::none());
  return Py_TYPE(f.ptr()) == &PyFunction_Type || PyObject_HasAttrString(f.ptr(), "__wrapped__");
}

std::vector<Tensor> call_python_forward(const nn::Layer* layer, std::span<const Tensor> inputs) {
  return called([&] {
    nb::object self = nb::borrow(nb::find(layer));
    PythonCall* call = current_call && current_call->layer == layer ? std::exchange(current_call, nullptr) : nullptr;
    nb::object out;
    if (call && impls(inputs) == call->given) {
      out = self.attr("forward")(*nb::borrow<nb::args>(call->args), **nb::borrow<nb::kwargs>(call->keywords));
    } else if (call && (call->keywords.is_valid() && nb::len(call->keywords))) {
      // Hooks changed the tensors: they take the places that those of the call had.
      nb::list changed;
      size_t at = 0;
      for (nb::handle h : call->args) {
        bool tensor = is_tensor(h.ptr()) || h.is_none() || is_numpy(h.ptr());
        changed.append(tensor && at < inputs.size() ? nb::cast(inputs[at++]) : nb::borrow(h));
      }
      out = self.attr("forward")(*nb::borrow<nb::args>(nb::tuple(changed)), **nb::borrow<nb::kwargs>(call->keywords));
    } else {
      nb::list given;
      for (const Tensor& t : inputs) given.append(nb::cast(t));
      out = self.attr("forward")(*nb::borrow<nb::args>(nb::tuple(given)));
    }
    std::vector<Tensor> list;
    collect(out, list);
    if (call) {
      current_call = call;
      call->result = out;
      call->gave = impls(list);
    } else if (list.empty()) {
      raise_type(std::string(name_of(*layer)) + ": forward gave a " + Py_TYPE(out.ptr())->tp_name +
                 ". Return a tensor or a tuple of tensors.");
    }
    return list;
  });
}

nb::dict dict_of(const NamedTensors& tensors) {
  nb::dict out;
  for (auto& [name, t] : tensors) out[name.c_str()] = nb::cast(t);
  return out;
}
NamedTensors named_tensors_from(nb::handle o, const char* where) {
  NamedTensors out;
  nb::object items = nb::hasattr(o, "items") ? nb::object(o.attr("items")()) : nb::borrow(o);
  for (nb::handle pair : items) {
    nb::handle key = pair[0].operator nb::object().release(), value = pair[1].operator nb::object().release();
    nb::object k = nb::steal(key), v = nb::steal(value);
    if (!nb::isinstance<nb::str>(k))
      raise_type(std::string(where) + ": a name is a " + Py_TYPE(k.ptr())->tp_name + ". Give texts.");
    out.emplace_back(nb::cast<std::string>(k),
                     tensor_from(v.ptr(), DType::none, std::nullopt, Sharing::if_possible, where));
  }
  return out;
}

void bind_layer(nb::module_& m) {
  nb::class_<nn::HookHandle>(m, "HookHandle", "Takes a hook off again.").def("remove", &nn::HookHandle::remove);
  nb::class_<nn::StateReport>(m, "StateReport", "What set_state_dict found amiss without calling it an error.")
      .def_ro("missing_keys", &nn::StateReport::missing)
      .def_ro("unexpected_keys", &nn::StateReport::unexpected)
      .def("__iter__", [](const nn::StateReport& r) { return nb::iter(nb::make_tuple(r.missing, r.unexpected)); });

  using nn::Layer;
  nb::class_<Layer, Trampoline<Layer>> c(
      m, "Layer", nb::dynamic_attr(), nb::is_weak_referenceable(),
      "A piece of a network that owns parameters, buffers and further layers.\n\n"
      "Subclasses call super().__init__(), set layers and parameters as attributes, and define forward.");
  c.def("__init__", [](Layer* self) { new (static_cast<void*>(self)) Trampoline<Layer>(); })
      .def("__call__",
           [](nb::handle self, nb::args args, nb::kwargs keywords) { return call_layer(self, args, keywords); })
      .def("forward",
           [](Layer& self, nb::args, nb::kwargs) -> nb::object {
             raise(PyExc_NotImplementedError, std::string(name_of(self)) + ": the class has no forward. Define it.");
           })
      .def(
          "_set_forward",
          [](Layer& self, nb::object forward) {
            if (forward.is_none()) return self.set_forward({});
            auto f = std::make_shared<Callback>(std::move(forward));
            self.set_forward([f](std::span<const Tensor> inputs) {
              return called([&] {
                nb::list given;
                for (const Tensor& t : inputs) given.append(nb::cast(t));
                std::vector<Tensor> out;
                collect(f->get()(*nb::borrow<nb::args>(nb::tuple(given))), out);
                return out;
              });
            });
          },
          nb::arg("forward").none())
      .def_static("_ready", [](nb::handle self) { return nb::inst_ready(self); })
      .def("_own", &own)
      .def("_set_parameter", &Layer::set_parameter, nb::arg("name"), nb::arg("value").none())
      .def(
          "_add_parameter",
          [](Layer& l, const std::string& name, nb::handle value, bool trainable) {
            l.add_parameter(name, value.is_none() ? Tensor() : nb::cast<Tensor>(value), trainable);
          },
          nb::arg("name"), nb::arg("value").none(), nb::arg("trainable") = true)
      .def(
          "_set_buffer",
          [](Layer& l, const std::string& name, nb::handle value) {
            l.set_buffer(name, value.is_none() ? Tensor() : nb::cast<Tensor>(value));
          },
          nb::arg("name"), nb::arg("value").none())
      .def(
          "_add_buffer",
          [](Layer& l, const std::string& name, nb::handle value, bool persistable) {
            l.add_buffer(name, value.is_none() ? Tensor() : nb::cast<Tensor>(value), {.persistable = persistable});
          },
          nb::arg("name"), nb::arg("value").none(), nb::arg("persistable") = true)
      .def("_set_sublayer", &Layer::set_sublayer)
      .def("_has_own", [](const Layer& l, const std::string& name) { return l.has_own(name); })
      .def("_remove", [](Layer& l, const std::string& name) { l.remove(name); })
      .def("_names",
           [](const Layer& l) {
             std::vector<std::string> names;
             for (auto& [name, t] : l.named_parameters("", false)) names.push_back(name);
             for (auto& [name, t] : l.named_buffers("", false)) names.push_back(name);
             for (auto& [name, sub] : l.sublayer_slots()) names.push_back(name);
             return names;
           })
      .def(
          "get_parameter", [](const Layer& l, const std::string& path) { return l.parameter(path); }, nb::arg("path"),
          "By its full name.")
      .def(
          "get_buffer", [](const Layer& l, const std::string& path) { return l.buffer(path); }, nb::arg("path"),
          "By its full name.")
      .def(
          "get_sublayer", [](const Layer& l, const std::string& path) { return l.sublayer(path); }, nb::arg("path"),
          "By its full name.")
      .def("parameters", &Layer::parameters, "All parameters, own ones before those of sublayers.")
      .def("named_parameters", &Layer::named_parameters, nb::arg("prefix") = "", nb::arg("include_sublayers") = true)
      .def("buffers", &Layer::buffers)
      .def("named_buffers", &Layer::named_buffers, nb::arg("prefix") = "", nb::arg("include_sublayers") = true)
      .def("sublayers", &Layer::sublayers, "All layers below this one.")
      .def("named_sublayers", &Layer::named_sublayers, nb::arg("prefix") = "")
      .def("children", &Layer::children, "The layers directly below.")
      .def("named_children", &Layer::named_children)
      .def(
          "state_dict", [](const Layer& l, const std::string& prefix) { return dict_of(l.state_dict(prefix)); },
          nb::arg("prefix") = "",
          "Parameters and persistable buffers under their full names; they share their elements with the layer's.")
      .def(
          "set_state_dict",
          [](Layer& l, nb::handle state, bool strict) {
            return l.set_state_dict(named_tensors_from(state, "set_state_dict"), strict);
          },
          nb::arg("state"), nb::arg("strict") = true, "Copies values in, all or nothing.")
      .def(
          "train",
          [](nb::handle self, bool on) {
            nb::inst_ptr<Layer>(self)->train(on);
            return nb::borrow(self);
          },
          nb::arg("mode") = true, "For this layer and all below.")
      .def("eval",
           [](nb::handle self) {
             nb::inst_ptr<Layer>(self)->eval();
             return nb::borrow(self);
           })
      .def_prop_ro("training", &Layer::training)
      .def(
          "apply",
          [](nb::handle self, nb::object f) {
            nb::inst_ptr<Layer>(self)->apply([&](Layer& l) { called([&] { f(nb::find(&l)); }); });
            return nb::borrow(self);
          },
          nb::arg("f"), "f on every layer, those below first.")
      .def("_to_device", [](Layer& l, nb::handle device) { l.to(device_from_object(device.ptr(), "to")); })
      .def("_to_dtype", [](Layer& l, nb::handle dtype) { l.to(dtype_from_object(dtype.ptr(), "to")); })
      .def("freeze", &Layer::freeze, "No parameter requires a gradient any more.")
      .def("unfreeze", &Layer::unfreeze)
      .def("set_stop_gradient", &Layer::set_stop_gradient, nb::arg("stop"))
      .def("clear_gradients", &Layer::clear_gradients, "Forgets the gradients of all parameters.")
      .def("register_forward_pre_hook", &add_pre_hook, nb::arg("hook"),
           "hook(layer, inputs) before forward; what it returns replaces the inputs.")
      .def("register_forward_post_hook", &add_post_hook, nb::arg("hook"),
           "hook(layer, inputs, output) after forward; what it returns replaces the output.")
      .def("full_name", [](const Layer& l) { return l.type_name(); })
      .def("extra_repr", [](const Layer& l) { return l.Layer::extra_repr(); })
      .def("__repr__", &Layer::to_string);
}

}  // namespace oarlock::python
