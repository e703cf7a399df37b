// Optimisers, gradient clipping, schedules.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>

#include <oarlock/optim/optimizer.h>

#include "bind.h"
#include "nn.h"

namespace oarlock::python {
namespace {
using nb::arg;
using namespace optim;

Rate rate_from(nb::handle o, const char* where) {
  if (nb::isinstance<lr::LRScheduler>(o)) return Rate(nb::cast<lr::SchedulerPtr>(o));
  return Rate(real_from(o.ptr(), where, "learning_rate"));
}
ClipPtr clip_from(nb::handle o, const char* where) {
  if (o.is_none()) return {};
  if (!nb::isinstance<GradientClip>(o))
    raise_type(std::string(where) + ": grad_clip is a " + Py_TYPE(o.ptr())->tp_name +
               ". Give one of oarlock.optim.ClipGradBy...");
  return nb::cast<std::shared_ptr<GradientClip>>(o);
}

std::vector<Tensor> tensors_from(nb::handle o, const char* where) {
  if (is_tensor(o.ptr())) raise_type(std::string(where) + ": parameters is a tensor. Give a list of tensors.");
  std::vector<Tensor> out;
  for (nb::handle h : o) {
    // Pairs as named_parameters gives them are taken as well.
    nb::object item = nb::borrow(h);
    if (nb::isinstance<nb::tuple>(h) && nb::len(h) == 2 && nb::isinstance<nb::str>(nb::object(h[0]))) item = h[1];
    const Tensor* t = tensor_of(item.ptr());
    if (!t) raise_type(std::string(where) + ": a parameter is a " + Py_TYPE(item.ptr())->tp_name + ". Give tensors.");
    out.push_back(*t);
  }
  return out;
}
Group group_from(nb::dict d, double base, const char* where) {
  Group g;
  for (auto [key, value] : d) {
    std::string k = nb::cast<std::string>(key);
    if (k == "params" || k == "parameters") g.parameters = tensors_from(value, where);
    else if (k == "learning_rate") g.learning_rate_scale = real_from(value.ptr(), where, "learning_rate");
    else if (k == "lr")
      g.learning_rate_scale = real_from(value.ptr(), where, "lr") / base;  // torch's is the rate itself
    else if (k == "weight_decay") g.weight_decay = real_from(value.ptr(), where, "weight_decay");
    else
      raise_type(std::string(where) + ": a group has no setting '" + k +
                 "'. There are params, learning_rate (a factor), lr and weight_decay.");
  }
  return g;
}

// The arguments that all optimisers share. paddle gives the rate first, torch the parameters.
struct Given {
  Rate rate = 0.0;
  std::vector<Group> groups;
  ClipPtr clip;
};
Given given(const char* where, nb::handle first, nb::handle rate, nb::handle parameters, nb::handle lr, nb::handle clip,
            double otherwise) {
  Given g;
  if (!first.is_none() && (is_number(first.ptr()) || nb::isinstance<lr::LRScheduler>(first))) std::swap(first, rate);
  if (parameters.is_none()) parameters = first;
  if (!lr.is_none()) rate = lr;
  g.rate = rate.is_none() ? Rate(otherwise) : rate_from(rate, where);
  if (parameters.is_none()) raise_type(std::string(where) + ": parameters are missing. Give layer.parameters().");
  if (is_tensor(parameters.ptr())) raise_type(std::string(where) + ": parameters is a tensor. Give a list of tensors.");
  nb::object list = nb::isinstance<nn::Layer>(parameters) ? nb::object(parameters.attr("parameters")())
                                                          : nb::object(nb::list(parameters));
  if (nb::len(list) && nb::isinstance<nb::dict>(nb::object(list[0])))
    for (nb::handle d : list) g.groups.push_back(group_from(nb::cast<nb::dict>(d), g.rate.value(), where));
  else g.groups.push_back({tensors_from(list, where)});
  g.clip = clip_from(clip, where);
  return g;
}
std::pair<double, double> betas_from(nb::handle betas, double beta1, double beta2) {
  return betas.is_none() ? std::pair(beta1, beta2) : nb::cast<std::pair<double, double>>(betas);
}

template <class A>
void bind_adam(nb::module_& m, const char* name, const char* doc, double decay) {
  nb::class_<A, Optimizer>(m, name, doc)
      .def(
          "__init__",
          [name](A* self, nb::handle first, nb::handle rate, nb::handle parameters, double beta1, double beta2,
                 double epsilon, double weight_decay, bool amsgrad, nb::handle clip, bool multi_precision,
                 nb::handle lr, nb::handle betas, std::optional<double> eps) {
            Given g = given(name, first, rate, parameters, lr, clip, 1e-3);
            auto [b1, b2] = betas_from(betas, beta1, beta2);
            new (self) A(std::move(g.groups), AdamOptions{g.rate, b1, b2, eps.value_or(epsilon), weight_decay, amsgrad,
                                                          g.clip, multi_precision});
          },
          arg("params") = nb::none(), arg("learning_rate") = nb::none(), nb::kw_only(), arg("parameters") = nb::none(),
          arg("beta1") = 0.9, arg("beta2") = 0.999, arg("epsilon") = 1e-8, arg("weight_decay") = decay,
          arg("amsgrad") = false, arg("grad_clip") = nb::none(), arg("multi_precision") = true, arg("lr") = nb::none(),
          arg("betas") = nb::none(), arg("eps") = nb::none());
}

void bind_schedules(nb::module_& m) {
  using namespace lr;
  nb::class_<LRScheduler>(m, "LRScheduler", "A learning rate that changes with step().")
      .def("get_lr", &LRScheduler::get_lr)
      .def("__call__", &LRScheduler::get_lr)
      .def(
          "step", [](LRScheduler& s, std::optional<int64_t> epoch) { epoch ? s.step_to(*epoch) : s.step(); },
          arg("epoch") = nb::none())
      .def_prop_ro("last_epoch", &LRScheduler::last_epoch)
      .def_prop_ro("base_lr", &LRScheduler::base_lr)
      .def("state_dict", [](const LRScheduler& s) { return dict_of(s.state_dict()); })
      .def(
          "set_state_dict",
          [](LRScheduler& s, nb::handle state) { s.set_state_dict(named_tensors_from(state, "set_state_dict")); },
          arg("state"));
  nb::class_<CosineAnnealingDecay, LRScheduler>(m, "CosineAnnealingDecay")
      .def(nb::init<double, int64_t, double>(), arg("learning_rate"), arg("T_max"), arg("eta_min") = 0.0);
  nb::class_<CosineAnnealingWarmRestarts, LRScheduler>(m, "CosineAnnealingWarmRestarts")
      .def(nb::init<double, int64_t, int64_t, double>(), arg("learning_rate"), arg("T_0"), arg("T_mult") = 1,
           arg("eta_min") = 0.0);
  nb::class_<StepDecay, LRScheduler>(m, "StepDecay")
      .def(nb::init<double, int64_t, double>(), arg("learning_rate"), arg("step_size"), arg("gamma") = 0.1);
  nb::class_<MultiStepDecay, LRScheduler>(m, "MultiStepDecay")
      .def(nb::init<double, std::vector<int64_t>, double>(), arg("learning_rate"), arg("milestones"),
           arg("gamma") = 0.1);
  nb::class_<PiecewiseDecay, LRScheduler>(m, "PiecewiseDecay")
      .def(nb::init<std::vector<int64_t>, std::vector<double>>(), arg("boundaries"), arg("values"));
  nb::class_<ExponentialDecay, LRScheduler>(m, "ExponentialDecay")
      .def(nb::init<double, double>(), arg("learning_rate"), arg("gamma"));
  nb::class_<NaturalExpDecay, LRScheduler>(m, "NaturalExpDecay")
      .def(nb::init<double, double>(), arg("learning_rate"), arg("gamma"));
  nb::class_<InverseTimeDecay, LRScheduler>(m, "InverseTimeDecay")
      .def(nb::init<double, double>(), arg("learning_rate"), arg("gamma"));
  nb::class_<PolynomialDecay, LRScheduler>(m, "PolynomialDecay")
      .def(nb::init<double, int64_t, double, double, bool>(), arg("learning_rate"), arg("decay_steps"),
           arg("end_lr") = 0.0001, arg("power") = 1.0, arg("cycle") = false);
  nb::class_<NoamDecay, LRScheduler>(m, "NoamDecay")
      .def(nb::init<double, int64_t, double>(), arg("d_model"), arg("warmup_steps"), arg("learning_rate") = 1.0);
  nb::class_<LambdaDecay, LRScheduler>(m, "LambdaDecay")
      .def(
          "__init__",
          [](LambdaDecay* self, double rate, nb::object f) {
            auto held = std::make_shared<Callback>(std::move(f));
            new (self) LambdaDecay(
                rate, [held](int64_t epoch) { return called([&] { return nb::cast<double>(held->get()(epoch)); }); });
          },
          arg("learning_rate"), arg("lr_lambda"));
  nb::class_<LinearWarmup, LRScheduler>(m, "LinearWarmup")
      .def(
          "__init__",
          [](LinearWarmup* self, nb::handle after, int64_t steps, double start, double end) {
            if (nb::isinstance<LRScheduler>(after))
              new (self) LinearWarmup(nb::cast<SchedulerPtr>(after), steps, start, end);
            else new (self) LinearWarmup(real_from(after.ptr(), "LinearWarmup", "learning_rate"), steps, start, end);
          },
          arg("learning_rate"), arg("warmup_steps"), arg("start_lr"), arg("end_lr"));
  nb::class_<OneCycleLR, LRScheduler>(m, "OneCycleLR")
      .def(nb::init<double, int64_t, double, double, double, const std::string&, bool>(), arg("max_learning_rate"),
           arg("total_steps"), arg("divide_factor") = 25.0, arg("end_learning_rate") = 0.0001, arg("phase_pct") = 0.3,
           arg("anneal_strategy") = "cos", arg("three_phase") = false);
  nb::class_<ReduceOnPlateau, LRScheduler>(m, "ReduceOnPlateau")
      .def(nb::init<double, const std::string&, double, int64_t, double, const std::string&, int64_t, double, double>(),
           arg("learning_rate"), arg("mode") = "min", arg("factor") = 0.1, arg("patience") = 10,
           arg("threshold") = 1e-4, arg("threshold_mode") = "rel", arg("cooldown") = 0, arg("min_lr") = 0.0,
           arg("epsilon") = 1e-8)
      .def(
          "step",
          [](ReduceOnPlateau& s, nb::handle metric) { s.step(nb::cast<double>(nb::float_(nb::borrow(metric)))); },
          arg("metrics"));
}

}  // namespace

void bind_optim(nb::module_& m) {
  nb::module_ rates = m.def_submodule("lr", "Learning rates that change from step to step.");
  bind_schedules(rates);
  nb::class_<GradientClip>(m, "GradientClip", "Keeps gradients small before a step.");
  nb::class_<ClipGradByValue, GradientClip>(m, "ClipGradByValue")
      .def(
          "__init__",
          [](ClipGradByValue* self, double max, std::optional<double> min) {
            new (self) ClipGradByValue(min.value_or(-max), max);
          },
          arg("max"), arg("min") = nb::none());
  nb::class_<ClipGradByNorm, GradientClip>(m, "ClipGradByNorm").def(nb::init<double>(), arg("clip_norm"));
  nb::class_<ClipGradByGlobalNorm, GradientClip>(m, "ClipGradByGlobalNorm").def(nb::init<double>(), arg("clip_norm"));
  m.def(
      "clip_grad_norm_",
      [](nb::handle parameters, double max) {
        return clip_grad_norm(tensors_from(parameters, "clip_grad_norm_"), max);
      },
      arg("parameters"), arg("max_norm"),
      "Scales gradients in place to a common norm of at most max_norm; gives the norm before.");
  m.def(
      "clip_grad_value_",
      [](nb::handle parameters, double max) { clip_grad_value(tensors_from(parameters, "clip_grad_value_"), max); },
      arg("parameters"), arg("clip_value"));

  nb::class_<Optimizer>(m, "Optimizer", "Changes parameters by their gradients.")
      .def(
          "step",
          [](Optimizer& o) {
            nb::gil_scoped_release unlocked;
            o.step();
          },
          "One update of all parameters that have a gradient.")
      .def(
          "clear_grad", [](Optimizer& o, bool) { o.clear_grad(); }, arg("set_to_none") = true,
          "Forgets the gradients of all parameters.")
      .def(
          "zero_grad", [](Optimizer& o, bool) { o.clear_grad(); }, arg("set_to_none") = true)
      .def("get_lr", &Optimizer::get_lr)
      .def("set_lr", &Optimizer::set_lr, arg("value"))
      .def("set_lr_scheduler", &Optimizer::set_lr_scheduler, arg("scheduler"))
      .def_prop_ro("lr_scheduler", &Optimizer::lr_scheduler)
      .def("parameters", &Optimizer::parameters)
      .def(
          "add_param_group",
          [](Optimizer& o, nb::dict group) { o.add_group(group_from(group, o.get_lr(), "add_param_group")); },
          arg("group"))
      .def("state_dict", [](const Optimizer& o) { return dict_of(o.state_dict()); })
      .def(
          "set_state_dict",
          [](Optimizer& o, nb::handle state) { o.set_state_dict(named_tensors_from(state, "set_state_dict")); },
          arg("state"))
      .def(
          "load_state_dict",
          [](Optimizer& o, nb::handle state) { o.set_state_dict(named_tensors_from(state, "load_state_dict")); },
          arg("state"));
  nb::class_<SGD, Optimizer>(m, "SGD",
                             "SGD(parameters, learning_rate=1e-3, momentum=0, ...)\n\nGradient descent, with momentum "
                             "and Nesterov's if asked.")
      .def(
          "__init__",
          [](SGD* self, nb::handle first, nb::handle rate, double momentum, nb::handle parameters, double dampening,
             double weight_decay, bool nesterov, nb::handle clip, bool multi_precision, nb::handle lr) {
            Given g = given("SGD", first, rate, parameters, lr, clip, 1e-3);
            new (self) SGD(std::move(g.groups),
                           SGDOptions{g.rate, momentum, dampening, weight_decay, nesterov, g.clip, multi_precision});
          },
          arg("params") = nb::none(), arg("learning_rate") = nb::none(), arg("momentum") = 0.0, nb::kw_only(),
          arg("parameters") = nb::none(), arg("dampening") = 0.0, arg("weight_decay") = 0.0, arg("nesterov") = false,
          arg("grad_clip") = nb::none(), arg("multi_precision") = true, arg("lr") = nb::none());
  bind_adam<Adam>(m, "Adam", "Adam(parameters, learning_rate=1e-3, ...)\n\nKingma and Ba 2015.", 0);
  bind_adam<AdamW>(
      m, "AdamW",
      "AdamW(parameters, learning_rate=1e-3, ...)\n\nAdam with decoupled weight decay: Loshchilov and Hutter 2019.",
      0.01);
  nb::class_<RMSProp, Optimizer>(m, "RMSProp", "RMSProp(parameters, learning_rate=1e-2, ...)\n\nHinton 2012.")
      .def(
          "__init__",
          [](RMSProp* self, nb::handle first, nb::handle rate, nb::handle parameters, double rho, double epsilon,
             double momentum, double weight_decay, bool centered, nb::handle clip, bool multi_precision,
             nb::handle lr) {
            Given g = given("RMSProp", first, rate, parameters, lr, clip, 1e-2);
            new (self) RMSProp(std::move(g.groups), RMSPropOptions{g.rate, rho, epsilon, momentum, weight_decay,
                                                                   centered, g.clip, multi_precision});
          },
          arg("params") = nb::none(), arg("learning_rate") = nb::none(), nb::kw_only(), arg("parameters") = nb::none(),
          arg("rho") = 0.99, arg("epsilon") = 1e-8, arg("momentum") = 0.0, arg("weight_decay") = 0.0,
          arg("centered") = false, arg("grad_clip") = nb::none(), arg("multi_precision") = true,
          arg("lr") = nb::none());
  nb::class_<Adagrad, Optimizer>(m, "Adagrad", "Adagrad(parameters, learning_rate=1e-2, ...)\n\nDuchi et al. 2011.")
      .def(
          "__init__",
          [](Adagrad* self, nb::handle first, nb::handle rate, nb::handle parameters, double lr_decay, double epsilon,
             double accumulator, double weight_decay, nb::handle clip, bool multi_precision, nb::handle lr) {
            Given g = given("Adagrad", first, rate, parameters, lr, clip, 1e-2);
            new (self) Adagrad(std::move(g.groups), AdagradOptions{g.rate, lr_decay, epsilon, accumulator, weight_decay,
                                                                   g.clip, multi_precision});
          },
          arg("params") = nb::none(), arg("learning_rate") = nb::none(), nb::kw_only(), arg("parameters") = nb::none(),
          arg("lr_decay") = 0.0, arg("epsilon") = 1e-10, arg("initial_accumulator_value") = 0.0,
          arg("weight_decay") = 0.0, arg("grad_clip") = nb::none(), arg("multi_precision") = true,
          arg("lr") = nb::none());
}

}  // namespace oarlock::python
