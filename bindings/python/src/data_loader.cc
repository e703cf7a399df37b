// The loader.
#include "bind.h"
#include "data.h"

namespace oarlock::python {
namespace {
using nb::arg;
using namespace data;

// One loop over the rest of an epoch; at its end it stays ended.
struct LoaderLoop {
  nb::object loader;
  bool ended = false;
};

Collate collate_from(nb::handle o) {
  if (o.is_none()) return {};
  if (!PyCallable_Check(o.ptr()))
    raise_type(std::string("DataLoader: collate_fn is a ") + Py_TYPE(o.ptr())->tp_name + ". Give a function.");
  auto f = std::make_shared<Callback>(nb::borrow(o));
  return [f](const std::vector<Sample>& samples) {
    return carried([&] {
      nb::list given;
      for (const Sample& s : samples) given.append(nb::tuple(list_of(s)));
      return fields_from(f->get()(given), "collate_fn");
    });
  };
}

nb::object next_of(LoaderObject& l) {
  std::optional<Batch> batch;
  {
    LoaderObject::Use use(l);
    nb::gil_scoped_release unlocked;
    batch = l.get().next();
  }
  if (!batch) return nb::none();
  return list_of(*batch);
}
nb::dict state_of(const LoaderState& s) {
  nb::dict out;
  out["seed"] = s.seed;
  out["sampler_seed"] = s.sampler_seed;
  out["epoch"] = s.epoch;
  out["position"] = s.position;
  return out;
}

}  // namespace

void bind_loader(nb::module_& m) {
  nb::class_<LoaderObject>(m, "Loader", nb::dynamic_attr(), nb::is_weak_referenceable())
      .def(
          "__init__",
          [](LoaderObject* self, nb::handle dataset, int64_t batch_size, bool shuffle, bool drop_last, int num_workers,
             int prefetch, nb::handle collate, std::optional<uint64_t> seed, nb::handle device, nb::handle batches) {
            LoaderOptions o;
            o.batch_size = batch_size;
            o.shuffle = shuffle;
            o.drop_last = drop_last;
            o.num_workers = num_workers;
            o.prefetch = prefetch;
            o.collate = collate_from(collate);
            o.seed = seed;
            if (!device.is_none()) o.device = device_from_object(device.ptr(), "DataLoader");
            if (!batches.is_none()) o.batch_sampler = batch_sampler_from(batches, "DataLoader");
            if (is_stream(dataset)) new (self) LoaderObject(stream_from(dataset), std::move(o));
            else new (self) LoaderObject(dataset_from(dataset, "DataLoader"), std::move(o));
          },
          arg("dataset"), arg("batch_size"), arg("shuffle"), arg("drop_last"), arg("num_workers"), arg("prefetch"),
          arg("collate").none(), arg("seed").none(), arg("device").none(), arg("batch_sampler").none())
      .def("__len__",
           [](const LoaderObject& l) {
             int64_t n = l.get().size();
             if (n < 0) raise_type("len: the dataset is a stream of unknown length.");
             return n;
           })
      .def_prop_ro("sample_count",
                   [](const LoaderObject& l) -> std::optional<int64_t> {
                     int64_t n = l.get().sample_count();
                     if (n < 0) return std::nullopt;
                     return n;
                   })
      .def("next", &next_of, "The next batch of the epoch; None at its end, and then the next epoch begins.")
      .def("__iter__",
           [](nb::object self) {
             LoaderObject& l = *nb::inst_ptr<LoaderObject>(self);
             {
               LoaderObject::Use use(l);
               nb::gil_scoped_release unlocked;
               l.get().begin_epoch();
             }
             return LoaderLoop{self};
           })
      .def(
          "set_epoch",
          [](LoaderObject& l, int64_t epoch) {
            LoaderObject::Use use(l);
            nb::gil_scoped_release unlocked;
            l.get().set_epoch(epoch);
          },
          arg("epoch"), "Starts that epoch at its first batch.")
      .def(
          "state_dict", [](const LoaderObject& l) { return state_of(l.get().state()); },
          "Where the loader is: enough to deliver the rest of the epoch, and all later ones, bit for bit.")
      .def(
          "set_state_dict",
          [](LoaderObject& l, nb::dict d) {
            LoaderState s{nb::cast<uint64_t>(d["seed"]), nb::cast<uint64_t>(d["sampler_seed"]),
                          nb::cast<int64_t>(d["epoch"]), nb::cast<int64_t>(d["position"])};
            LoaderObject::Use use(l);
            nb::gil_scoped_release unlocked;
            l.get().set_state(s);
          },
          arg("state"), "Goes on where the loader was that gave this state.")
      .def("_stop", [](LoaderObject& l) {
        // Before the interpreter ends: a worker that waits for its lock then would never come back.
        LoaderState s = l.get().state();
        nb::gil_scoped_release unlocked;
        l.get().set_state(s);
      });
  nb::class_<LoaderLoop>(m, "LoaderLoop")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", [](LoaderLoop& l) {
        nb::object batch = l.ended ? nb::none() : next_of(*nb::inst_ptr<LoaderObject>(l.loader));
        if (!batch.is_none()) return batch;
        l.ended = true;
        throw nb::stop_iteration();
      });
}

}  // namespace oarlock::python
