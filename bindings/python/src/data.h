// Data in Python: what the library sees of datasets, samplers, transforms and loaders written there.
//
// Objects written in Python are held, not derived from: a subclass need not call super().__init__(), and whatever has the
// methods will do. They are called with the interpreter lock, from any thread; what they raise travels as PythonError.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include <oarlock/data/loader.h>
#include <oarlock/data/transform.h>

#include "callback.h"
#include "caster.h"

namespace oarlock::python {
namespace nb = nanobind;

// The text of a path: str, bytes or an object with __fspath__.
std::string path_from(nb::handle o);

// One value or a tuple or list of values, as tensors.
std::vector<Tensor> fields_from(nb::handle o, const char* where);
nb::list list_of(const std::vector<Tensor>& tensors);

std::shared_ptr<const data::Dataset> dataset_from(nb::handle o, const char* where);
bool is_stream(nb::handle o);  // an IterableDataset, or what can only be iterated over
std::shared_ptr<const data::IterableDataset> stream_from(nb::handle o);
std::shared_ptr<data::Sampler> sampler_from(nb::handle o, const char* where);
std::shared_ptr<data::BatchSampler> batch_sampler_from(nb::handle o, const char* where);
// Null for None; a Transform or any function of an image.
vision::TransformPtr transform_from(nb::handle o, const char* where);

// A loader, and who is using it: next and fit give up the interpreter lock, so that two threads could meet in it.
class LoaderObject {
 public:
  template <class D>
  LoaderObject(std::shared_ptr<const D> dataset, data::LoaderOptions options)
      : loader_(std::make_unique<data::DataLoader>(std::move(dataset), std::move(options))) {}
  // Workers may be waiting for the lock that whoever destroys this holds.
  ~LoaderObject() {
    Unlocked u(PyGILState_Check());
    loader_.reset();
  }
  data::DataLoader& get() const { return *loader_; }

  class Use {
   public:
    explicit Use(LoaderObject& o) : o_(o) {
      if (o.used_.exchange(true))
        throw Error(Code::invalid_argument,
                    "DataLoader: it is in use, by another thread or by the fit or loop that this call is inside. Make "
                    "a loader for each.");
    }
    ~Use() { o_.used_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    LoaderObject& o_;
  };

 private:
  std::unique_ptr<data::DataLoader> loader_;
  std::atomic<bool> used_ = false;
};

}  // namespace oarlock::python
