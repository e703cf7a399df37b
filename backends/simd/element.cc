// The elementwise ops: declarations, and the way from a frame to a tile.
#include <algorithm>

#include "loop.h"

namespace oarlock::simd {
namespace {

// user of a declaration.
struct Element {
  ElementOp op;
  int typed_input;  // the one whose dtype selects the kernel
};

// The dtype whose kernel serves it.
uint32_t computed(uint32_t dtype) { return is_half(dtype) ? static_cast<uint32_t>(OAR_DTYPE_F32) : dtype; }

struct Flat {
  Tile tile;
  const char* in[3];
  char* out;
  int64_t in_size[3], out_size;
};
void flat_body(void* context, int64_t begin, int64_t end) {
  const Flat& f = *static_cast<const Flat*>(context);
  f.tile(f.in[0] + begin * f.in_size[0], f.in[1] + begin * f.in_size[1], f.in[2] + begin * f.in_size[2],
         f.out + begin * f.out_size, end - begin);
}

// All operands have one shape and lie dense. *out_n is the number of elements.
template <int N>
inline bool alike(const oar_frame_t* frame, int64_t* out_n) {
  const oar_view_t& out = *frame->outputs[0];
  const int rank = out.n_dims;
  for (int k = 0; k < N; ++k)
    if (frame->inputs[k]->n_dims != rank) return false;
  int64_t n = 1;
  for (int d = rank - 1; d >= 0; --d) {
    const int64_t extent = out.shape[d];
    bool same = extent == 1 || out.strides[d] == n;
    for (int k = 0; k < N; ++k)
      same &= frame->inputs[k]->shape[d] == extent && (extent == 1 || frame->inputs[k]->strides[d] == n);
    if (!same) return false;
    n *= extent;
  }
  *out_n = n;
  return true;
}

// Whether b is one element (*out_width 0) or one row of the dense a (its width); both common enough to skip the general
// loop, whose preparation takes 60 ns.
inline bool repeats(const oar_view_t& a, const oar_view_t& b, const oar_view_t& out, int64_t* out_width) {
  if (a.n_dims != out.n_dims || b.n_dims > 1 || b.n_dims > a.n_dims) return false;
  for (int d = 0; d < out.n_dims; ++d)
    if (a.shape[d] != out.shape[d]) return false;
  if (!is_dense(a) || !is_dense(out)) return false;
  *out_width = 0;
  if (b.n_dims == 0 || b.shape[0] == 1) return true;
  *out_width = b.shape[0];
  return b.strides[0] == 1 && b.shape[0] == out.shape[out.n_dims - 1] && b.shape[0] >= 16;
}

// out = tile(a, b) with b repeated, or tile(b, a) if swapped.
void run_repeated(Tile tile, const oar_view_t& a, const oar_view_t& b, const oar_view_t& out, int64_t width,
                  bool swapped) {
  const int64_t n = count_of(out), size = size_of(a.dtype), out_size = size_of(out.dtype);
  constexpr int64_t kBlock = 256;
  alignas(64) char block[kBlock * 8];
  const char* row = static_cast<const char*>(b.data);
  if (width == 0) {
    width = kBlock;
    gather(row, 0, 0, 1, std::min(n, kBlock), static_cast<int>(size), block);
    row = block;
  }
  const char* x = static_cast<const char*>(a.data);
  char* to = static_cast<char*>(out.data);
  for (int64_t i = 0; i < n; i += width)
    tile(swapped ? row : x + i * size, swapped ? x + i * size : row, nullptr, to + i * out_size,
         std::min(width, n - i));
}

// Everything but dense operands of one shape that are too few for the pool.
template <int N>
[[gnu::noinline]] oar_status_t run_general(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const Element& element = *static_cast<const Element*>(decl->user);
  const oar_view_t& out = *frame->outputs[0];
  const uint32_t dtype = frame->inputs[element.typed_input]->dtype % kDtypes;
  const Tile* tiles = pack->kernels.element[element.op];
  if (element.op == kWhere && is_half(dtype))  // bits are moved, not computed: no detour by f32
    return loop_run(pack, tiles[dtype], out, frame->inputs, N, Halves::as_bits);
  if (is_half(dtype)) return loop_run(pack, tiles[OAR_DTYPE_F32], out, frame->inputs, N);
  const Tile tile = tiles[dtype];
  int64_t n;
  if (alike<N>(frame, &n)) {
    Flat flat = {tile, {}, static_cast<char*>(out.data), {}, size_of(out.dtype)};
    for (int k = 0; k < N; ++k) {
      flat.in[k] = static_cast<const char*>(frame->inputs[k]->data);
      flat.in_size[k] = size_of(frame->inputs[k]->dtype);
    }
    parallel(pack, n, kParallelElements / 2, flat_body, &flat);
    return OAR_OK;
  }
  if constexpr (N == 2) {
    const oar_view_t &a = *frame->inputs[0], &b = *frame->inputs[1];
    const bool swapped = a.n_dims < b.n_dims;
    int64_t width;
    if (count_of(out) < kParallelElements && repeats(swapped ? b : a, swapped ? a : b, out, &width)) {
      run_repeated(tile, swapped ? b : a, swapped ? a : b, out, width, swapped);
      return OAR_OK;
    }
  }
  return loop_run(pack, tile, out, frame->inputs, N);
}

// alike for one dimension, the case whose nanoseconds count. False where it is not sure.
template <int N>
inline bool alike_vectors(const oar_frame_t* frame, int64_t* out_n) {
  const oar_view_t& out = *frame->outputs[0];
  if (out.n_dims != 1 || out.strides[0] != 1) return false;
  const int64_t n = out.shape[0];
  for (int k = 0; k < N; ++k) {
    const oar_view_t& x = *frame->inputs[k];
    if (x.n_dims != 1 || x.shape[0] != n || x.strides[0] != 1) return false;
  }
  *out_n = n;
  return true;
}

template <int N>
oar_status_t run_elements(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const Element& element = *static_cast<const Element*>(decl->user);
  const uint32_t dtype = frame->inputs[element.typed_input]->dtype % kDtypes;
  int64_t n;
  if (is_half(dtype) || !(alike_vectors<N>(frame, &n) || alike<N>(frame, &n)) || n >= kParallelElements)
    return run_general<N>(pack, decl, frame);
  pack->kernels.element[element.op][dtype](frame->inputs[0]->data, N > 1 ? frame->inputs[1]->data : nullptr,
                                           N > 2 ? frame->inputs[2]->data : nullptr, frame->outputs[0]->data, n);
  return OAR_OK;
}

// x, min (or none), max (or none).
oar_status_t run_clip(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const bool low = frame->n_inputs > 1 && frame->inputs[1] != nullptr;
  const bool high = frame->n_inputs > 2 && frame->inputs[2] != nullptr;
  if (low && high) return run_elements<3>(pack, decl, frame);
  const oar_view_t* inputs[] = {frame->inputs[0], low ? frame->inputs[1] : high ? frame->inputs[2] : frame->inputs[0]};
  const uint32_t dtype = inputs[0]->dtype % kDtypes;
  const Tile* tiles = pack->kernels.element[low ? kMaximum : kMinimum];  // of x alone with itself: x
  return loop_run(pack, tiles[computed(dtype)], *frame->outputs[0], inputs, 2);
}

// Attribute: approximate.
bool by_tanh(const oar_call_t& call) { return kit::attr_string(call, 0) == "tanh"; }
oar_status_t run_gelu(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  static constexpr Element kTanh = {kGeluTanh, 0};
  if (!by_tanh(*frame->call)) return run_elements<1>(pack, decl, frame);
  oar_kernel_decl_t other = *decl;
  other.user = &kTanh;
  return run_elements<1>(pack, &other, frame);
}
oar_status_t run_gelu_gradient(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  static constexpr Element kTanh = {kGeluTanhGradient, 0};
  if (!by_tanh(*frame->call)) return run_elements<2>(pack, decl, frame);
  oar_kernel_decl_t other = *decl;
  other.user = &kTanh;
  return run_elements<2>(pack, &other, frame);
}
oar_status_t check_gelu(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  const oar_status_t status = check_plain(pack, decl, call, out_verdict);
  if (status != OAR_OK || call->inputs[0]->dtype != OAR_DTYPE_F64 || by_tanh(*call)) return status;
  return oar_kit_refuse(out_verdict, OAR_REASON_DTYPE, 0, "there is no erf of f64 here");
}

// Squares, cubes and reciprocals are told by the one exponent.
oar_status_t run_power(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  const oar_view_t& b = *frame->inputs[1];
  if (count_of(b) != 1) return run_elements<2>(pack, decl, frame);
  const double exponent = oar_kit_load(b.data, b.dtype, 0);
  const ElementOp op = exponent == 2 ? kSquare : exponent == 3 ? kCube : exponent == -1 ? kReciprocal : kPower;
  if (op == kPower) return run_elements<2>(pack, decl, frame);
  const uint32_t dtype = frame->inputs[0]->dtype % kDtypes;
  return loop_run(pack, pack->kernels.element[op][computed(dtype)], *frame->outputs[0], frame->inputs, 1);
}

// target += value.
oar_status_t run_accumulate(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const uint32_t dtype = frame->inputs[0]->dtype % kDtypes;
  return loop_run(pack, pack->kernels.element[kAdd][computed(dtype)], *frame->inputs[0], frame->inputs, 2);
}

oar_status_t run_cast(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  const oar_view_t& x = *frame->inputs[0];
  const oar_view_t& out = *frame->outputs[0];
  const Tile tile = pack->kernels.cast[x.dtype % kDtypes][out.dtype % kDtypes];
  int64_t n;
  if (alike<1>(frame, &n)) {
    Flat flat = {
        tile, {static_cast<const char*>(x.data)}, static_cast<char*>(out.data), {size_of(x.dtype)}, size_of(out.dtype)};
    if (n < kParallelElements) tile(x.data, nullptr, nullptr, out.data, n);
    else parallel(pack, n, kParallelElements / 2, flat_body, &flat);
    return OAR_OK;
  }
  return loop_run(pack, tile, out, frame->inputs, 1, Halves::as_bits);
}

constexpr uint64_t kArithmetic[] = {kNumeric};
constexpr uint64_t kFloats[] = {kReal};
constexpr uint64_t kErfTypes[] = {kF32 | kHalf};
constexpr uint64_t kCompare[] = {kAll, kAll, kBool};
constexpr uint64_t kWhereTypes[] = {kBool, kAll};
constexpr uint64_t kOrder[] = {kNumeric, kNumeric, kBool};
constexpr uint64_t kLogic[] = {kBool};
constexpr uint64_t kCastTypes[] = {kAll};

constexpr Element kElements[] = {
    {kAdd, 0},
    {kSubtract, 0},
    {kMultiply, 0},
    {kDivide, 0},
    {kMaximum, 0},
    {kNegative, 0},
    {kRelu, 0},
    {kEqual, 0},
    {kLess, 0},
    {kExp, 0},
    {kLog, 0},
    {kSqrt, 0},
    {kTanh, 0},
    {kErf, 0},
    {kWhere, 1},
    {kReluGradient, 0},
    {kMinimum, 0},
    {kAbs, 0},
    {kSquare, 0},
    {kCube, 0},
    {kReciprocal, 0},
    {kRsqrt, 0},
    {kClip, 0},
    {kNotEqual, 0},
    {kGreater, 0},
    {kGreaterEqual, 0},
    {kLessEqual, 0},
    {kLogicalAnd, 0},
    {kLogicalOr, 0},
    {kLogicalXor, 0},
    {kLogicalNot, 0},
    {kSigmoid, 0},
    {kSilu, 0},
    {kGelu, 0},
    {kGeluTanh, 0},
    {kGeluGradient, 0},
    {kGeluTanhGradient, 0},
    {kSin, 0},
    {kCos, 0},
    {kPower, 0},
};

constexpr oar_kernel_decl_t kDecls[] = {
    declare("add", kArithmetic, run_elements<2>, &kElements[kAdd], kInplace0),
    declare("subtract", kArithmetic, run_elements<2>, &kElements[kSubtract], kInplace0),
    declare("multiply", kArithmetic, run_elements<2>, &kElements[kMultiply], kInplace0),
    declare("divide", kFloats, run_elements<2>, &kElements[kDivide], kInplace0),
    declare("maximum", kArithmetic, run_elements<2>, &kElements[kMaximum], kInplace0),
    declare("negative", kArithmetic, run_elements<1>, &kElements[kNegative], kInplace0),
    declare("relu", kArithmetic, run_elements<1>, &kElements[kRelu], kInplace0),
    declare("relu_gradient", kFloats, run_elements<2>, &kElements[kReluGradient], kInplace0),
    declare("equal", kCompare, run_elements<2>, &kElements[kEqual]),
    declare("less", kCompare, run_elements<2>, &kElements[kLess]),
    declare("exp", kFloats, run_elements<1>, &kElements[kExp], kInplace0),
    declare("log", kFloats, run_elements<1>, &kElements[kLog], kInplace0),
    declare("sqrt", kFloats, run_elements<1>, &kElements[kSqrt], kInplace0),
    declare("tanh", kFloats, run_elements<1>, &kElements[kTanh], kInplace0),
    declare("erf", kErfTypes, run_elements<1>, &kElements[kErf], kInplace0),
    declare("where", kWhereTypes, run_elements<3>, &kElements[kWhere], kInplace1),
    declare("minimum", kArithmetic, run_elements<2>, &kElements[kMinimum], kInplace0),
    declare("abs", kArithmetic, run_elements<1>, &kElements[kAbs], kInplace0),
    declare("square", kArithmetic, run_elements<1>, &kElements[kSquare], kInplace0),
    declare("reciprocal", kFloats, run_elements<1>, &kElements[kReciprocal], kInplace0),
    declare("rsqrt", kFloats, run_elements<1>, &kElements[kRsqrt], kInplace0),
    declare("clip", kArithmetic, run_clip, &kElements[kClip], kInplace0),
    declare("power", kFloats, run_power, &kElements[kPower], kInplace0),
    declare("not_equal", kCompare, run_elements<2>, &kElements[kNotEqual]),
    declare("greater", kOrder, run_elements<2>, &kElements[kGreater]),
    declare("greater_equal", kOrder, run_elements<2>, &kElements[kGreaterEqual]),
    declare("less_equal", kOrder, run_elements<2>, &kElements[kLessEqual]),
    declare("logical_and", kLogic, run_elements<2>, &kElements[kLogicalAnd], kInplace0),
    declare("logical_or", kLogic, run_elements<2>, &kElements[kLogicalOr], kInplace0),
    declare("logical_xor", kLogic, run_elements<2>, &kElements[kLogicalXor], kInplace0),
    declare("logical_not", kLogic, run_elements<1>, &kElements[kLogicalNot], kInplace0),
    declare("sigmoid", kFloats, run_elements<1>, &kElements[kSigmoid], kInplace0),
    declare("silu", kFloats, run_elements<1>, &kElements[kSilu], kInplace0),
    declare("gelu", kFloats, run_gelu, &kElements[kGelu], kInplace0, check_gelu),
    declare("gelu_gradient", kFloats, run_gelu_gradient, &kElements[kGeluGradient], kInplace0, check_gelu),
    declare("sin", kFloats, run_elements<1>, &kElements[kSin], kInplace0),
    declare("cos", kFloats, run_elements<1>, &kElements[kCos], kInplace0),
    declare("accumulate", kArithmetic, run_accumulate, nullptr),
    declare("cast", kCastTypes, run_cast, nullptr),
};

}  // namespace

Declarations element_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::simd
