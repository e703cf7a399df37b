// Sizes of tensors. A Dim is a number, or, in programs, an expression over named sizes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <oarlock/types.h>

namespace oarlock {

// n >= 0 is a number, n < 0 is expression -n-1 of the tracing thread's Symbols.
struct Dim {
  int64_t n;
  Dim() = default;  // uninitialised on purpose: shapes are made on every call
  constexpr Dim(int64_t v) : n(v) {}
  constexpr bool known() const { return n >= 0; }
  constexpr bool operator==(const Dim&) const = default;  // "the same Dim"; to ask "equal", use InferCall::agree
};
OAR_EXPORT Dim operator+(Dim a, Dim b);
OAR_EXPORT Dim operator-(Dim a, Dim b);  // below zero: 0 where both are numbers; the caller checks first
namespace detail {
OAR_EXPORT Dim multiply(Dim a, Dim b);
}
inline Dim operator*(Dim a, Dim b) {  // overflow: INT64_MAX
  int64_t n;
  return a.known() && b.known() && !__builtin_mul_overflow(a.n, b.n, &n) ? Dim(n) : detail::multiply(a, b);
}
OAR_EXPORT Dim operator/(Dim a, Dim b);  // by zero: 0
OAR_EXPORT std::string to_string(Dim d);

// A size that reshape works out from the others; the public spelling is -1.
inline constexpr int64_t kRest = INT64_MIN;

inline constexpr int kMaxRank = 16;

// Up to kMaxRank sizes, stored inline: no allocation, and copying touches only `rank` of them.
struct Shape {
  int32_t rank = 0;
  Dim d[kMaxRank];
  Shape() {}
  Shape(std::initializer_list<Dim> l) {
    for (Dim x : l) push(x);
  }
  explicit Shape(const std::vector<int64_t>& v) {
    for (int64_t x : v) push(x);
  }
  Shape(const Shape& o) : rank(o.rank) { copy(o); }
  Shape& operator=(const Shape& o) {
    rank = o.rank;
    copy(o);
    return *this;
  }
  Dim operator[](int i) const { return d[i]; }
  int64_t operator()(int i) const { return d[i].n; }  // a size known to be a number
  void push(Dim x) {
    if (rank < kMaxRank) d[rank++] = x;
  }
  void push(const Dim* from, int n) {
    for (int i = 0; i < n; ++i) push(from[i]);
  }
  const Dim* begin() const { return d; }
  const Dim* end() const { return d + rank; }
  bool operator==(const Shape& o) const { return rank == o.rank && std::equal(d, d + rank, o.d); }

 private:
  void copy(const Shape& o) {  // a handful of words: a call of memmove would cost more
    for (int i = 0; i < o.rank; ++i) d[i] = o.d[i];
  }
};
OAR_EXPORT std::string to_string(const Shape& s);  // "[2, 3]"
// Elements, all sizes known. INT64_MAX where the product overflows.
OAR_EXPORT int64_t count(const Shape& s);

}  // namespace oarlock
