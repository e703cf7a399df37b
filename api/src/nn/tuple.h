// Sizes as Python prints them, and the batch axis that may be left out.
#pragma once
#include <string>
#include <vector>

#include <oarlock/base/ops.h>

namespace oarlock::nn {

inline std::string tuple(const std::vector<int64_t>& v) {
  std::string out = "(";
  for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + std::to_string(v[i]);
  return out + (v.size() == 1 ? ",)" : ")");
}
inline bool all_are(const std::vector<int64_t>& v, int64_t value) {
  for (int64_t x : v)
    if (x != value) return false;
  return true;
}
// f of x with a batch axis; takes it away again where x had none.
template <class F>
Tensor batched(const Tensor& x, int axes, const char* who, const F& f) {
  if (x.rank() == axes + 2) return f(x);
  if (x.rank() == axes + 1) return squeeze(f(unsqueeze(x, {0})), {0});
  throw Error(Code::invalid_argument, std::string(who) + ": x has shape " + to_string(x.shape()) + ", " +
                                          std::to_string(axes + 2) + " axes are wanted: [N, C, ...], or without N.");
}

}  // namespace oarlock::nn
