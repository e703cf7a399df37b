// Image sets and transforms of images.
#include <oarlock/data/mnist.h>

#include "bind.h"
#include "data.h"

namespace oarlock::python {
namespace {
using nb::arg;
using namespace vision;

struct BlankTransform : Transform {
  Tensor apply(const Tensor&, data::Random&) const override {
    throw Error(Code::unsupported, "Transform: the class has no apply(image). Define it.");
  }
};
// A transform written in Python, or any function of an image.
class ObjectTransform : public Transform {
 public:
  explicit ObjectTransform(nb::object f) : f_(std::move(f)) {}
  Tensor apply(const Tensor& image, data::Random& random) const override {
    data::SampleScope scope(random);
    return carried([&] {
      nb::object out = f_.get()(image);
      return tensor_from(out.ptr(), DType::none, std::nullopt, Sharing::if_possible, "transform");
    });
  }

 private:
  Callback f_;
};

Split split_from(const std::string& mode, const char* where) {
  if (mode == "train") return Split::train;
  if (mode == "test") return Split::test;
  raise_value(std::string(where) + ": mode is '" + mode + "'. It is 'train' or 'test'.");
}
std::vector<double> reals_from(nb::handle o, const char* what) {
  if (is_number(o.ptr())) return {real_from(o.ptr(), "Normalize", what)};
  std::vector<double> out;
  for (nb::handle h : o) out.push_back(real_from(h.ptr(), "Normalize", what));
  return out;
}
std::pair<int64_t, int64_t> window_from(nb::handle size, nb::handle width, const char* where) {
  std::vector<int64_t> n;
  integers_from(size.ptr(), n, where, "size");
  if (!width.is_none()) integers_from(width.ptr(), n, where, "width");
  if (n.empty() || n.size() > 2)
    raise_value(std::string(where) + ": size has " + std::to_string(n.size()) +
                " numbers. Give one, or height and width.");
  return {n[0], n.back()};
}

void bind_transforms(nb::module_& m) {
  nb::class_<Transform, BlankTransform>(m, "Transform",
                                        "Makes an image of an image: derive from it and define apply(image). Random "
                                        "numbers come from oarlock.data.sample_random().")
      .def(nb::init<>())
      .def(
          "__call__",
          [](nb::handle self, const Tensor& image) -> nb::object {
            if (is_python(self, nb::type<Transform>(), "apply")) return self.attr("apply")(image);
            return nb::cast((*nb::inst_ptr<Transform>(self))(image));
          },
          arg("image"))
      .def(
          "apply", [](const Transform& t, const Tensor& image) { return t(image); }, arg("image"));
  nb::class_<Compose, Transform>(m, "Compose", "One transform after the other.")
      .def(
          "__init__",
          [](Compose* self, nb::handle transforms) {
            std::vector<TransformPtr> list;
            for (nb::handle h : transforms) list.push_back(transform_from(h, "Compose"));
            new (self) Compose(std::move(list));
          },
          arg("transforms"));
  nb::class_<RandomHorizontalFlip, Transform>(m, "RandomHorizontalFlip", "Mirrors left and right.")
      .def(nb::init<double>(), arg("prob") = 0.5);
  nb::class_<RandomVerticalFlip, Transform>(m, "RandomVerticalFlip", "Turns upside down.")
      .def(nb::init<double>(), arg("prob") = 0.5);
  nb::class_<RandomCrop, Transform>(m, "RandomCrop", "A window at a random place of the padded image.")
      .def(
          "__init__",
          [](RandomCrop* self, nb::handle size, int64_t padding, double fill) {
            auto [h, w] = window_from(size, nb::none(), "RandomCrop");
            new (self) RandomCrop(h, w, padding, fill);
          },
          arg("size"), arg("padding") = 0, arg("fill") = 0.0);
  nb::class_<CenterCrop, Transform>(m, "CenterCrop", "The middle of the image.")
      .def(
          "__init__",
          [](CenterCrop* self, nb::handle size) {
            auto [h, w] = window_from(size, nb::none(), "CenterCrop");
            new (self) CenterCrop(h, w);
          },
          arg("size"));
  nb::class_<ToFloat, Transform>(m, "ToFloat", "uint8 0..255 to float32 0..1.").def(nb::init<>());
  nb::class_<Normalize, Transform>(m, "Normalize", "(x - mean) / std, per channel.")
      .def(
          "__init__",
          [](Normalize* self, nb::handle mean, nb::handle deviation) {
            new (self) Normalize(reals_from(mean, "mean"), reals_from(deviation, "std"));
          },
          arg("mean"), arg("std"));
  nb::class_<RandomErasing, Transform>(m, "RandomErasing", "Sets a random rectangle to a value.")
      .def(nb::init<double, std::pair<double, double>, std::pair<double, double>, double>(), arg("prob") = 0.5,
           arg("scale") = std::pair(0.02, 0.33), arg("ratio") = std::pair(0.3, 3.3), arg("value") = 0.0);
}

}  // namespace

TransformPtr transform_from(nb::handle o, const char* where) {
  if (o.is_none()) return nullptr;
  if (nb::isinstance<Transform>(o) && !is_python(o, nb::type<Transform>(), "apply") && nb::inst_ready(o))
    return nb::cast<std::shared_ptr<Transform>>(o);
  if (nb::isinstance<Transform>(o)) return std::make_shared<ObjectTransform>(o.attr("apply"));
  if (!PyCallable_Check(o.ptr()))
    raise_type(std::string(where) + ": a " + Py_TYPE(o.ptr())->tp_name +
               " is no transform. Give a Transform or a function of an image.");
  return std::make_shared<ObjectTransform>(nb::borrow(o));
}

void bind_vision(nb::module_& m) {
  bind_transforms(m);
  nb::class_<MNIST, data::Dataset>(m, "MNIST", "Image sets in the form of MNIST: a pair of IDX files.")
      .def(
          "__init__",
          [](MNIST* self, nb::handle images, nb::handle labels, nb::handle transform) {
            std::string i = path_from(images), l = path_from(labels);
            TransformPtr t = transform_from(transform, "MNIST");
            nb::gil_scoped_release unlocked;
            new (self) MNIST(i, l, t);
          },
          arg("image_path"), arg("label_path"), arg("transform") = nb::none())
      .def_prop_ro("images", [](const MNIST& d) { return d.images(); })
      .def_prop_ro("labels", [](const MNIST& d) { return d.labels(); });
  nb::class_<FashionMNIST, MNIST>(m, "FashionMNIST", "60,000 and 10,000 images of 28 x 28, ten classes of clothes.")
      .def(
          "__init__",
          [](FashionMNIST* self, const std::string& mode, nb::handle transform, nb::handle folder) {
            Split split = split_from(mode, "FashionMNIST");
            std::string f = folder.is_none() ? std::string() : path_from(folder);
            TransformPtr t = transform_from(transform, "FashionMNIST");
            nb::gil_scoped_release unlocked;
            new (self) FashionMNIST(split, t, f);
          },
          arg("mode") = "train", arg("transform") = nb::none(), arg("folder") = nb::none())
      .def_static("class_name", &FashionMNIST::class_name, arg("label"), "The name of a class, 'T-shirt/top' for 0.");
}

}  // namespace oarlock::python
