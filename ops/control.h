// What the rules of cond, while_loop and scan share.
#pragma once
#include <oarlock/base/device.h>

#include "core/op/control.h"
#include "rules.h"

namespace oarlock::op {

inline Tensor zeros_of(const ValueType& t) {
  DeviceScope scope(t.host ? Device() : current_device());
  return full(t.shape, 0, t.dtype);
}

// One bool? what: "the condition".
inline bool is_truth(ControlTypes& c, const ValueType& t, const std::string& what) {
  bool one = t.dtype == DType::boolean;
  for (Dim d : t.shape) one &= d == Dim(1);
  return one || c.fail(what + " is " + to_text(t) + ", not one bool. Compare, or reduce with any or all");
}
inline bool holds(ControlCall& c, const Tensor& t, const std::string& what) {
  if (t.dtype() != DType::boolean || t.element_count() != 1)
    throw_if(invalid(std::string(c.def.name) + ": " + what + " is " + to_text({t.dtype(), t.shape()}) +
                     ", not one bool. Compare, or reduce with any or all."));
  return t.item() != 0;
}

// Carried values keep their dtypes and shapes.
inline std::string kept_text(const std::string& region, size_t i, const std::string& before, const std::string& after) {
  return "value " + std::to_string(i) + " was " + before + ", " + region + " gives " + after +
         ". Keep its dtype and shape, e.g. with cast or reshape";
}
inline std::string count_text(const std::string& region, size_t given, size_t wanted) {
  return region + " gives " + std::to_string(given) + " of the " + std::to_string(wanted) +
         " values that are carried. Give each its next one";
}
inline bool keeps(ControlTypes& c, const std::string& region, std::span<const ValueType> after,
                  std::span<const ValueType> before) {
  if (after.size() != before.size()) return c.fail(count_text(region, after.size(), before.size()));
  for (size_t i = 0; i < before.size(); ++i)
    if (!c.agree(before[i], after[i], kept_text(region, i, to_text(before[i]), to_text(after[i])))) return false;
  return true;
}
inline void check_kept(ControlCall& c, const std::string& region, std::span<const Tensor> after,
                       std::span<const Tensor> before) {
  std::string wrong;
  if (after.size() != before.size()) wrong = count_text(region, after.size(), before.size());
  for (size_t i = 0; wrong.empty() && i < before.size(); ++i) {
    ValueType a{before[i].dtype(), before[i].shape()}, b{after[i].dtype(), after[i].shape()};
    if (a.dtype != b.dtype || !(a.shape == b.shape)) wrong = kept_text(region, i, to_text(a), to_text(b));
  }
  if (!wrong.empty()) throw_if(invalid(std::string(c.def.name) + ": " + wrong + "."));
}

}  // namespace oarlock::op
