// What the files of this pack share: the opened pack with the function tables that suit this CPU, and the small
// pieces of every declaration. The kernels proper are in one file per op family.
#ifndef OARLOCK_SIMD_PACK_H_
#define OARLOCK_SIMD_PACK_H_

#include <kit.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pool.h"

namespace oarlock::simd {

constexpr int kDtypes = 16;   // the kernels know the dtypes below C64
constexpr int kMaxRank = 16;  // check refuses above it
// From here on a loop is worth handing to the pool.
constexpr int64_t kParallelElements = 32768;

constexpr uint64_t kF32 = OAR_BIT(OAR_DTYPE_F32);
constexpr uint64_t kHalf = OAR_BIT(OAR_DTYPE_F16) | OAR_BIT(OAR_DTYPE_BF16);
constexpr uint64_t kF64 = OAR_BIT(OAR_DTYPE_F64);
constexpr uint64_t kReal = kF32 | kF64 | kHalf;
constexpr uint64_t kBool = OAR_BIT(OAR_DTYPE_BOOL);
constexpr uint64_t kInts = OAR_BIT(OAR_DTYPE_I8) | OAR_BIT(OAR_DTYPE_I16) | OAR_BIT(OAR_DTYPE_I32) |
                           OAR_BIT(OAR_DTYPE_I64) | OAR_BIT(OAR_DTYPE_U8) | OAR_BIT(OAR_DTYPE_U16) |
                           OAR_BIT(OAR_DTYPE_U32) | OAR_BIT(OAR_DTYPE_U64);
constexpr uint64_t kNumeric = kReal | kInts;
constexpr uint64_t kAll = kNumeric | kBool;

inline int size_of(uint32_t dtype) { return static_cast<int>(oar_kit_dtype_bytes(dtype)); }
inline bool is_half(uint32_t dtype) { return dtype == OAR_DTYPE_F16 || dtype == OAR_DTYPE_BF16; }

// Computes n elements of up to three dense inputs. out may be one of the inputs, exactly.
using Tile = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n);

enum ElementOp : int {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kNegative,
  kRelu,
  kEqual,
  kLess,
  kExp,
  kLog,
  kSqrt,
  kTanh,
  kErf,
  kWhere,
  kReluGradient,
  kMinimum,
  kAbs,
  kSquare,
  kCube,
  kReciprocal,
  kRsqrt,
  kClip,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLessEqual,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kLogicalNot,
  kSigmoid,
  kSilu,
  kGelu,
  kGeluTanh,
  kGeluGradient,
  kGeluTanhGradient,
  kSin,
  kCos,
  kPower,
  kElementOps
};

constexpr int64_t kColumns = 512;  // at most, that a reduction takes side by side

// One accumulator of a reduction: the field that the dtype accumulates in.
union Acc {
  double real;
  int64_t integer;
};
struct Reducer {
  void (*start)(Acc* acc, int64_t width) = nullptr;
  // n dense elements into one accumulator.
  void (*row)(const void* x, int64_t n, Acc* acc) = nullptr;
  // rows x width elements, dense along width, into width accumulators. row_stride in elements.
  void (*columns)(const void* x, int64_t row_stride, int64_t rows, int64_t width, Acc* acc) = nullptr;
  void (*merge)(Acc* acc, const Acc* other, int64_t width) = nullptr;
  // Multiplies by scale where the accumulator is real. out_stride in elements.
  void (*finish)(const Acc* acc, double scale, void* out, int64_t out_stride, int64_t width) = nullptr;
};
enum ReduceOp : int { kSum, kMax, kReduceOps };

// Whole rows of f32. softmax and log_softmax may write in place.
struct RowKernels {
  void (*softmax)(const float* x, float* out, int64_t n);
  void (*log_softmax)(const float* x, float* out, int64_t n);
  float (*log_sum_exp)(const float* x, int64_t n);
};

// Rows of attention's scores, dense f32.
struct AttentionKernels {
  // softmax(row * scale) in place; returns the logarithm of the sum of exponentials, -infinity where all are 0.
  float (*weights)(float* row, int64_t n, float scale);
  // row becomes p = exp(row * scale - log_sum), and dp the scores' gradient p * (dp - along) * scale.
  void (*gradient)(float* row, float* dp, int64_t n, float scale, float log_sum, float along);
};

// out = (accumulate ? out : 0) + a b for one block: m x k times k x n. b and out are dense along n.
struct MatmulBlock {
  const void* a;
  const void* b;
  void* out;
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, out_row;  // strides in elements
  bool accumulate;
};

// One step of SGD over n dense elements: g += decay * p; where there is m, m = beta * m + g and g = m (nesterov:
// g + beta * m); p -= rate * g. m may be NULL.
struct SgdStep {
  void *p, *m;
  const void* g;
  double rate, beta, decay;
  bool nesterov;
};

// One step of an optimiser over n dense elements. a, b, c: its states, NULL where it goes without.
struct OptimiserStep {
  void *p, *a, *b, *c;
  const void* g;
  double rate, beta1, beta2, epsilon, decay;
  double ratio, root;  // Adam: rate over the first moment's correction, and the root of the second's
  bool decoupled;
};
struct OptimiserKernels {
  void (*step[3])(const OptimiserStep& step, int64_t n) = {};  // Adam, RMSProp, Adagrad
};

// One row of layer_norm or its gradient (out is dx); mean and inverse are one element. scale, bias: may be NULL. To dscale
// and dbias a gradient adds its row's share.
struct NormRow {
  const void *x = nullptr, *dy = nullptr, *scale = nullptr, *bias = nullptr;
  void *out = nullptr, *mean = nullptr, *inverse = nullptr, *dscale = nullptr, *dbias = nullptr;
};
struct NormKernels {
  void (*forward)(const NormRow& row, int64_t n, double epsilon) = nullptr;
  void (*backward)(const NormRow& row, int64_t n) = nullptr;
  void (*fold)(void* from, double* to, int64_t n) = nullptr;
};

// Everything that depends on the CPU. Each family fills its part.
struct Kernels {
  Tile element[kElementOps][kDtypes] = {};
  Tile cast[kDtypes][kDtypes] = {};
  Reducer reduce[kReduceOps][kDtypes] = {};
  RowKernels rows = {};
  AttentionKernels attention = {};
  void (*scaled_exp)(const float* x, float* out, int64_t n, float by) = nullptr;  // out = exp(x) * by
  void (*matmul_f32)(const MatmulBlock& block) = nullptr;
  void (*matmul_f64)(const MatmulBlock& block) = nullptr;
  void (*sgd_f32)(const SgdStep& step, int64_t n) = nullptr;
  void (*sgd_f64)(const SgdStep& step, int64_t n) = nullptr;
  OptimiserKernels optimise_f32 = {}, optimise_f64 = {};
  NormKernels norm_f32 = {}, norm_f64 = {};
  PoolKernels pool_f32 = {}, pool_f64 = {};
};
void arithmetic_fill(Kernels* out);
void integer_fill(Kernels* out);
void transcendental_fill(Kernels* out);
void select_fill(Kernels* out);
void cast_fill(Kernels* out);
void reduce_fill(Kernels* out);
void softmax_fill(Kernels* out);
void matmul_fill(Kernels* out);
void update_fill(Kernels* out);
void pool_fill(Kernels* out);
void optimise_fill(Kernels* out);
void activation_fill(Kernels* out);
void layer_norm_fill(Kernels* out);
void attention_fill(Kernels* out);
void loss_fill(Kernels* out);

using Run = oar_status_t (*)(oar_pack_t*, const oar_kernel_decl_t*, const oar_frame_t*);
using Check = oar_status_t (*)(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t*, oar_verdict_t*);

// The declarations of each family.
struct Declarations {
  const oar_kernel_decl_t* decls;
  size_t count;
};
Declarations element_declarations();
Declarations move_declarations();
Declarations reduce_declarations();
Declarations softmax_declarations();
Declarations matmul_declarations();
Declarations update_declarations();
Declarations pool_declarations();
Declarations optimise_declarations();
Declarations argmax_declarations();
Declarations layer_norm_declarations();
Declarations attention_declarations();
Declarations index_declarations();
Declarations loss_declarations();

// Refuses what no kernel here takes: an epilogue, an opaque layout, too many dimensions.
oar_status_t check_plain(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict);
oar_status_t fail(oar_pack_t* pack, oar_status_t status, const char* text);

// A declaration of op version 1.
template <size_t N>
constexpr oar_kernel_decl_t declare(const char* op, const uint64_t (&masks)[N], Run run, const void* user,
                                    const int8_t* inplace = nullptr, Check check = check_plain,
                                    const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
  oar_kernel_decl_t decl = {};
  decl.struct_size = sizeof(decl);
  decl.flags = OAR_KERNEL_DETERMINISTIC | OAR_KERNEL_REENTRANT | OAR_KERNEL_ANY_SHAPE;
  decl.op = {op, std::char_traits<char>::length(op)};
  decl.op_min = decl.op_max = 1;
  decl.priority = 50;
  decl.n_masks = N;
  decl.dtypes = masks;
  decl.inplace = inplace;
  decl.user = user;
  decl.check = check;
  decl.run = run;
  decl.source_file = {file, std::char_traits<char>::length(file)};
  decl.source_line = line;
  return decl;
}
inline constexpr int8_t kInplace0[] = {0};
inline constexpr int8_t kInplace1[] = {1};

// Runs body in pieces on the host's pool, or at once where pieces would not pay.
using Body = void (*)(void* context, int64_t begin, int64_t end);
void parallel(oar_pack_t* pack, int64_t n, int64_t grain, Body body, void* context);

inline int64_t count_of(const oar_view_t& view) {
  int64_t n = 1;
  for (int d = 0; d < view.n_dims; ++d) n *= view.shape[d];
  return n;
}
// Row-major without gaps.
inline bool is_dense(const oar_view_t& view) {
  for (int d = 0; d < view.n_dims; ++d)
    if (view.shape[d] == 0) return true;
  int64_t expected = 1;
  for (int d = view.n_dims - 1; d >= 0; --d) {
    if (view.shape[d] == 1) continue;
    if (view.strides[d] != expected) return false;
    expected *= view.shape[d];
  }
  return true;
}

}  // namespace oarlock::simd

struct oar_pack {
  const oar_host_t* host;
  oarlock::simd::Kernels kernels;
};

#endif
