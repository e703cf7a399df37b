// Random numbers as a function of seed and place.
#pragma once
#include <cstdint>

#include "core/op/element.h"

namespace oarlock::op {

// Philox4x32-10 of Salmon et al. 2011: key from the seed, counter from the place and the offset.
struct PhiloxBlock {
  uint32_t word[4];
};
inline PhiloxBlock philox(uint64_t counter_low, uint64_t counter_high, uint64_t key) {
  uint32_t c[4] = {uint32_t(counter_low), uint32_t(counter_low >> 32), uint32_t(counter_high),
                   uint32_t(counter_high >> 32)};
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    uint32_t next[4] = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1, uint32_t(p0)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
  }
  return {{c[0], c[1], c[2], c[3]}};
}

// The elements of random_uniform, any of them; quick in order.
class Uniforms {
 public:
  Uniforms(const oar_view_t& seed, bool wide)
      : key_(uint64_t(load<int64_t>(seed, 0))), from_(uint64_t(load<int64_t>(seed, seed.strides[0]))), wide_(wide) {}
  double at(uint64_t i) {
    uint64_t per = wide_ ? 2 : 4, k = i % per;
    if (i / per != number_) block_ = philox(number_ = i / per, from_, key_);
    return wide_ ? double((uint64_t(block_.word[2 * k + 1]) << 32 | block_.word[2 * k]) >> 11) * 0x1p-53
                 : double(block_.word[k] >> 8) * 0x1p-24;
  }

 private:
  uint64_t key_, from_, number_ = ~uint64_t(0);
  bool wide_;
  PhiloxBlock block_{};
};

}  // namespace oarlock::op
