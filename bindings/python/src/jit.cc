// Captured functions: oarlock/jit.py flattens arguments and results, this calls the program.
#include "bind.h"
#include "nn.h"

namespace nb = nanobind;

namespace oarlock::python {
namespace {

std::vector<jit::InputSpec> specs_from(nb::handle list) {
  std::vector<jit::InputSpec> out;
  for (nb::handle h : list) {
    nb::tuple t = nb::cast<nb::tuple>(h);
    jit::InputSpec spec;
    for (nb::handle s : t[0])
      if (s.is_none()) spec.shape.emplace_back(int64_t(-1));
      else if (nb::isinstance<nb::str>(s)) spec.shape.emplace_back(nb::cast<std::string>(s));
      else spec.shape.emplace_back(nb::cast<int64_t>(s));
    spec.dtype = nb::cast<DType>(t[1]);
    spec.name = nb::cast<std::string>(t[2]);
    out.push_back(std::move(spec));
  }
  return out;
}

// `states` gives (name, tensor) pairs.
struct Captured {
  std::unique_ptr<jit::StaticFunction> function;
};

nb::list list_of(std::span<const Tensor> tensors) {
  nb::list out;
  for (const Tensor& t : tensors) out.append(nb::cast(t));
  return out;
}
std::vector<Tensor> tensors_of(nb::handle list) {
  std::vector<Tensor> out;
  for (nb::handle h : list) out.push_back(nb::cast<Tensor>(h));
  return out;
}
// A function of a list of tensors that gives another one.
jit::Function function_of(nb::object function) {
  return [f = std::make_shared<Callback>(std::move(function))](std::span<const Tensor> inputs) {
    return called([&] { return tensors_of(f->get()(list_of(inputs))); });
  };
}

nb::dict dict_of(const jit::ProgramInfo& p) {
  nb::dict d;
  d["name"] = p.name;
  d["device"] = p.device;
  d["nodes"] = p.nodes;
  d["steps"] = p.steps;
  d["backward_nodes"] = p.backward_nodes;
  d["in_place"] = p.in_place;
  d["interpreted"] = p.interpreted;
  d["arena_bytes"] = p.arena_bytes;
  d["values_bytes"] = p.values_bytes;
  return d;
}

}  // namespace

void bind_jit(nb::module_& m) {
  nb::class_<Captured>(m, "CapturedFunction")
      .def("__init__",
           [](Captured* self, nb::object function, std::string name, nb::object states, nb::handle specs, int programs,
              int plans) {
             auto s = std::make_shared<Callback>(std::move(states));
             jit::StaticOptions options;
             options.name = std::move(name);
             options.input_spec = specs_from(specs);
             options.max_programs = programs;
             options.max_plans = plans;
             options.states = [s] { return called([&] { return named_tensors_from(s->get()(), "to_static"); }); };
             new (self)
                 Captured{std::make_unique<jit::StaticFunction>(function_of(std::move(function)), std::move(options))};
           })
      .def("call",
           [](Captured& self, const std::vector<Tensor>& inputs, const std::string& key) {
             nb::gil_scoped_release unlocked;
             return self.function->call(inputs, key);
           })
      .def("programs", [](const Captured& self) {
        std::vector<jit::ProgramInfo> programs;
        {
          nb::gil_scoped_release unlocked;  // a thread that captures may be waiting for it
          programs = self.function->programs();
        }
        nb::list out;
        for (const jit::ProgramInfo& p : programs) out.append(dict_of(p));
        return out;
      });
  // output_names: a list, which the function may still fill while it is called.
  m.def("export",
        [](nb::object function, nb::handle specs, std::string name, nb::list output_names, nb::handle states) {
          std::vector<jit::InputSpec> inputs = specs_from(specs);
          jit::ExportOptions options{std::move(name), {}, named_tensors_from(states, "export")};
          jit::Function f = [&, of = function_of(std::move(function))](std::span<const Tensor> x) {
            std::vector<Tensor> out = of(x);
            options.output_names = called([&] { return nb::cast<std::vector<std::string>>(output_names); });
            return out;
          };
          nb::gil_scoped_release unlocked;
          return jit::export_function(f, inputs, options);
        });
  m.def(
      "load",
      [](const std::string& path, const std::string& weights_path) {
        nb::gil_scoped_release unlocked;
        return jit::load(path, weights_path);
      },
      nb::arg("path"), nb::arg("weights_path") = "");
  m.def("cond", [](const Tensor& pred, nb::object true_fn, nb::object false_fn) {
    jit::Function yes = function_of(std::move(true_fn)), no = function_of(std::move(false_fn));
    nb::gil_scoped_release unlocked;
    return jit::cond(
        pred, [&] { return yes({}); }, [&] { return no({}); });
  });
  m.def("while_loop", [](nb::object cond_fn, nb::object body_fn, const std::vector<Tensor>& vars) {
    jit::Function condition = function_of(std::move(cond_fn)), body = function_of(std::move(body_fn));
    nb::gil_scoped_release unlocked;
    return jit::while_loop([&](std::span<const Tensor> now) { return condition(now).at(0); }, body, vars);
  });
  m.def("scan", [](nb::object function, const std::vector<Tensor>& init, const std::vector<Tensor>& xs, int64_t length,
                   bool reverse) {
    auto f = std::make_shared<Callback>(std::move(function));
    auto call = [f](std::span<const Tensor> carry, std::span<const Tensor> row) {
      return called([&] {
        nb::object out = f->get()(list_of(carry), list_of(row));
        return jit::Scanned{tensors_of(out[0]), tensors_of(out[1])};
      });
    };
    jit::Scanned out;
    {
      nb::gil_scoped_release unlocked;
      out = jit::scan(call, init, xs, {.reverse = reverse, .length = length});
    }
    return nb::make_tuple(out.carry, out.ys);
  });
  // What of tensors decides which program serves a call, as a text.
  m.def("kinds", [](const std::vector<Tensor>& tensors, bool shapes) {
    std::string key;
    for (const Tensor& t : tensors) {
      key += std::to_string(int(t.dtype())) + "@" + std::to_string(t.device().index()) + (t.requires_grad() ? "!" : "");
      for (int i = 0; shapes && i < t.shape().rank; ++i) key += "," + std::to_string(t.shape()[i].n);
      key += ";";
    }
    return key;
  });
  // Which of a layer and those below it are in training.
  m.def("modes", [](const nn::Layer& layer) {
    std::string key(1, layer.training() ? 't' : 'e');
    for (const nn::LayerPtr& below : layer.sublayers()) key += below->training() ? 't' : 'e';
    return key;
  });
  m.def("capturing", &jit::capturing, "Whether this thread is capturing a program.");
  m.def("size_text", [](int64_t n) { return to_string(Dim(n)); });
  m.def("size_combine", [](int64_t a, int64_t b, const std::string& op) {
    switch (op[0]) {
      case '+': return (Dim(a) + Dim(b)).n;
      case '-': return (Dim(a) - Dim(b)).n;
      case '*': return (Dim(a) * Dim(b)).n;
      default: return (Dim(a) / Dim(b)).n;
    }
  });
  m.def("set_size_type", [](nb::object type) { set_size_type(type.release().ptr()); });
}

}  // namespace oarlock::python
