// Best time of a call over many rounds, and the line that bench.py reads.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace bench {

// ns of one call of f: the best of `rounds` rounds of `calls` calls. Noise only adds, so the best is the truest.
template <class F>
double best_ns(F&& f, int calls = 20'000, int rounds = 25) {
  double best = 1e18;
  for (int r = 0; r < rounds; ++r) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) f();
    best = std::min(best,
                    std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / calls);
  }
  return best;
}

inline void report(const char* name, double value, const char* unit, double budget = 0, const char* rival = nullptr,
                   double rival_value = 0) {
  std::printf("{\"case\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"", name, value, unit);
  if (budget > 0) std::printf(", \"budget\": %g", budget);
  if (rival) std::printf(", \"rival\": \"%s\", \"rival_value\": %.4g", rival, rival_value);
  std::printf("}\n");
}

}  // namespace bench
