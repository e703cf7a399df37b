// Equal enough, by the one formula: |got - want| <= ulps * eps(dtype) * sqrt(elements read per output) * scale.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <oarlock/base/dtype.h>
#include <oarlock/base/shape.h>

namespace oarlock::cts {

struct HostTensor {
  Shape shape;
  DType dtype = DType::none;   // none: no such output
  std::vector<uint8_t> bytes;  // row-major
  int64_t count() const { return oarlock::count(shape); }
};

struct Tolerance {
  double ulps = 4;
  double reads = 1;    // input elements behind one output element
  bool exact = false;  // views
  // No operand holds an infinity: where the scale is infinite, terms outgrew the dtype, and what they come to is open. Of
  // infinite operands it isn't.
  bool finite_operands = true;
};

// How far element i may be off. scale: null means |want|.
double allowed_difference(const HostTensor& want, const HostTensor* scale, const Tolerance& tolerance, int64_t i);

// The first element that is too far off, in words; nothing if all agree. Integers: exact. NaN agrees with NaN, an
// infinity
// with the same infinity, or with a number that rounding may have kept just below it. Results below the smallest normal
// number may be flushed to zero. scale: null means |want|.
std::optional<std::string> compare(const HostTensor& got, const HostTensor& want, const HostTensor* scale,
                                   const Tolerance& tolerance);

}  // namespace oarlock::cts
