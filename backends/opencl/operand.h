// Shapes and strides as kernels get them, and what kernels tell of operands that are wrong.
#ifndef OARLOCK_OPENCL_OPERAND_H_
#define OARLOCK_OPENCL_OPERAND_H_
#include <kit.hpp>

#include <initializer_list>

namespace oarlock::opencl {

constexpr int kMaxAxes = 8;
constexpr int kMaxOperands = 4;

// `geometry` of kernels/operand.cl.
struct Geometry {
  int64_t n = 1;
  int32_t rank = 0, reserved = 0;
  int64_t shape[kMaxAxes] = {};
  int64_t stride[kMaxOperands][kMaxAxes] = {};
};

// `number` of kernels/operand.cl: a double for kernels that may have none.
struct Number {
  float high = 0, middle = 0, low = 0, reserved = 0;
  explicit Number(double v = 0);
};

// One operand's axes; of a value before launch or of a view.
struct Axes {
  uint32_t rank;
  const int64_t* shape;
  const int64_t* strides;
};
inline Axes axes_of(const oar_value_t& v) { return {v.n_dims, v.shape, v.strides}; }
inline Axes axes_of(const oar_view_t& v) { return {static_cast<uint32_t>(v.n_dims), v.shape, v.strides}; }

// All places of `shape`, and the strides of the operands there, broadcast right-aligned. merge: axes of length 1 are left
// out, and axes that lie together in every operand become one. False: more than kMaxAxes are left.
bool make_geometry(uint32_t rank, const int64_t* shape, std::initializer_list<Axes> operands, bool merge,
                   Geometry* out_geometry);

// The op of a Fault's words.
enum FaultOp : int32_t {
  kFaultFloorDivide = 1,
  kFaultRemainder,
  kFaultGather,
  kFaultScatterAdd,
  kFaultTakeAlongAxis,
  kFaultPutAlongAxis,
  kFaultGatherNd,
  kFaultScatterNd,
  kFaultCrossEntropy,
  kFaultOps
};
std::string fault_text(const int64_t* words);

}  // namespace oarlock::opencl
#endif
