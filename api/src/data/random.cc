#include <oarlock/data/random.h>

#include <algorithm>

#include <oarlock/random.h>

#include "api/src/data/seed.h"
#include "ops/philox.h"

namespace oarlock::data {
namespace {

// The finaliser of SplitMix64: keys of different purposes have no visible relation.
uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

thread_local Random* tls_random = nullptr;
thread_local Random tls_drawn(0, 0, 0);

}  // namespace

Random Random::of_sample(uint64_t seed, int64_t epoch, int64_t index) {
  return Random(mix(seed + 0x9E3779B97F4A7C15), uint32_t(epoch), uint64_t(index));
}
Random Random::of_order(uint64_t seed, int64_t epoch) {
  return Random(mix(seed + 0x3C6EF372FE94F82A), 0, uint64_t(epoch));
}

void Random::refill() {
  op::PhiloxBlock block = op::philox(block_number_++ | uint64_t(a_) << 32, b_, key_);
  std::copy_n(block.word, 4, block_);
  at_ = 0;
}

uint64_t Random::wide() {
  uint64_t low = word();
  return low | uint64_t(word()) << 32;
}

double Random::uniform() { return double(wide() >> 11) * 0x1p-53; }

int64_t Random::below(int64_t n) {
  if (n <= 1) return 0;
  uint64_t bound = uint64_t(n);
  unsigned __int128 product = static_cast<unsigned __int128>(wide()) * bound;
  if (uint64_t(product) < bound) {
    uint64_t threshold = -bound % bound;
    while (uint64_t(product) < threshold) product = static_cast<unsigned __int128>(wide()) * bound;
  }
  return int64_t(product >> 64);
}

Random& sample_random() {
  if (tls_random) return *tls_random;
  return tls_drawn = Random(mix(draw_seed() + 0xDAA66D2C7DDF743F), 0, 0);
}

uint64_t draw_seed() {
  Tensor pair = default_generator().next();
  const int64_t* p = pair.data_as<int64_t>();
  return mix(uint64_t(p[0]) + mix(uint64_t(p[1]) + 0x9E3779B97F4A7C15));
}

SampleScope::SampleScope(Random& random) : before_(tls_random) { tls_random = &random; }
SampleScope::~SampleScope() { tls_random = before_; }

}  // namespace oarlock::data
