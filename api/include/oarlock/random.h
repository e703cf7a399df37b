// Where random numbers come from. An op that needs them takes an i64[2] seed: a key and an offset. A generator hands out
// offsets one after another under one key, so what a program draws follows from its seed and the order of its draws alone,
// on every device and with any number of threads of an op.
#pragma once
#include <cstdint>
#include <mutex>

#include <oarlock/base/tensor.h>

namespace oarlock {

// All of a generator's state: saved and set again, the same draws follow.
struct RandomState {
  uint64_t seed = 0;    // the Philox key
  uint64_t offset = 0;  // of the next draw
  bool operator==(const RandomState&) const = default;
};

// Any thread may call any member; threads that share one generator draw in an order that changes from run to run.
class OAR_EXPORT Generator {
 public:
  explicit Generator(uint64_t seed = 0) : state_{seed, 0} {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // The seed input of one op call: i64[2] on the host. Every call gives another one.
  Tensor next();
  // From the first draw of that seed on.
  void set_seed(uint64_t seed);
  RandomState state() const;
  void set_state(RandomState state);

 private:
  mutable std::mutex lock_;
  RandomState state_;
};

// The generator of every layer, initialiser and sampler that was not given one. Lives until the process ends.
OAR_EXPORT Generator& default_generator();
// default_generator().set_seed(seed): with it a program's results are the same bits in every run.
OAR_EXPORT void set_seed(uint64_t seed);

// Only kernels that give the same bits every time are used from now on, in the whole process: the setting "deterministic",
// OARLOCK_DETERMINISTIC. The library itself and the plugins that come with it have no others.
OAR_EXPORT void set_deterministic(bool on);
OAR_EXPORT bool deterministic();

}  // namespace oarlock
