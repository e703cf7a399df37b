// Recordings of the stream of ABI calls, run against the plugin that made them.
#include <cstring>
#include <random>
#include <string_view>

#include "core/device/layer/replay_build.h"
#include "tests/fuzz/fuzz.h"

using namespace oarlock;

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t room);

// Most changes to a file stop at a record's checksum, so three in four change bodies and sum them again.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t room, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string_view> old;
  std::string_view log(reinterpret_cast<const char*>(bytes), size);
  if (random() % 4 == 0 || !layer::read_log(log, &old).ok() || old.empty()) return LLVMFuzzerMutate(bytes, size, room);
  std::vector<std::string> bodies(old.begin(), old.end());
  size_t at = random() % bodies.size();
  switch (random() % 6) {
    case 0: bodies.erase(bodies.begin() + ptrdiff_t(at)); break;
    case 1: bodies.insert(bodies.begin() + ptrdiff_t(at), bodies[random() % bodies.size()]); break;
    case 2: std::swap(bodies[at], bodies[random() % bodies.size()]); break;
    default: {
      std::string& body = bodies[at];
      size_t n = body.size();
      body.resize(n + 256);
      body.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(body.data()), n, body.size()));
    }
  }
  std::string out = layer::write_log(bodies);
  if (out.size() > room) return LLVMFuzzerMutate(bytes, size, room);
  std::memcpy(bytes, out.data(), out.size());
  return out.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view log(reinterpret_cast<const char*>(bytes), size);
  ReplayOptions options{.memory_limit_bytes = 64 << 20, .timeout_ns = 1'000'000'000};
  return fuzz::run([&] { (void)layer::replay_log(log, OARLOCK_TEST_PLUGIN_DIR "/replay_me.so", options).ok(); });
}
