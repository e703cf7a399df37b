// Sizes: arithmetic on numbers here, on names in core/op/symbol.cc.
#include <oarlock/base/shape.h>

#include "core/op/symbol.h"

namespace oarlock {

Dim operator+(Dim a, Dim b) {
  int64_t n;
  if (!a.known() || !b.known()) return op::Symbols::current().combine(a, b, '+');
  return __builtin_add_overflow(a.n, b.n, &n) ? INT64_MAX : n;
}
Dim operator-(Dim a, Dim b) {
  if (!a.known() || !b.known()) return op::Symbols::current().combine(a, b, '-');
  return a.n < b.n ? 0 : a.n - b.n;
}
Dim detail::multiply(Dim a, Dim b) {
  int64_t n;
  if (!a.known() || !b.known()) return op::Symbols::current().combine(a, b, '*');
  return __builtin_mul_overflow(a.n, b.n, &n) ? INT64_MAX : n;
}
Dim operator/(Dim a, Dim b) {
  if (!a.known() || !b.known()) return op::Symbols::current().combine(a, b, '/');
  return b.n ? a.n / b.n : 0;
}
std::string to_string(Dim d) { return d.known() ? std::to_string(d.n) : op::Symbols::current().text(d); }

std::string to_string(const Shape& s) {
  std::string t = "[";
  for (int i = 0; i < s.rank; ++i) t += (i ? ", " : "") + to_string(s[i]);
  return t + "]";
}

int64_t count(const Shape& s) {
  int64_t n = 1;
  for (Dim d : s)
    if (d.n == 0) return 0;
  for (Dim d : s)
    if (__builtin_mul_overflow(n, d.n, &n)) return INT64_MAX;
  return n;
}

}  // namespace oarlock
