// Elementwise ops: floats, integers and bool; broadcast and strided operands.
#include <cmath>

#include "pack.h"

namespace oarlock::opencl {
namespace {

// The numbers are those of `computed` in element.cl, function.cl and integer.cl.
struct Element {
  const char* file;  // of floats
  int real, integer;
  bool binary;
  bool by_tanh = false;  // attribute 0 may ask for tanh: the next number
};

oar_status_t run_element(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const auto& e = *static_cast<const Element*>(decl->user);
    const oar_view_t &a = *frame->inputs[0], &b = *frame->inputs[e.binary ? 1 : 0], &out = *frame->outputs[0];
    const Geometry g = walk_of(out, {axes_of(a), axes_of(b), axes_of(out)});
    const cl_int dtypes = static_cast<cl_int>(a.dtype | b.dtype << 8 | out.dtype << 16);
    const bool real = oar_kit_in(kFloats, a.dtype);
    if (!real) {
      Launch launch(frame->stream, "integer", "", "integer");
      launch.view(&a).view(&b).view(&out).value(g).value<cl_int>(e.integer).value(dtypes);
      if (e.integer == 6 || e.integer == 7) launch.fault();
      else launch.memory(frame->stream->fault->memory);
      return launch.items(g.n);
    }
    const int op = e.by_tanh && kit::attr_string(*frame->call, 0) == "tanh" ? e.real + 1 : e.real;
    std::string options;
    const bool f32 = a.dtype == OAR_DTYPE_F32 && b.dtype == OAR_DTYPE_F32;
    if (f32 && g.n >= pack->device->special_elements) {
      bool dense = g.rank <= 1;
      for (int k = 0; k < 3 && g.rank == 1; ++k) dense = dense && g.stride[k][0] == 1;
      options = "-D REAL=float -D OP=" + std::to_string(op) + " -D A=12 -D B=12 -D OUT=" + std::to_string(out.dtype) +
                (dense ? " -D DENSE" : "");
    }
    Launch(frame->stream, e.file, options, e.file)
        .view(&a)
        .view(&b)
        .view(&out)
        .value(g)
        .value<cl_int>(op)
        .value(dtypes)
        .items(g.n);
  });
}

oar_status_t run_special(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const int which = *static_cast<const int*>(decl->user);
    const oar_view_t &x = *frame->inputs[0], &out = *frame->outputs[0];
    const Geometry g = walk_of(out, {axes_of(x), axes_of(x), axes_of(out)});
    const auto order = static_cast<double>(which == 2 ? kit::attr_int(*frame->call, 0, 1) : 0);
    const double scale = std::tgamma(order + 1) * (std::fmod(order, 2) == 0 ? -1 : 1);
    const auto high = static_cast<float>(scale);
    const float low = std::isfinite(high) ? static_cast<float>(scale - high) : 0;
    Launch(frame->stream, "special", "", "special")
        .view(&x)
        .view(&out)
        .value(g)
        .value<cl_int>(which)
        .value<cl_int>(static_cast<cl_int>(x.dtype | out.dtype << 16))
        .value(static_cast<float>(order))
        .value(high)
        .value(low)
        .items(g.n);
  });
}

constexpr uint64_t kNumbersMask[] = {kNumeric};
constexpr uint64_t kFloatsMask[] = {kFloats};
// Near its zeros, of which each interval below 0 has one, digamma is a small difference of large terms: two sound results
// of f64 are far apart there.
constexpr uint64_t kShortFloatsMask[] = {kFloats & ~kF64};
constexpr uint64_t kBitsMask[] = {kInts | kBool};
constexpr uint64_t kCompareMask[] = {kNumeric, kNumeric, kBool};
constexpr uint64_t kEqualMask[] = {kAll, kAll, kBool};
constexpr int kSpecial[] = {0, 1, 2, 3};

static constexpr Element kElement_gelu = {"function", 30, 0, false, true};
static constexpr Element kElement_gelu_gradient = {"function", 2, 0, true, true};
#define ELEMENT(name, file, real, integer, binary, masks)                   \
  static constexpr Element kElement_##name = {file, real, integer, binary}; \
  static constexpr oar_kernel_decl_t kDecl_##name = declare(#name, masks, run_element, &kElement_##name, check_walk)
ELEMENT(add, "element", 0, 0, true, kNumbersMask);
ELEMENT(subtract, "element", 1, 1, true, kNumbersMask);
ELEMENT(multiply, "element", 2, 2, true, kNumbersMask);
ELEMENT(divide, "element", 3, 3, true, kFloatsMask);
ELEMENT(maximum, "element", 4, 4, true, kNumbersMask);
ELEMENT(minimum, "element", 5, 5, true, kNumbersMask);
ELEMENT(floor_divide, "element", 6, 6, true, kNumbersMask);
ELEMENT(remainder, "element", 7, 7, true, kNumbersMask);
ELEMENT(equal, "element", 8, 8, true, kEqualMask);
ELEMENT(less, "element", 9, 9, true, kCompareMask);
ELEMENT(not_equal, "element", 10, 10, true, kEqualMask);
ELEMENT(greater, "element", 11, 11, true, kCompareMask);
ELEMENT(greater_equal, "element", 12, 12, true, kCompareMask);
ELEMENT(less_equal, "element", 13, 13, true, kCompareMask);
ELEMENT(relu_gradient, "element", 14, 14, true, kFloatsMask);
ELEMENT(abs, "element", 20, 20, false, kNumbersMask);
ELEMENT(floor, "element", 21, 21, false, kNumbersMask);
ELEMENT(round, "element", 22, 22, false, kNumbersMask);
ELEMENT(sign, "element", 23, 23, false, kNumbersMask);
ELEMENT(sqrt, "element", 24, 24, false, kFloatsMask);
ELEMENT(negative, "element", 25, 25, false, kNumbersMask);
ELEMENT(relu, "element", 26, 26, false, kNumbersMask);
ELEMENT(square, "element", 27, 27, false, kNumbersMask);
ELEMENT(reciprocal, "element", 28, 28, false, kFloatsMask);
ELEMENT(rsqrt, "element", 29, 29, false, kFloatsMask);
ELEMENT(power, "function", 0, 15, true, kNumbersMask);
ELEMENT(atan2, "function", 1, 0, true, kFloatsMask);
ELEMENT(exp, "function", 20, 0, false, kFloatsMask);
ELEMENT(log, "function", 21, 0, false, kFloatsMask);
ELEMENT(tanh, "function", 22, 0, false, kFloatsMask);
ELEMENT(erf, "function", 23, 0, false, kFloatsMask);
ELEMENT(sin, "function", 24, 0, false, kFloatsMask);
ELEMENT(cos, "function", 25, 0, false, kFloatsMask);
ELEMENT(expm1, "function", 26, 0, false, kFloatsMask);
ELEMENT(log1p, "function", 27, 0, false, kFloatsMask);
ELEMENT(sigmoid, "function", 28, 0, false, kFloatsMask);
ELEMENT(silu, "function", 29, 0, false, kFloatsMask);
ELEMENT(bitwise_and, "", 0, 16, true, kBitsMask);
ELEMENT(bitwise_or, "", 0, 17, true, kBitsMask);
ELEMENT(bitwise_xor, "", 0, 18, true, kBitsMask);
ELEMENT(bitwise_left_shift, "", 0, 19, true, kBitsMask);
ELEMENT(bitwise_right_shift, "", 0, 30, true, kBitsMask);

const oar_kernel_decl_t kDecls[] = {
    kDecl_add,
    kDecl_subtract,
    kDecl_multiply,
    kDecl_divide,
    kDecl_maximum,
    kDecl_minimum,
    kDecl_floor_divide,
    kDecl_remainder,
    kDecl_equal,
    kDecl_less,
    kDecl_not_equal,
    kDecl_greater,
    kDecl_greater_equal,
    kDecl_less_equal,
    kDecl_relu_gradient,
    kDecl_abs,
    kDecl_floor,
    kDecl_round,
    kDecl_sign,
    kDecl_sqrt,
    kDecl_negative,
    kDecl_relu,
    kDecl_square,
    kDecl_reciprocal,
    kDecl_rsqrt,
    kDecl_power,
    kDecl_atan2,
    kDecl_exp,
    kDecl_log,
    kDecl_tanh,
    kDecl_erf,
    kDecl_sin,
    kDecl_cos,
    kDecl_expm1,
    kDecl_log1p,
    kDecl_sigmoid,
    kDecl_silu,
    kDecl_bitwise_and,
    kDecl_bitwise_or,
    kDecl_bitwise_xor,
    kDecl_bitwise_left_shift,
    kDecl_bitwise_right_shift,
    declare("gelu", kFloatsMask, run_element, &kElement_gelu, check_walk),
    declare("gelu_gradient", kFloatsMask, run_element, &kElement_gelu_gradient, check_walk),
    declare("lgamma", kFloatsMask, run_special, &kSpecial[0], check_walk),
    declare("digamma", kShortFloatsMask, run_special, &kSpecial[1], check_walk),
    declare("polygamma", kFloatsMask, run_special, &kSpecial[2], check_walk),
    declare("erf_inverse", kFloatsMask, run_special, &kSpecial[3], check_walk)};

}  // namespace

Declarations element_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
