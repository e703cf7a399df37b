#include "operand.h"

#include <cmath>

namespace oarlock::opencl {

Number::Number(double v) : high(static_cast<float>(v)) {
  if (!std::isfinite(high)) return;
  middle = static_cast<float>(v - high);
  low = static_cast<float>(v - high - middle);
}

bool make_geometry(uint32_t rank, const int64_t* shape, std::initializer_list<Axes> operands, bool merge,
                   Geometry* out_geometry) {
  constexpr uint32_t kMost = 64;
  int64_t strides[kMaxOperands][kMost];
  Geometry g;
  if (rank > kMost) return false;
  size_t n = 0;
  for (const Axes& a : operands)
    if (!oar_kit_broadcast_strides(rank, shape, a.rank, a.shape, a.strides, strides[n++])) return false;
  g.n = oar_kit_count(rank, shape);
  for (uint32_t d = 0; d < rank; ++d) {
    if (merge && shape[d] == 1) continue;
    bool joins = merge && g.rank > 0;
    for (size_t k = 0; joins && k < n; ++k) joins = g.stride[k][g.rank - 1] == strides[k][d] * shape[d];
    if (!joins && g.rank == kMaxAxes) return false;
    const int at = joins ? g.rank - 1 : g.rank++;
    g.shape[at] = joins ? g.shape[at] * shape[d] : shape[d];
    for (size_t k = 0; k < n; ++k) g.stride[k][at] = strides[k][d];
  }
  *out_geometry = g;
  return true;
}

std::string fault_text(const int64_t* words) {
  static const char* const names[] = {
      "",          "floor_divide", "remainder",    "gather", "scatter_add", "take_along_axis", "put_along_axis",
      "gather_nd", "scatter_nd",   "cross_entropy"};
  const auto op = static_cast<int32_t>(words[0]);
  const std::string name = op > 0 && op < kFaultOps ? names[op] : "kernel";
  const std::string at = " at position " + std::to_string(words[3]);
  if (op == kFaultFloorDivide || op == kFaultRemainder)
    return name + ": b is 0" + at + ", and no integer is a quotient by 0. Give another divisor, or cast to a float.";
  if (op == kFaultCrossEntropy)
    return name + ": label " + std::to_string(words[1]) + at + " is none of the " + std::to_string(words[2]) +
           " classes. Labels count from 0.";
  return name + ": index " + std::to_string(words[1]) + at + " is out of range: the axis has " +
         std::to_string(words[2]) + " elements.";
}

}  // namespace oarlock::opencl
