// The attributes of a call. On the way through the core they are already what plugins see: oar_attr_t, in schema order,
// read by position.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oarlock/base/dtype.h>
#include <oarlock/base/shape.h>

namespace oarlock::op {

// Borrowed and unchecked: whoever runs the call has normalised it (see normalise), so an eager call allocates nothing.
struct Attrs {
  const oar_attr_t* v = nullptr;
  uint32_t n = 0;
  Attrs() = default;
  Attrs(const oar_attr_t* values, uint32_t count) : v(values), n(count) {}
  const oar_attr_t& operator[](int i) const { return v[i]; }
  bool none(int i) const { return !v[i].is_set; }
  bool flag(int i) const { return v[i].value.i != 0; }
  int64_t integer(int i) const { return v[i].value.i; }  // integer, axis
  Dim dim(int i) const { return Dim(v[i].value.i); }
  double real(int i) const { return v[i].value.f; }
  std::string_view text(int i) const { return {v[i].value.str, size_t(v[i].count)}; }
  DType dtype(int i) const { return DType(v[i].value.i); }
  std::span<const int64_t> integers(int i) const { return {v[i].value.ints, size_t(v[i].count)}; }  // integers, axes
  std::span<const Dim> dims(int i) const { return {reinterpret_cast<const Dim*>(v[i].value.ints), size_t(v[i].count)}; }
  std::span<const double> reals(int i) const { return {v[i].value.floats, size_t(v[i].count)}; }
  // Entry k of an integers attribute: {} is `otherwise` everywhere, one entry repeats.
  int64_t at(int i, int k, int64_t otherwise) const {
    return !v[i].is_set || v[i].count == 0 ? otherwise : v[i].value.ints[v[i].count == 1 ? 0 : k];
  }
};

// How a call site writes one attribute.
inline oar_attr_t attr_flag(bool v) { return {OAR_ATTR_BOOL, 1, 1, {.i = v}}; }
inline oar_attr_t attr_integer(int64_t v) { return {OAR_ATTR_INT, 1, 1, {.i = v}}; }
inline oar_attr_t attr_dim(Dim v) { return {OAR_ATTR_INT, 1, 1, {.i = v.n}}; }
inline oar_attr_t attr_real(double v) { return {OAR_ATTR_FLOAT, 1, 1, {.f = v}}; }
inline oar_attr_t attr_dtype(DType v) { return {OAR_ATTR_DTYPE, 1, 1, {.i = int64_t(v)}}; }
inline oar_attr_t attr_text(std::string_view v) { return {OAR_ATTR_STRING, 1, v.size(), {.str = v.data()}}; }
inline oar_attr_t attr_integers(std::span<const int64_t> v) { return {OAR_ATTR_INTS, 1, v.size(), {.ints = v.data()}}; }
inline oar_attr_t attr_dims(const Shape& v) {
  return {OAR_ATTR_INTS, 1, uint64_t(v.rank), {.ints = reinterpret_cast<const int64_t*>(v.d)}};
}
inline oar_attr_t attr_dims(std::span<const Dim> v) {
  return {OAR_ATTR_INTS, 1, v.size(), {.ints = reinterpret_cast<const int64_t*>(v.data())}};
}
inline oar_attr_t attr_reals(std::span<const double> v) { return {OAR_ATTR_FLOATS, 1, v.size(), {.floats = v.data()}}; }
inline oar_attr_t attr_none(uint32_t type) { return {type, 0, 0, {.i = 0}}; }

// A copy that owns what lists and texts point to: for the tape and for caches.
class OwnedAttrs {
 public:
  OwnedAttrs() = default;
  explicit OwnedAttrs(Attrs a);
  OwnedAttrs(OwnedAttrs&&) = default;
  OwnedAttrs& operator=(OwnedAttrs&&) = default;
  Attrs view() const { return {values_.data(), uint32_t(values_.size())}; }

 private:
  std::vector<oar_attr_t> values_;
  std::vector<uint64_t> room_;  // lists and texts, back to back
};

}  // namespace oarlock::op
