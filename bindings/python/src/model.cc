// Model.
#include <nanobind/stl/map.h>

#include <oarlock/model.h>
#include <oarlock/nn/summary.h>

#include "bind.h"
#include "model.h"

namespace oarlock::python {
namespace {
using nb::arg;

Loss loss_from(nb::handle o) {
  if (o.is_none()) return {};
  if (nb::isinstance<nn::Layer>(o)) return Loss(nb::cast<std::shared_ptr<nn::Layer>>(o));
  if (!PyCallable_Check(o.ptr()))
    raise_type(std::string("Model.prepare: loss is a ") + Py_TYPE(o.ptr())->tp_name +
               ". Give a layer or a function of outputs and labels.");
  auto f = std::make_shared<Callback>(nb::borrow(o));
  return Loss(Loss::All([f](std::span<const Tensor> outputs, std::span<const Tensor> labels) {
    return carried([&] {
      nb::list given;
      for (const Tensor& t : outputs) given.append(nb::cast(t));
      for (const Tensor& t : labels) given.append(nb::cast(t));
      return nb::cast<Tensor>(f->get()(*nb::borrow<nb::args>(nb::tuple(given))));
    });
  }));
}
LoaderObject& loader_from(nb::handle o, const char* where) {
  if (!nb::isinstance<LoaderObject>(o))
    raise_type(std::string(where) + ": a " + Py_TYPE(o.ptr())->tp_name + " is no DataLoader.");
  return *nb::inst_ptr<LoaderObject>(o);
}
EvaluateOptions options_from(nb::handle model, int verbose, int64_t log_freq, nb::handle callbacks, int64_t max_steps) {
  return {log_freq, verbose, callbacks_from(callbacks, model, *nb::inst_ptr<Model>(model)), max_steps};
}

nb::dict fit(nb::object self, nb::handle train, nb::handle eval, int64_t epochs, int64_t eval_freq, int64_t log_freq,
             int verbose, nb::handle save_dir, int64_t save_freq, nb::handle callbacks, int64_t accumulate,
             int64_t max_steps, nb::handle resume, bool stop_on_nan) {
  Model& model = *nb::inst_ptr<Model>(self);
  LoaderObject& data = loader_from(train, "Model.fit");
  FitOptions o;
  LoaderObject* other = eval.is_none() ? nullptr : &loader_from(eval, "Model.fit");
  if (other) o.eval = &other->get();
  o.epochs = epochs;
  o.eval_freq = eval_freq;
  o.log_freq = log_freq;
  o.verbose = verbose;
  if (!save_dir.is_none()) o.save_dir = path_from(save_dir);
  o.save_freq = save_freq;
  o.callbacks = callbacks_from(callbacks, self, model);
  o.accumulate_grad_batches = accumulate;
  o.max_steps = max_steps;
  if (!resume.is_none()) o.resume = path_from(resume);
  o.stop_on_nan = stop_on_nan;
  History history;
  {
    LoaderObject::Use use(data);
    nb::gil_scoped_release unlocked;
    history = model.fit(data.get(), std::move(o));
  }
  return nb::cast<nb::dict>(nb::cast(history));
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model", nb::dynamic_attr(), nb::is_weak_referenceable(),
                    "A network with its optimiser, loss and metrics, and the loops around them.")
      .def(
          "__init__",
          [](Model* self, nb::handle network, int inputs) {
            if (!nb::isinstance<nn::Layer>(network))
              raise_type(std::string("Model: network is a ") + Py_TYPE(network.ptr())->tp_name + ". Give a layer.");
            new (self) Model(nb::cast<std::shared_ptr<nn::Layer>>(network), inputs);
          },
          arg("network"), arg("inputs") = 1)
      .def(
          "prepare",
          [](Model& self, nb::handle optimizer, nb::handle loss, nb::handle metrics) {
            OptimizerPtr o = optimizer.is_none() ? nullptr : nb::cast<OptimizerPtr>(optimizer);
            std::vector<MetricPtr> list;
            if (PyList_Check(metrics.ptr()) || PyTuple_Check(metrics.ptr()))
              for (nb::handle h : metrics) list.push_back(metric_from(h));
            else if (!metrics.is_none()) list.push_back(metric_from(metrics));
            self.prepare(std::move(o), loss_from(loss), std::move(list));
          },
          arg("optimizer") = nb::none(), arg("loss") = nb::none(), arg("metrics") = nb::none(),
          "Any of them may be absent where it isn't needed.")
      .def_prop_ro("network", [](Model& self) { return nb::borrow(nb::find(&self.network())); })
      .def_prop_ro("optimizer", [](Model& self) { return self.optimizer(); })
      .def("parameters", &Model::parameters)
      .def_prop_ro("history", &Model::history)
      .def("stop_training", &Model::stop_training, "For callbacks: fit ends after this batch.")
      .def(
          "train_batch",
          [](Model& self, nb::handle inputs, nb::handle labels, bool update) {
            auto in = fields_from(inputs, "train_batch");
            auto out = labels.is_none() ? std::vector<Tensor>() : fields_from(labels, "train_batch");
            Logs logs;
            {
              nb::gil_scoped_release unlocked;
              logs = self.train_batch(in, out, update);
            }
            return dict_of_logs(logs);
          },
          arg("inputs"), arg("labels") = nb::none(), arg("update") = true, "One step in training mode.")
      .def(
          "eval_batch",
          [](Model& self, nb::handle inputs, nb::handle labels) {
            auto in = fields_from(inputs, "eval_batch");
            auto out = labels.is_none() ? std::vector<Tensor>() : fields_from(labels, "eval_batch");
            Logs logs;
            {
              nb::gil_scoped_release unlocked;
              logs = self.eval_batch(in, out);
            }
            return dict_of_logs(logs);
          },
          arg("inputs"), arg("labels") = nb::none(), "As train_batch, in evaluation mode and without a step.")
      .def(
          "predict_batch",
          [](Model& self, nb::handle inputs) {
            auto in = fields_from(inputs, "predict_batch");
            std::vector<Tensor> out;
            {
              nb::gil_scoped_release unlocked;
              out = self.predict_batch(in);
            }
            return list_of(out);
          },
          arg("inputs"), "The network's outputs, a list.")
      .def("_fit", &fit, arg("train"), arg("eval").none(), arg("epochs"), arg("eval_freq"), arg("log_freq"),
           arg("verbose"), arg("save_dir").none(), arg("save_freq"), arg("callbacks").none(), arg("accumulate"),
           arg("max_steps"), arg("resume").none(), arg("stop_on_nan"))
      .def(
          "_evaluate",
          [](nb::object self, nb::handle data, int verbose, int64_t log_freq, nb::handle callbacks, int64_t max_steps) {
            LoaderObject& l = loader_from(data, "Model.evaluate");
            EvaluateOptions o = options_from(self, verbose, log_freq, callbacks, max_steps);
            Logs logs;
            {
              LoaderObject::Use use(l);
              nb::gil_scoped_release unlocked;
              logs = nb::inst_ptr<Model>(self)->evaluate(l.get(), o);
            }
            return dict_of_logs(logs);
          })
      .def("_predict",
           [](nb::object self, nb::handle data, int verbose, nb::handle callbacks, int64_t max_steps) {
             LoaderObject& l = loader_from(data, "Model.predict");
             EvaluateOptions o = options_from(self, verbose, 10, callbacks, max_steps);
             std::vector<Tensor> out;
             {
               LoaderObject::Use use(l);
               nb::gil_scoped_release unlocked;
               out = nb::inst_ptr<Model>(self)->predict(l.get(), o);
             }
             return list_of(out);
           })
      .def(
          "save",
          [](const Model& self, nb::handle path, bool training) {
            std::string p = path_from(path);
            nb::gil_scoped_release unlocked;
            self.save(p, training);
          },
          arg("path"), arg("training") = true,
          "A checkpoint with weights, optimiser, random state and, during fit, where the run is; or the weights alone.")
      .def(
          "load",
          [](Model& self, nb::handle path, bool reset_optimizer) {
            std::string p = path_from(path);
            nb::gil_scoped_release unlocked;
            self.load(p, reset_optimizer);
          },
          arg("path"), arg("reset_optimizer") = false, "Reads what save wrote.")
      .def(
          "summary",
          [](Model& self, nb::handle shapes) {
            std::vector<Shape> list;
            bool several = (PyList_Check(shapes.ptr()) || PyTuple_Check(shapes.ptr())) && nb::len(shapes) &&
                           !PyLong_Check(nb::object(shapes[0]).ptr());
            if (several)
              for (nb::handle h : shapes) list.push_back(shape_from(h.ptr(), "summary"));
            else list.push_back(shape_from(shapes.ptr(), "summary"));
            return nn::summary(self.network(), list).to_string();
          },
          arg("input_shapes"), "A table of the layers, as text, for inputs of these shapes.");
}

}  // namespace oarlock::python
