// Initialisers, and what layers take as weight_attr and bias_attr.
#include <oarlock/nn/initializer.h>
#include <oarlock/random.h>

#include "nn.h"

namespace oarlock::python {
namespace {
namespace init = nn::initializer;

// What every initialiser is in Python: an object called with (shape, dtype), or with a tensor to fill.
struct InitializerObject {
  nn::Initializer f;
  std::string text;
};

template <class I>
auto made(I i, std::string text) {
  return InitializerObject{std::move(i), std::move(text)};
}
std::string number(double v) {
  Ref text(PyObject_Repr(Ref(PyFloat_FromDouble(v)).get()));
  return PyUnicode_AsUTF8(text.get());
}

}  // namespace

nn::Initializer initializer_from(nb::handle o) {
  if (nb::isinstance<InitializerObject>(o)) return nb::inst_ptr<InitializerObject>(o)->f;
  if (const Tensor* t = tensor_of(o.ptr())) return init::Assign{*t};
  if (is_number(o.ptr())) return init::Constant{real_from(o.ptr(), "initializer", "value")};
  if (!PyCallable_Check(o.ptr()))
    raise_type(std::string("initializer: a ") + Py_TYPE(o.ptr())->tp_name +
               " is none. Give one of oarlock.nn.initializer, or f(shape, dtype).");
  auto f = std::make_shared<Callback>(nb::borrow(o));
  return [f](const Shape& shape, DType dtype, Generator&) {
    return called([&] { return nb::cast<Tensor>(f->get()(shape, dtype)); });
  };
}

nn::ParamAttr attr_from(nb::handle o) {
  nn::ParamAttr attr;
  if (!o.is_valid() || o.is_none() || o.ptr() == Py_True) return attr;
  if (o.ptr() == Py_False) {
    attr.present = false;
    return attr;
  }
  if (nb::hasattr(o, "trainable")) {
    attr.trainable = nb::cast<bool>(o.attr("trainable"));
    nb::object i = o.attr("initializer");
    if (!i.is_none()) attr.initializer = initializer_from(i);
    return attr;
  }
  attr.initializer = initializer_from(o);
  return attr;
}

void bind_initializers(nb::module_& m) {
  nb::class_<InitializerObject> c(m, "Initializer",
                                  "First values of a parameter. Called with (shape, dtype) it makes a tensor.");
  c.def(
      "__call__",
      [](const InitializerObject& i, nb::handle what, nb::handle dtype) {
        if (const Tensor* t = tensor_of(what.ptr())) {
          NoGrad off;
          assign(*t, i.f(t->shape(), t->dtype(), default_generator()).to(t->device()));
          return *t;
        }
        DType d = dtype.is_none() ? DType::f32 : dtype_from_object(dtype.ptr(), "initializer");
        return i.f(shape_from(what.ptr(), "initializer"), d, default_generator());
      },
      nb::arg("shape_or_tensor"), nb::arg("dtype") = nb::none());
  c.def("__repr__", [](const InitializerObject& i) { return i.text; });

  m.def(
      "Constant", [](double value) { return made(init::Constant{value}, "Constant(" + number(value) + ")"); },
      nb::arg("value") = 0.0);
  m.def(
      "Assign",
      [](nb::handle value) {
        return made(init::Assign{tensor_from(value.ptr(), DType::none, std::nullopt, Sharing::never, "Assign")},
                    "Assign(...)");
      },
      nb::arg("value"));
  m.def(
      "Uniform",
      [](double low, double high) {
        return made(init::Uniform{low, high}, "Uniform(" + number(low) + ", " + number(high) + ")");
      },
      nb::arg("low") = -1.0, nb::arg("high") = 1.0);
  m.def(
      "Normal",
      [](double mean, double std) {
        return made(init::Normal{mean, std}, "Normal(" + number(mean) + ", " + number(std) + ")");
      },
      nb::arg("mean") = 0.0, nb::arg("std") = 1.0);
  m.def(
      "TruncatedNormal",
      [](double mean, double std, double a, double b) {
        return made(init::TruncatedNormal{mean, std, a, b}, "TruncatedNormal(...)");
      },
      nb::arg("mean") = 0.0, nb::arg("std") = 1.0, nb::arg("a") = -2.0, nb::arg("b") = 2.0);
  m.def(
      "XavierUniform",
      [](double in, double out, double gain) {
        return made(init::XavierUniform{in, out, gain}, "XavierUniform()");
      },
      nb::arg("fan_in") = 0.0, nb::arg("fan_out") = 0.0, nb::arg("gain") = 1.0);
  m.def(
      "XavierNormal",
      [](double in, double out, double gain) {
        return made(init::XavierNormal{in, out, gain}, "XavierNormal()");
      },
      nb::arg("fan_in") = 0.0, nb::arg("fan_out") = 0.0, nb::arg("gain") = 1.0);
  // The name of the nonlinearity is held by the function: KaimingUniform itself only points to it.
  m.def(
      "KaimingUniform",
      [](double in, double slope, std::string f) {
        return made(
            [in, slope, f](const Shape& s, DType d, Generator& g) {
              return init::KaimingUniform{in, slope, f}(s, d, g);
            },
            "KaimingUniform()");
      },
      nb::arg("fan_in") = 0.0, nb::arg("negative_slope") = 0.0, nb::arg("nonlinearity") = "relu");
  m.def(
      "KaimingNormal",
      [](double in, double slope, std::string f) {
        return made(
            [in, slope, f](const Shape& s, DType d, Generator& g) {
              return init::KaimingNormal{in, slope, f}(s, d, g);
            },
            "KaimingNormal()");
      },
      nb::arg("fan_in") = 0.0, nb::arg("negative_slope") = 0.0, nb::arg("nonlinearity") = "relu");
  m.def(
      "Orthogonal", [](double gain) { return made(init::Orthogonal{gain}, "Orthogonal(" + number(gain) + ")"); },
      nb::arg("gain") = 1.0);
  m.def(
      "calculate_gain", [](const std::string& f, double param) { return init::calculate_gain(f, param); },
      nb::arg("nonlinearity"), nb::arg("param") = 0.01);
}

}  // namespace oarlock::python
