// Samplers: those of the library, and objects that have the methods of one.
#include "bind.h"
#include "data.h"

namespace oarlock::python {
namespace {
using nb::arg;
using namespace data;

struct BlankSampler : Sampler {
  int64_t size() const override { throw Error(Code::unsupported, "Sampler: the class has no __len__. Define it."); }
  std::vector<int64_t> indices(int64_t) const override {
    throw Error(Code::unsupported, "Sampler: the class has neither indices nor __iter__. Define one.");
  }
};

void append(nb::handle list, std::vector<int64_t>& out, const char* where) {
  for (nb::handle h : list) out.push_back(integer_from(h.ptr(), where, "index"));
}
// The order of an epoch: by the method of that name, or by iterating after set_epoch.
nb::object order_of(nb::handle o, nb::handle bound, const char* method, int64_t epoch) {
  if (!bound.is_valid() ? nb::hasattr(o, method) : is_python(o, bound, method)) return o.attr(method)(epoch);
  if (nb::hasattr(o, "set_epoch")) o.attr("set_epoch")(epoch);
  return nb::borrow(o);
}

class ObjectSampler : public Sampler {
 public:
  explicit ObjectSampler(nb::handle o) : object_(nb::borrow(o)) {}
  int64_t size() const override {
    return carried([&] { return int64_t(nb::len(object_.get())); });
  }
  std::vector<int64_t> indices(int64_t epoch) const override {
    return carried([&] {
      std::vector<int64_t> out;
      bool ours = nb::isinstance<Sampler>(object_.get());
      append(order_of(object_.get(), ours ? nb::type<Sampler>() : nb::handle(), "indices", epoch), out, "Sampler");
      return out;
    });
  }

 private:
  Callback object_;
};
class ObjectBatchSampler : public BatchSampler {
 public:
  explicit ObjectBatchSampler(nb::handle o) : BatchSampler(1, false), object_(nb::borrow(o)) {}
  int64_t size() const override {
    return carried([&] { return int64_t(nb::len(object_.get())); });
  }
  Batches batches(int64_t epoch) const override {
    return carried([&] {
      Batches out;
      bool ours = nb::isinstance<BatchSampler>(object_.get());
      nb::object list = order_of(object_.get(), ours ? nb::type<BatchSampler>() : nb::handle(), "batches", epoch);
      for (nb::handle batch : list) {
        append(batch, out.indices, "BatchSampler");
        out.ends.push_back(int64_t(out.indices.size()));
      }
      return out;
    });
  }

 private:
  Callback object_;
};

// paddle and torch give the dataset where only its size counts.
int64_t size_from(nb::handle o, const char* where) {
  if (PyLong_Check(o.ptr()) || PyIndex_Check(o.ptr())) return integer_from(o.ptr(), where, "size");
  return int64_t(nb::len(o));
}
uint64_t seed_from(std::optional<uint64_t> seed) { return seed ? *seed : sample_random().wide(); }

}  // namespace

std::shared_ptr<Sampler> sampler_from(nb::handle o, const char* where) {
  if (nb::isinstance<Sampler>(o) && nb::inst_ready(o) && !is_python(o, nb::type<Sampler>(), "indices") &&
      !is_python(o, nb::type<Sampler>(), "__iter__"))
    return nb::cast<std::shared_ptr<Sampler>>(o);
  if (!nb::hasattr(o, "__len__") || !(nb::hasattr(o, "indices") || nb::hasattr(o, "__iter__")))
    raise_type(std::string(where) + ": a " + Py_TYPE(o.ptr())->tp_name +
               " is no sampler. Give an object with __len__ and with indices(epoch) or __iter__.");
  return std::make_shared<ObjectSampler>(o);
}
std::shared_ptr<BatchSampler> batch_sampler_from(nb::handle o, const char* where) {
  if (nb::isinstance<BatchSampler>(o) && nb::inst_ready(o) && !is_python(o, nb::type<BatchSampler>(), "batches") &&
      !is_python(o, nb::type<BatchSampler>(), "__iter__"))
    return nb::cast<std::shared_ptr<BatchSampler>>(o);
  if (!nb::hasattr(o, "__len__") || !(nb::hasattr(o, "batches") || nb::hasattr(o, "__iter__")))
    raise_type(std::string(where) + ": a " + Py_TYPE(o.ptr())->tp_name +
               " is no batch sampler. Give an object with __len__ and with batches(epoch) or __iter__.");
  return std::make_shared<ObjectBatchSampler>(o);
}

void bind_samplers(nb::module_& m) {
  nb::class_<Sampler, BlankSampler>(m, "Sampler",
                                    "In which order samples are asked for: derive from it, define __len__ and "
                                    "indices(epoch) or __iter__.")
      .def(nb::init<>())
      .def("__len__", &Sampler::size)
      .def("indices", &Sampler::indices, arg("epoch"), "The order of an epoch, a list.")
      .def("__iter__", [](const Sampler& s) { return nb::iter(nb::cast(s.indices(0))); })
      .def_prop_rw("seed", &Sampler::seed, &Sampler::set_seed);
  nb::class_<SequenceSampler, Sampler>(m, "SequenceSampler", "0, 1, 2, ...")
      .def(
          "__init__",
          [](SequenceSampler* self, nb::handle size) {
            new (self) SequenceSampler(size_from(size, "SequenceSampler"));
          },
          arg("size"));
  nb::class_<RandomSampler, Sampler>(m, "RandomSampler", "A new permutation every epoch, or independent draws.")
      .def(
          "__init__",
          [](RandomSampler* self, nb::handle size, std::optional<uint64_t> seed, bool replacement, int64_t count) {
            new (self) RandomSampler(size_from(size, "RandomSampler"), seed_from(seed), replacement, count);
          },
          arg("size"), arg("seed") = nb::none(), arg("replacement") = false, arg("num_samples") = -1);
  nb::class_<WeightedRandomSampler, Sampler>(m, "WeightedRandomSampler", "Index i with a probability like weights[i].")
      .def(
          "__init__",
          [](WeightedRandomSampler* self, std::vector<double> weights, int64_t count, bool replacement,
             std::optional<uint64_t> seed) {
            new (self) WeightedRandomSampler(std::move(weights), count, seed_from(seed), replacement);
          },
          arg("weights"), arg("num_samples"), arg("replacement") = true, arg("seed") = nb::none());

  nb::class_<BatchSampler>(
      m, "BatchSampler",
      "Groups the indices of a sampler. For batches of one's own derive from it and define __len__ "
      "and batches(epoch) or __iter__.")
      .def(
          "__init__",
          [](BatchSampler* self, nb::handle sampler, int64_t batch_size, bool drop_last) {
            new (self) BatchSampler(sampler_from(sampler, "BatchSampler"), batch_size, drop_last);
          },
          arg("sampler"), arg("batch_size") = 1, arg("drop_last") = false)
      .def("__len__", &BatchSampler::size)
      .def(
          "batches",
          [](const BatchSampler& s, int64_t epoch) {
            Batches b = s.batches(epoch);
            std::vector<std::vector<int64_t>> out;
            for (int64_t i = 0; i < b.count(); ++i) out.emplace_back(b[i].begin(), b[i].end());
            return out;
          },
          arg("epoch"), "The batches of an epoch, lists of indices.")
      .def("__iter__", [](nb::handle self) { return nb::iter(self.attr("batches")(0)); })
      .def_prop_rw("seed", &BatchSampler::seed, &BatchSampler::set_seed)
      .def_prop_ro("batch_size", &BatchSampler::batch_size)
      .def_prop_ro("drop_last", &BatchSampler::drop_last);
  nb::class_<DistributedBatchSampler, BatchSampler>(m, "DistributedBatchSampler",
                                                    "The share of one of several processes.")
      .def(
          "__init__",
          [](DistributedBatchSampler* self, nb::handle size, int64_t batch_size, int replicas, int rank, bool shuffle,
             bool drop_last, uint64_t seed) {
            new (self) DistributedBatchSampler(size_from(size, "DistributedBatchSampler"), batch_size, replicas, rank,
                                               shuffle, drop_last, seed);
          },
          arg("size"), arg("batch_size"), arg("num_replicas"), arg("rank"), arg("shuffle") = false,
          arg("drop_last") = false, arg("seed") = 0);
}

}  // namespace oarlock::python
