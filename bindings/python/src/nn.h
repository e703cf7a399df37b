// Layers in Python: built-in ones, classes derived from them, and classes of one's own, mixed as one likes.
//
// A class derived in Python lives in C++ as Trampoline<Base>, whose forward is the Python method. Arguments that are no
// tensors, and results that are more than tensors, travel beside the call: the library sees the tensors, the Python code the
// whole.
#pragma once
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <oarlock/named_tensors.h>
#include <oarlock/nn/initializer.h>
#include <oarlock/nn/layer.h>
#include <oarlock/nn/sizes.h>

#include "callback.h"
#include "caster.h"

namespace oarlock::python {
namespace nb = nanobind;

// The layer whose own C++ forward is being called by name (super().forward(x)), past its Python one.
inline thread_local const nn::Layer* direct_layer = nullptr;
struct Direct {
  explicit Direct(const nn::Layer* layer) : before_(std::exchange(direct_layer, layer)) {}
  ~Direct() { direct_layer = before_; }

 private:
  const nn::Layer* before_;
};
// True once for the layer that Direct names.
inline bool is_direct(const nn::Layer* layer) {
  if (direct_layer != layer) return false;
  direct_layer = nullptr;
  return true;
}

// Does the class of this object define forward in Python?
bool has_python_forward(nb::handle self, nb::handle base);
// Calls self.forward with the inputs, or with the arguments that the call stands for.
std::vector<Tensor> call_python_forward(const nn::Layer* layer, std::span<const Tensor> inputs);

template <class L>
class Trampoline : public L {
 public:
  using L::L;
  Tensor forward(const Tensor& x) override {
    if (is_direct(this) || !mine()) return L::forward(x);
    std::vector<Tensor> out = call_python_forward(this, {&x, 1});
    if (out.empty()) return {};
    return std::move(out[0]);
  }
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) override {
    if (is_direct(this) || !mine()) return L::forward_all(inputs);
    return call_python_forward(this, inputs);
  }
  std::string type_name() const override {
    nb::gil_scoped_acquire lock;
    nb::handle self = nb::find(static_cast<const L*>(this));
    return self.is_valid() ? nb::cast<std::string>(self.type().attr("__name__")) : L::type_name();
  }
  std::string extra_repr() const override {
    nb::gil_scoped_acquire lock;
    nb::handle self = nb::find(static_cast<const L*>(this));
    nb::object f = self.is_valid() ? nb::getattr(self.type(), "extra_repr", nb::none()) : nb::none();
    if (f.is_none() || Py_TYPE(f.ptr()) != &PyFunction_Type) return L::extra_repr();
    return called([&] { return nb::cast<std::string>(f(self)); });
  }

 private:
  bool mine() {
    if (python_ < 0) {
      nb::gil_scoped_acquire lock;
      nb::handle self = nb::find(static_cast<L*>(this));
      python_ = self.is_valid() && has_python_forward(self, nb::type<L>());
    }
    return python_ > 0;
  }
  int python_ = -1;
};

// Makes L where the Python class is L itself, its trampoline where it is derived.
template <class L, class... A>
void make_layer(nb::pointer_and_handle<L> self, A&&... arguments) {
  if (self.h.type().is(nb::type<L>())) new (static_cast<void*>(self.p)) L(std::forward<A>(arguments)...);
  else new (static_cast<void*>(self.p)) Trampoline<L>(std::forward<A>(arguments)...);
}

const char* name_of(const nn::Layer& layer);
// A tensor, or a tuple of several.
nb::object result_of(std::vector<Tensor> out);

template <class L, class Base = nn::Layer>
using LayerClass = nb::class_<L, Base, Trampoline<L>>;
// The class with forward, callable past the Python override.
template <class L, class Base = nn::Layer>
LayerClass<L, Base> layer_class(nb::module_& m, const char* name, const char* doc) {
  LayerClass<L, Base> c(m, name, doc);
  c.def(
      "forward",
      [](L& self, nb::args inputs) {
        std::vector<Tensor> list;
        for (nb::handle h : inputs)
          list.push_back(h.is_none()
                             ? Tensor()
                             : tensor_from(h.ptr(), DType::none, std::nullopt, Sharing::if_possible, name_of(self)));
        std::vector<Tensor> out;
        {
          Direct direct(&self);
          if (list.size() == 1) out.push_back(self.L::forward(list[0]));
          else out = self.L::forward_all(list);
        }
        return result_of(std::move(out));
      },
      "What the layer computes. Call the layer itself, so that hooks run.");
  return c;
}
// weight_attr and bias_attr: None (the layer's choice), False (none), True, an initialiser, or an object with the attributes
// initializer and trainable.
nn::ParamAttr attr_from(nb::handle o);
nn::Initializer initializer_from(nb::handle o);
nn::Sizes sizes_from(nb::handle o, const char* where, const char* what);
nn::Padding padding_from(nb::handle o, const char* where);

nb::dict dict_of(const NamedTensors& tensors);
NamedTensors named_tensors_from(nb::handle o, const char* where);

}  // namespace oarlock::python
