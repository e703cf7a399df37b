// Metrics: those of the library, and objects that have the methods of one.
#include <oarlock/metric.h>

#include "bind.h"
#include "model.h"

namespace oarlock::python {
namespace {
using nb::arg;
using namespace metric;

struct BlankMetric : Metric {
  [[noreturn]] static void missing(const char* name) {
    throw Error(Code::unsupported, std::string("Metric: the class has no ") + name + ". Define it.");
  }
  std::vector<std::string> names() const override { missing("name"); }
  void reset() override { missing("reset"); }
  void update(const Tensor&, const Tensor&) override { missing("update"); }
  std::vector<double> accumulate() const override { missing("accumulate"); }
  std::vector<double> state() const override { return {}; }
  void set_state(const std::vector<double>&) override {}
};

// A text or number alone, or several.
template <class T>
std::vector<T> several(nb::handle o) {
  std::vector<T> out;
  if constexpr (std::is_same_v<T, double>) {
    if (!PyTuple_Check(o.ptr()) && !PyList_Check(o.ptr())) return {nb::cast<double>(nb::float_(nb::borrow(o)))};
    for (nb::handle h : o) out.push_back(nb::cast<double>(nb::float_(nb::borrow(h))));
  } else {
    if (PyUnicode_Check(o.ptr())) return {nb::cast<std::string>(o)};
    for (nb::handle h : o) out.push_back(nb::cast<std::string>(h));
  }
  return out;
}

class ObjectMetric : public Metric {
 public:
  explicit ObjectMetric(nb::handle o) : object_(nb::borrow(o)) {}
  std::vector<std::string> names() const override {
    return carried([&] {
      nb::object name = object_.get().attr("name");
      return several<std::string>(PyCallable_Check(name.ptr()) ? nb::object(name()) : name);
    });
  }
  void reset() override {
    carried([&] { object_.get().attr("reset")(); });
  }
  void update(const Tensor& prediction, const Tensor& label) override {
    carried([&] { object_.get().attr("update")(prediction, label); });
  }
  std::vector<double> accumulate() const override {
    return carried([&] { return several<double>(object_.get().attr("accumulate")()); });
  }
  std::vector<double> state() const override {
    return carried([&]() -> std::vector<double> {
      if (!has("state")) return {};
      return several<double>(object_.get().attr("state")());
    });
  }
  void set_state(const std::vector<double>& state) override {
    carried([&] {
      if (has("set_state")) object_.get().attr("set_state")(state);
    });
  }

 private:
  bool has(const char* name) const {
    return nb::isinstance<Metric>(object_.get()) ? is_python(object_.get(), nb::type<Metric>(), name)
                                                 : nb::hasattr(object_.get(), name);
  }
  Callback object_;
};

nb::object one_or_more(const std::vector<double>& values) {
  return values.size() == 1 ? nb::object(nb::float_(values[0])) : nb::cast(values);
}

}  // namespace

MetricPtr metric_from(nb::handle o) {
  if (nb::isinstance<Metric>(o) && nb::inst_ready(o) && !is_python(o, nb::type<Metric>(), "update") &&
      !is_python(o, nb::type<Metric>(), "accumulate"))
    return nb::cast<MetricPtr>(o);
  for (const char* name : {"name", "reset", "update", "accumulate"})
    if (!nb::hasattr(o, name))
      raise_type(std::string("Model.prepare: a metric is a ") + Py_TYPE(o.ptr())->tp_name + " without " + name +
                 ". Give metrics of oarlock.metric, or derive from Metric.");
  return std::make_shared<ObjectMetric>(o);
}

void bind_metrics(nb::module_& m) {
  nb::class_<Metric, BlankMetric>(m, "Metric", nb::dynamic_attr(), nb::is_weak_referenceable(),
                                  "Numbers about predictions that add up over batches: derive from it and define name, "
                                  "reset, update and accumulate; for resuming in the middle of an epoch also state and "
                                  "set_state, of a list of numbers.")
      .def(nb::init<>())
      .def("name",
           [](const Metric& x) -> nb::object {
             auto names = x.names();
             return names.size() == 1 ? nb::cast(names[0]) : nb::cast(names);
           })
      .def("reset", &Metric::reset)
      .def(
          "update",
          [](Metric& x, nb::handle prediction, nb::handle label) {
            auto tensor = [](nb::handle h) {
              return h.is_none() ? Tensor()
                                 : tensor_from(h.ptr(), DType::none, std::nullopt, Sharing::if_possible, "update");
            };
            x.update(tensor(prediction), tensor(label));
          },
          arg("prediction"), arg("label") = nb::none(), "Adds a batch.")
      .def(
          "accumulate", [](const Metric& x) { return one_or_more(x.accumulate()); }, "The value over all batches.")
      .def("state", &Metric::state)
      .def("set_state", &Metric::set_state, arg("state"));
  nb::class_<Accuracy, Metric>(m, "Accuracy", "How often the right class is among the k with the highest scores.")
      .def(
          "__init__",
          [](Accuracy* self, nb::handle topk, const std::string& name) {
            std::vector<int64_t> given;
            integers_from(topk.ptr(), given, "Accuracy", "topk");
            new (self) Accuracy(std::vector<int>(given.begin(), given.end()), name);
          },
          arg("topk") = nb::make_tuple(1), arg("name") = "acc");
  nb::class_<Precision, Metric>(m, "Precision", "Of what was called positive, the share that is.")
      .def(nb::init<std::string>(), arg("name") = "precision");
  nb::class_<Recall, Metric>(m, "Recall", "Of what is positive, the share that was called so.")
      .def(nb::init<std::string>(), arg("name") = "recall");
  nb::class_<Auc, Metric>(m, "Auc", "Area under the ROC curve.")
      .def(nb::init<int, std::string>(), arg("num_thresholds") = 4095, arg("name") = "auc");
  nb::class_<Mean, Metric>(m, "Mean", "The mean of all elements of all predictions.")
      .def(nb::init<std::string>(), arg("name") = "mean")
      .def("add", &Mean::add, arg("value"), arg("weight") = 1.0);
}

}  // namespace oarlock::python
