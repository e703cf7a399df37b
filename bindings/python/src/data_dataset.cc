// Datasets: those of the library, and objects that have the methods of one.
#include "bind.h"
#include "data.h"

namespace oarlock::python {
namespace {
using nb::arg;
using namespace data;

// What derives from Dataset in Python and calls super().__init__() holds one of these; its own methods are what counts.
struct BlankDataset : Dataset {
  int64_t size() const override { raise_missing("__len__"); }
  Sample get(int64_t) const override { raise_missing("__getitem__"); }
  [[noreturn]] static void raise_missing(const char* name) {
    throw Error(Code::unsupported, std::string("Dataset: the class has no ") + name + ". Define it.");
  }
};
struct BlankStream : IterableDataset {
  std::unique_ptr<SampleStream> open(int64_t) const override {
    throw Error(Code::unsupported, "IterableDataset: the class has no __iter__. Define it.");
  }
};

class ObjectDataset : public Dataset {
 public:
  explicit ObjectDataset(nb::handle o)
      : object_(nb::borrow(o)), batches_(nb::hasattr(o, "get_batch")), processes_(nb::hasattr(o, "_get_batch")) {}
  int64_t size() const override {
    return carried([&] { return int64_t(nb::len(object_.get())); });
  }
  Sample get(int64_t index) const override {
    return carried([&] {
      nb::object o = object_.get()[index];
      return fields_from(o, "Dataset.__getitem__");
    });
  }
  std::optional<Batch> get_batch(std::span<const int64_t> indices, std::span<Random> random) const override {
    if (!batches_ && !processes_) return std::nullopt;
    return carried([&]() -> std::optional<Batch> {
      nb::list numbers;
      for (int64_t i : indices) numbers.append(i);
      if (!processes_) {
        std::optional<SampleScope> scope;
        if (!random.empty()) scope.emplace(random[0]);
        return fields_from(object_.get().attr("get_batch")(numbers), "Dataset.get_batch");
      }
      nb::bytes streams(reinterpret_cast<const char*>(random.data()), random.size_bytes());
      return fields_from(object_.get().attr("_get_batch")(numbers, streams), "DataLoader");
    });
  }

 private:
  Callback object_;
  bool batches_, processes_;
};

class ObjectStream : public SampleStream {
 public:
  explicit ObjectStream(nb::object iterator) : iterator_(std::move(iterator)) {}
  std::optional<Sample> next() override {
    return carried([&]() -> std::optional<Sample> {
      nb::object o = nb::steal(PyIter_Next(iterator_.get().ptr()));
      if (!o.is_valid()) {
        if (PyErr_Occurred()) throw Raised();
        return std::nullopt;
      }
      return fields_from(o, "IterableDataset");
    });
  }

 private:
  Callback iterator_;
};
class ObjectIterable : public IterableDataset {
 public:
  explicit ObjectIterable(nb::handle o) : object_(nb::borrow(o)) {}
  std::unique_ptr<SampleStream> open(int64_t epoch) const override {
    return carried([&] {
      if (nb::hasattr(object_.get(), "set_epoch")) object_.get().attr("set_epoch")(epoch);
      return std::make_unique<ObjectStream>(nb::steal(checked(PyObject_GetIter(object_.get().ptr())).give()));
    });
  }
  int64_t size() const override {
    return carried([&] { return nb::hasattr(object_.get(), "__len__") ? int64_t(nb::len(object_.get())) : -1; });
  }

 private:
  Callback object_;
};

std::vector<int64_t> numbers_from(nb::handle o, const char* where) {
  std::vector<int64_t> out;
  for (nb::handle h : o) out.push_back(integer_from(h.ptr(), where, "index"));
  return out;
}
std::vector<std::shared_ptr<const Dataset>> parts_from(nb::handle o) {
  std::vector<std::shared_ptr<const Dataset>> parts;
  for (nb::handle h : o) parts.push_back(dataset_from(h, "ConcatDataset"));
  return parts;
}
nb::object split(nb::handle dataset, nb::handle lengths, std::optional<uint64_t> seed) {
  bool fractions = false;
  for (nb::handle h : lengths) fractions |= PyFloat_Check(h.ptr());
  uint64_t s = seed ? *seed : uint64_t(sample_random().wide());
  auto d = dataset_from(dataset, "random_split");
  auto parts = fractions ? random_split(d, nb::cast<std::vector<double>>(lengths), s)
                         : random_split(d, numbers_from(lengths, "random_split"), s);
  nb::list out;
  for (auto& part : parts) out.append(nb::cast(part));
  return nb::object(out);
}

}  // namespace

std::string path_from(nb::handle o) {
  Ref path = checked(PyOS_FSPath(o.ptr()));
  Ref bytes;
  if (PyUnicode_Check(path.get())) bytes = checked(PyUnicode_EncodeFSDefault(path.get()));
  else bytes = std::move(path);
  return {PyBytes_AS_STRING(bytes.get()), size_t(PyBytes_GET_SIZE(bytes.get()))};
}

std::vector<Tensor> fields_from(nb::handle o, const char* where) {
  std::vector<Tensor> out;
  auto add = [&](nb::handle h) {
    if (PyDict_Check(h.ptr()) || PyUnicode_Check(h.ptr()) || h.is_none())
      raise_type(std::string(where) + ": field " + std::to_string(out.size()) + " is a " + Py_TYPE(h.ptr())->tp_name +
                 ". Give a tensor, an array or a number, or a tuple of those.");
    out.push_back(tensor_from(h.ptr(), DType::none, std::nullopt, Sharing::if_possible, where));
  };
  if (PyTuple_Check(o.ptr()) || PyList_Check(o.ptr()))
    for (nb::handle h : o) add(h);
  else add(o);
  return out;
}
nb::list list_of(const std::vector<Tensor>& tensors) {
  nb::list out;
  for (const Tensor& t : tensors) out.append(nb::cast(t));
  return out;
}

std::shared_ptr<const Dataset> dataset_from(nb::handle o, const char* where) {
  if (nb::isinstance<Dataset>(o) && nb::inst_ready(o) && !is_python(o, nb::type<Dataset>(), "__getitem__") &&
      !is_python(o, nb::type<Dataset>(), "__len__"))
    return nb::cast<std::shared_ptr<Dataset>>(o);
  if (!nb::hasattr(o, "__getitem__") || !nb::hasattr(o, "__len__"))
    raise_type(std::string(where) + ": a " + Py_TYPE(o.ptr())->tp_name +
               " is no dataset. Give an object with __getitem__ and __len__.");
  return std::make_shared<ObjectDataset>(o);
}
bool is_stream(nb::handle o) {
  return nb::isinstance<IterableDataset>(o) || (!nb::hasattr(o, "__getitem__") && nb::hasattr(o, "__iter__"));
}
std::shared_ptr<const IterableDataset> stream_from(nb::handle o) { return std::make_shared<ObjectIterable>(o); }

void bind_datasets(nb::module_& m) {
  // dynamic_attr with is_weak_referenceable: without it classes derived in Python keep their dict where nanobind 2.9 does not
  // look for it, and the garbage collector reads past the object (Python 3.11).
  nb::class_<Dataset, BlankDataset>(m, "Dataset", nb::dynamic_attr(), nb::is_weak_referenceable(),
                                    "Samples by number: derive from it and define __getitem__ and __len__.")
      .def(nb::init<>())
      .def("__len__", [](const Dataset& d) { return d.size(); })
      .def("__getitem__", [](const Dataset& d, int64_t i) {
        int64_t n = d.size();
        if (i < -n || i >= n)
          raise_index("dataset: sample " + std::to_string(i) + " is out of bounds, there are " + std::to_string(n) +
                      ".");
        Sample s;
        {
          nb::gil_scoped_release unlocked;
          s = d.get(i < 0 ? i + n : i);
        }
        return nb::tuple(list_of(s));
      });
  nb::class_<IterableDataset, BlankStream>(m, "IterableDataset", nb::dynamic_attr(), nb::is_weak_referenceable(),
                                           "Samples in a row: derive from it and define __iter__.")
      .def(nb::init<>());
  nb::class_<TensorDataset, Dataset>(m, "TensorDataset", "Rows of tensors: sample i is row i of each.")
      .def("__init__",
           [](TensorDataset* self, nb::args given) {
             bool listed = given.size() == 1 && (PyList_Check(given[0].ptr()) || PyTuple_Check(given[0].ptr()));
             new (self) TensorDataset(fields_from(listed ? nb::object(given[0]) : nb::object(given), "TensorDataset"));
           })
      .def_prop_ro("tensors", [](const TensorDataset& d) { return list_of(d.tensors()); });
  nb::class_<Subset, Dataset>(m, "Subset", "Some samples of another dataset, in the order given.")
      .def(
          "__init__",
          [](Subset* self, nb::handle dataset, nb::handle indices) {
            new (self) Subset(dataset_from(dataset, "Subset"), numbers_from(indices, "Subset"));
          },
          arg("dataset"), arg("indices"))
      .def_prop_ro("indices", &Subset::indices);
  nb::class_<ConcatDataset, Dataset>(m, "ConcatDataset", "Datasets one after the other.")
      .def(
          "__init__", [](ConcatDataset* self, nb::handle datasets) { new (self) ConcatDataset(parts_from(datasets)); },
          arg("datasets"));
  nb::class_<TransformedDataset, Dataset>(m, "TransformedDataset",
                                          "Another dataset with a transform on one field of each sample.")
      .def(
          "__init__",
          [](TransformedDataset* self, nb::handle dataset, nb::handle transform, int field) {
            new (self) TransformedDataset(dataset_from(dataset, "TransformedDataset"),
                                          transform_from(transform, "TransformedDataset"), field);
          },
          arg("dataset"), arg("transform"), arg("field") = 0);
  m.def("random_split", &split, arg("dataset"), arg("lengths"), arg("seed") = nb::none(),
        "Splits a dataset at random into parts of these sizes, or of these shares of it.");
  m.def(
      "default_collate",
      [](nb::handle samples) {
        std::vector<Sample> list;
        for (nb::handle h : samples) list.push_back(fields_from(h, "default_collate"));
        return list_of(default_collate(list));
      },
      arg("samples"), "Samples stacked field by field along a new first axis.");

  // Numbers of the sample that this thread is making.
  m.def("uniform", [] { return sample_random().uniform(); });
  m.def("below", [](int64_t n) { return sample_random().below(n); });
  m.def("wide", [] { return sample_random().wide(); });
  // For worker processes: the stream as bytes, and calls with a stream that came so.
  static_assert(std::is_trivially_copyable_v<Random>);
  m.def("stream_bytes", [] { return sizeof(Random); });
  m.def("with_stream", [](nb::bytes stream, nb::handle f) {
    Random r(0, 0, 0);
    if (stream.size() != sizeof r) raise_value("with_stream: that is no stream.");
    std::memcpy(static_cast<void*>(&r), stream.c_str(), sizeof r);
    SampleScope scope(r);
    return nb::object(f());
  });
}

}  // namespace oarlock::python
