// Turning the bytes of every number round.
#pragma once
#include <cstdint>
#include <cstring>

namespace oarlock::data {

template <class T>
void swap_each(char* at, uint64_t n, T (*swap)(T)) {
  for (uint64_t i = 0; i < n; ++i, at += sizeof(T)) {
    T x;
    std::memcpy(&x, at, sizeof x);
    x = swap(x);
    std::memcpy(at, &x, sizeof x);
  }
}
// n numbers of `bytes` bytes each: 1, 2, 4 or 8. A complex number is two.
inline void swap_bytes(void* at, uint64_t n, uint64_t bytes) {
  char* p = static_cast<char*>(at);
  if (bytes == 2) swap_each<uint16_t>(p, n, [](uint16_t x) { return __builtin_bswap16(x); });
  if (bytes == 4) swap_each<uint32_t>(p, n, [](uint32_t x) { return __builtin_bswap32(x); });
  if (bytes == 8) swap_each<uint64_t>(p, n, [](uint64_t x) { return __builtin_bswap64(x); });
}

}  // namespace oarlock::data
