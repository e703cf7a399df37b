// Who takes calls of a thread instead of running them: what captures programs. core/graph/recording.h
#pragma once
#include <functional>
#include <vector>

#include <oarlock/base/status.h>
#include <oarlock/base/tensor.h>

namespace oarlock::dispatch {

struct Call;
class Recorder {
 public:
  virtual ~Recorder() = default;
  // Takes the call: outputs become stand-ins, all of them, hidden ones last. Operands have been checked and are on one device.
  virtual Status record(Call& call, std::vector<Tensor>& outputs) = 0;
  // Is this stand-in one of this recorder's, or of one around it?
  virtual bool owns(const TensorImpl& t) const = 0;
  // How often a stand-in was written to, as a storage's version.
  virtual uint32_t version(const TensorImpl& t) const = 0;
  // A host value that each run asks `next` for; random: the next draw of a generator.
  virtual Tensor feed(DType dtype, const Shape& shape, bool random, std::function<Tensor()> next) = 0;
  // Tensor::set_data where one of the two is a stand-in.
  virtual Status set_data(const Tensor& to, const Tensor& from) = 0;
  // What is being captured makes things that later runs find made: it has to run once before. Whoever captures sees this
  // even if the Error that follows comes to it as another one.
  bool needs_a_run = false;
};

// Of this thread; null: calls run.
Recorder* recorder();
Recorder* set_recorder(Recorder* recorder);  // gives back the one before

// While one lives, calls of this thread run even if a program is being captured.
class RecorderPause {
 public:
  RecorderPause() : before_(set_recorder(nullptr)) {}
  ~RecorderPause() { set_recorder(before_); }
  RecorderPause(const RecorderPause&) = delete;
  RecorderPause& operator=(const RecorderPause&) = delete;

 private:
  Recorder* before_;
};

}  // namespace oarlock::dispatch
