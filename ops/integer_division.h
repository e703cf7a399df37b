// Integers have no quotient by 0: the ops that divide them look for one before they begin.
#pragma once
#include <string>

#include "elementwise.h"

namespace oarlock::op {

// The index in the result of the first 0 among integer divisors, input 1; rank -1 if there is none.
inline Shape zero_divisor(const KernelCall& c) {
  const oar_view_t &b = c.in(1), &out = c.out(0);
  Shape at;
  at.rank = -1;
  if (set_of(dtype(b)) & kFloat) return at;
  for (Walk w(out); w.more(); w.next()) {
    if (load<int64_t>(b, offset(b, w.index, out.n_dims))) continue;
    at.rank = 0;
    for (int i = 0; i < out.n_dims; ++i) at.push(w.index[i]);
    return at;
  }
  return at;
}
// True after telling of it.
inline bool divides_by_zero(KernelCall& c, const char* op) {
  Shape at = zero_divisor(c);
  if (at.rank < 0) return false;
  c.fail(std::string(op) + ": b is 0 at position " + to_string(at) + ", and no integer is a quotient by 0. Give " +
         "another divisor, or cast to a float.");
  return true;
}

}  // namespace oarlock::op
