#include "core/dispatch/recorder.h"

#include <mutex>
#include <utility>

#include "core/profile/trace.h"

namespace oarlock::dispatch {
namespace {

std::mutex lock;
int recording = 0;  // threads that have one
Recorder*& of_thread() {
  __attribute__((tls_model("initial-exec"))) static thread_local Recorder* r = nullptr;
  return r;
}

}  // namespace

Recorder* recorder() { return of_thread(); }
Recorder* set_recorder(Recorder* r) {
  Recorder* before = std::exchange(of_thread(), r);
  if (!r == !before) return before;
  std::lock_guard hold(lock);
  recording += int(r != nullptr) - int(before != nullptr);
  if (recording) trace::on.fetch_or(trace::kRecording);
  else trace::on.fetch_and(~uint32_t(trace::kRecording));
  return before;
}

}  // namespace oarlock::dispatch
