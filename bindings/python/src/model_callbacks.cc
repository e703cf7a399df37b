// Callbacks: those of the library, and classes derived from Callback in Python.
#include <oarlock/model/callback.h>

#include "bind.h"
#include "model.h"

namespace oarlock::python {
namespace {
using nb::arg;
using Base = oarlock::Callback;
using namespace callbacks;

// What Python derives from Callback, or from a shipped one, as the library sees it: methods written in Python are called
// there, all others are those of the object itself.
class ObjectCallback : public Base {
 public:
  ObjectCallback(nb::handle o, Model& model) : object_(nb::borrow(o)) {
    if (nb::inst_ready(o)) native_ = nb::cast<std::shared_ptr<Base>>(o);
    if (native_) native_->set_model(&model);
    for (size_t i = 0; i < std::size(kNames); ++i) python_[i] = is_python(o, nb::type<Base>(), kNames[i]);
    order_ = python_[kOrder] ? nb::cast<int>(o.attr("order")()) : native_ ? native_->order() : 0;
  }
  void on_train_begin() override {
    if (python_[0]) call(0);
    else if (native_) native_->on_train_begin();
  }
  void on_train_end(const Logs& logs) override {
    if (python_[1]) call(1, logs);
    else if (native_) native_->on_train_end(logs);
  }
  // Something is on its way already: what this raises would end the program.
  void on_train_failed() override {
    try {
      if (python_[2]) call(2);
      else if (native_) native_->on_train_failed();
    } catch (...) {}
  }
  void on_epoch_begin(int64_t epoch) override {
    if (python_[3]) call(3, epoch);
    else if (native_) native_->on_epoch_begin(epoch);
  }
  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    if (python_[4]) call(4, epoch, logs);
    else if (native_) native_->on_epoch_end(epoch, logs);
  }
  void on_train_batch_begin(int64_t step) override {
    if (python_[5]) call(5, step);
    else if (native_) native_->on_train_batch_begin(step);
  }
  void on_train_batch_end(int64_t step, const Logs& logs) override {
    if (python_[6]) call(6, step, logs);
    else if (native_) native_->on_train_batch_end(step, logs);
  }
  void on_eval_begin(int64_t steps) override {
    if (python_[7]) call(7, steps);
    else if (native_) native_->on_eval_begin(steps);
  }
  void on_eval_batch_end(int64_t step, const Logs& logs) override {
    if (python_[8]) call(8, step, logs);
    else if (native_) native_->on_eval_batch_end(step, logs);
  }
  void on_eval_end(const Logs& logs) override {
    if (python_[9]) call(9, logs);
    else if (native_) native_->on_eval_end(logs);
  }
  std::vector<double> state() const override {
    if (!python_[10]) return native_ ? native_->state() : std::vector<double>();
    return carried([&] { return nb::cast<std::vector<double>>(object_.get().attr("state")()); });
  }
  void set_state(const std::vector<double>& state) override {
    if (python_[11]) call(11, state);
    else if (native_) native_->set_state(state);
  }
  int order() const override { return order_; }

 private:
  static constexpr const char* kNames[] = {"on_train_begin",
                                           "on_train_end",
                                           "on_train_failed",
                                           "on_epoch_begin",
                                           "on_epoch_end",
                                           "on_train_batch_begin",
                                           "on_train_batch_end",
                                           "on_eval_begin",
                                           "on_eval_batch_end",
                                           "on_eval_end",
                                           "state",
                                           "set_state",
                                           "order"};
  static constexpr int kOrder = 12;
  static nb::object value(const Logs& logs) { return dict_of_logs(logs); }
  static nb::object value(int64_t n) { return nb::int_(n); }
  static nb::object value(const std::vector<double>& v) { return nb::cast(v); }
  template <class... A>
  void call(int method, const A&... a) {
    carried([&] { object_.get().attr(kNames[method])(value(a)...); });
  }

  python::Callback object_;
  std::shared_ptr<Base> native_;
  bool python_[std::size(kNames)] = {};
  int order_ = 0;
};

// Control-C between batches.
class Interrupts : public Base {
 public:
  void on_train_batch_end(int64_t, const Logs&) override { look(); }
  void on_eval_batch_end(int64_t, const Logs&) override { look(); }
  int order() const override { return 1000; }

 private:
  static void look() {
    carried([] {
      if (PyErr_CheckSignals() < 0) throw Raised();
    });
  }
};

Logs logs_from(nb::handle o) {
  Logs logs;
  if (!o.is_none())
    for (auto [key, value] : nb::borrow<nb::dict>(o))
      logs.emplace_back(nb::cast<std::string>(key), nb::cast<double>(nb::float_(nb::borrow(value))));
  return logs;
}
nb::dict dict_of_progress(const Progress& p) {
  nb::dict d;
  d["epoch"] = p.epoch;
  d["epochs"] = p.epochs;
  d["step"] = p.step;
  d["steps"] = p.steps;
  d["total_steps"] = p.total_steps;
  d["samples"] = p.samples;
  return d;
}

}  // namespace

nb::dict dict_of_logs(const Logs& logs) {
  nb::dict d;
  for (auto& [name, value] : logs) d[name.c_str()] = value;
  return d;
}

std::vector<CallbackPtr> callbacks_from(nb::handle list, nb::handle model, Model& native) {
  std::vector<CallbackPtr> out;
  nb::object given = list.is_none()               ? nb::object(nb::list())
                     : nb::isinstance<Base>(list) ? nb::object(nb::make_tuple(nb::borrow(list)))
                                                  : nb::borrow(list);
  for (nb::handle h : given) {
    if (!nb::isinstance<Base>(h))
      raise_type(std::string("Model: a callback is a ") + Py_TYPE(h.ptr())->tp_name +
                 ". Derive from oarlock.callbacks.Callback.");
    nb::setattr(h, "model", model);
    bool shipped = std::strncmp(nb::cast<std::string>(h.type().attr("__module__")).c_str(), "oarlock.", 8) == 0;
    if (shipped && nb::inst_ready(h)) out.push_back(nb::cast<CallbackPtr>(h));
    else out.push_back(std::make_shared<ObjectCallback>(h, native));
  }
  out.push_back(std::make_shared<Interrupts>());
  return out;
}

void bind_callbacks(nb::module_& m) {
  m.def("progress_dict", [](const Model& model) { return dict_of_progress(model.progress()); });
  nb::class_<Base>(m, "Callback", nb::dynamic_attr(), nb::is_weak_referenceable(),
                   "What fit and evaluate tell others: derive from it and define what you want to hear of.\n\n"
                   "self.model is the Model. logs is a dict of means over the epoch's samples so far.")
      .def(nb::init<>())
      .def("on_train_begin", [](Base& c) { c.on_train_begin(); })
      .def(
          "on_train_end", [](Base& c, nb::handle logs) { c.on_train_end(logs_from(logs)); }, arg("logs") = nb::none())
      .def("on_train_failed", [](Base& c) { c.on_train_failed(); })
      .def(
          "on_epoch_begin", [](Base& c, int64_t epoch) { c.on_epoch_begin(epoch); }, arg("epoch"))
      .def(
          "on_epoch_end", [](Base& c, int64_t epoch, nb::handle logs) { c.on_epoch_end(epoch, logs_from(logs)); },
          arg("epoch"), arg("logs") = nb::none())
      .def(
          "on_train_batch_begin", [](Base& c, int64_t step) { c.on_train_batch_begin(step); }, arg("step"))
      .def(
          "on_train_batch_end",
          [](Base& c, int64_t step, nb::handle logs) { c.on_train_batch_end(step, logs_from(logs)); }, arg("step"),
          arg("logs") = nb::none())
      .def(
          "on_eval_begin", [](Base& c, int64_t steps) { c.on_eval_begin(steps); }, arg("steps") = -1)
      .def(
          "on_eval_batch_end",
          [](Base& c, int64_t step, nb::handle logs) { c.on_eval_batch_end(step, logs_from(logs)); }, arg("step"),
          arg("logs") = nb::none())
      .def(
          "on_eval_end", [](Base& c, nb::handle logs) { c.on_eval_end(logs_from(logs)); }, arg("logs") = nb::none())
      .def("state", &Base::state, "What it needs to go on after a resume, a list of numbers.")
      .def("set_state", &Base::set_state, arg("state"))
      .def("order", &Base::order, "Called in rising order.");
  nb::class_<ProgBarLogger, Base>(m, "ProgBarLogger", "Shows how far training is.")
      .def(
          "__init__", [](ProgBarLogger* self, int verbose) { new (self) ProgBarLogger(verbose); }, arg("verbose") = 1);
  nb::class_<ModelCheckpoint, Base>(m, "ModelCheckpoint", "Writes checkpoints to a folder.")
      .def(
          "__init__",
          [](ModelCheckpoint* self, nb::handle folder, int64_t every_epochs, int64_t every_steps, int64_t keep,
             const std::string& monitor, const std::string& mode) {
            new (self) ModelCheckpoint(path_from(folder), {every_epochs, every_steps, keep, monitor, mode});
          },
          arg("save_dir"), arg("every_epochs") = 1, arg("every_steps") = 0, arg("keep") = -1, arg("monitor") = "",
          arg("mode") = "");
  nb::class_<EarlyStopping, Base>(m, "EarlyStopping", "Ends training when a value becomes no better.")
      .def(
          "__init__",
          [](EarlyStopping* self, const std::string& monitor, const std::string& mode, int64_t patience,
             double min_delta, nb::handle best_path) {
            new (self) EarlyStopping(
                {monitor, mode, patience, min_delta, best_path.is_none() ? std::string() : path_from(best_path)});
          },
          arg("monitor") = "val_loss", arg("mode") = "", arg("patience") = 0, arg("min_delta") = 0.0,
          arg("best_path") = nb::none())
      .def_prop_ro("best", &EarlyStopping::best);
  nb::class_<CSVLogger, Base>(m, "CSVLogger", "A row per epoch.")
      .def(
          "__init__",
          [](CSVLogger* self, nb::handle path, bool append) { new (self) CSVLogger(path_from(path), append); },
          arg("path"), arg("append") = false);
  nb::class_<LRScheduler, Base>(m, "LRScheduler", "Steps the optimiser's schedule.")
      .def(nb::init<bool, bool, std::string>(), arg("by_step") = true, arg("by_epoch") = false,
           arg("monitor") = "loss");
  nb::class_<TensorBoard, Base>(m, "TensorBoard", "Event files that TensorBoard reads.")
      .def(
          "__init__", [](TensorBoard* self, nb::handle folder) { new (self) TensorBoard(path_from(folder)); },
          arg("log_dir"));
}

}  // namespace oarlock::python
