// Random draws that are the same on every machine and library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace oarlock::cts {

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int64_t between(int64_t low, int64_t high) { return low + int64_t(bits() % uint64_t(high - low + 1)); }
  double real(double low, double high) { return low + (high - low) * (double(bits() >> 11) * 0x1p-53); }
  bool chance(double p) { return real(0, 1) < p; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[size_t(between(0, int64_t(list.size()) - 1))];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[size_t(between(0, int64_t(i) - 1))]);
  }

 private:
  uint64_t state_;
};

// A seed of its own for each test, so that leaving out one doesn't change the others (FNV-1a).
inline uint64_t seed_of(uint64_t seed, std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ull ^ (seed * 0x9E3779B97F4A7C15ull);
  for (char c : name) h = (h ^ uint8_t(c)) * 0x100000001b3ull;
  return h;
}

}  // namespace oarlock::cts
