#include <oarlock/random.h>

#include "core/base/settings.h"
#include "core/dispatch/recorder.h"

namespace oarlock {

Tensor Generator::next() {
  if (dispatch::Recorder* recorder = dispatch::recorder())
    return recorder->feed(DType::i64, {2}, this == &default_generator(), [this] { return next(); });
  RandomState s;
  {
    std::lock_guard hold(lock_);
    s = state_;
    ++state_.offset;
  }
  return Tensor::of<int64_t>({int64_t(s.seed), int64_t(s.offset)}, {2});
}
void Generator::set_seed(uint64_t seed) { set_state({seed, 0}); }
RandomState Generator::state() const {
  std::lock_guard hold(lock_);
  return state_;
}
void Generator::set_state(RandomState state) {
  std::lock_guard hold(lock_);
  state_ = state;
}

Generator& default_generator() {
  static auto* g = new Generator;
  return *g;
}
void set_seed(uint64_t seed) { default_generator().set_seed(seed); }

void set_deterministic(bool on) { throw_if(set_setting("deterministic", on ? "1" : "0")); }
bool deterministic() {
  setting::load_environment();
  return setting::deterministic.load(std::memory_order_relaxed) != 0;
}

}  // namespace oarlock
