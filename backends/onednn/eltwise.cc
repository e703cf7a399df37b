// tanh of f32 and bf16 and sqrt of bf16, any shape without gaps.
//
// What oneDNN 2.6.3 gets right against libm in double, over all of bf16 and every 61st f32, denormals included: tanh is
// off by 1.3 ulp at most in f32, both by half an ulp in bf16; NaN, infinities and -0 come out right. sqrt of f32 is right
// too, but nowhere faster than the simd pack. Where the CPU converts to bf16 by an instruction of its own (AVX512_BF16),
// that instruction takes and gives zero for a bf16 denormal, sign kept. Not offered, for what the same measurement says of their f32 versions:
// relu turns NaN into 0; exp loses NaN and denormal results; log is off by millions of ulp just below 1; eltwise_linear
// as negative gives 0 for 0 instead of -0. erf is no algorithm of oneDNN.
#include <memory>
#include <string>

#include "pack.h"

namespace oarlock::onednn {
namespace {

using dnnl::memory;

struct Eltwise {
  dnnl::algorithm algorithm;
  int64_t small_f32, small_bf16;
};

// Below these many elements the simd pack is faster on one thread. tanh of f32: 1.5 us and oneDNN 1.6 for 2000 elements,
// 3.2 and 2.9 for 4096, 12.7 and 9.0 for 16384. bf16, which simd widens element by element: 305 ns and 289 for 96
// elements of tanh, 278 and 266 for 128 of sqrt; six to thirteen times faster from 16384 on.
constexpr Eltwise kTanh = {dnnl::algorithm::eltwise_tanh, 4096, 128};
constexpr Eltwise kSqrt = {dnnl::algorithm::eltwise_sqrt, 0, 192};

int64_t dense_count(const oar_value_t& value, int operand) {
  const std::vector<int64_t> strides = strides_of(value, operand);
  if (!oar_kit_contiguous(value.n_dims, value.shape, strides.data()))
    throw kit::Refusal(OAR_REASON_LAYOUT, operand, "operands must be row-major without gaps");
  return oar_kit_count(value.n_dims, value.shape);
}

oar_status_t prepare(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                     oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const Eltwise& op = *static_cast<const Eltwise*>(decl->user);
    const oar_value_t &x = *call->inputs[0], &out = *call->outputs[0];
    if (call->n_epilogue != 0) throw kit::Refusal(OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
    if (out.dtype != x.dtype) throw kit::Refusal(OAR_REASON_DTYPE, 1, "the output must have the input's type");
    // Size before layout: a copy would make few elements no faster.
    const int64_t n = oar_kit_count(x.n_dims, x.shape);
    if (n < (x.dtype == OAR_DTYPE_F32 ? op.small_f32 : op.small_bf16) || n == 0)
      throw kit::Refusal(OAR_REASON_SLOWER, -1, std::to_string(n) + " elements are too few for a library call");
    if (dense_count(x, 0) != dense_count(out, 1))
      throw kit::Refusal(OAR_REASON_SHAPE, 1, "the output must have the input's shape");

    const memory::desc line({n}, type_of(x.dtype), memory::dims{1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const ThreadLimit limit(pack->host);
    const auto desc = described_by("loop", [&] { return eltwise_desc(pack->engine, op.algorithm, line, attr); });
    auto state = std::make_unique<Prepared>(pack, dnnl::eltwise_forward(desc));
    state->bind(DNNL_ARG_SRC, line, 0);
    state->bind(DNNL_ARG_DST, line, 1);
    finish(out_prepared, state.release(), desc.scratchpad_desc(), 300 + static_cast<uint64_t>(n) / 2);
  });
}

constexpr uint64_t kTanhTypes[] = {kF32 | kBf16};
constexpr uint64_t kSqrtTypes[] = {kBf16};
constexpr int8_t kInplace[] = {0};

constexpr oar_kernel_decl_t kTanhDecl =
    OAR_KIT_KERNEL("tanh", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kTanhTypes, .inplace = kInplace, .user = &kTanh,
                   .prepare = prepare, .launch = launch, .release = release);
OAR_KIT_LISTED(kTanhDecl);

constexpr oar_kernel_decl_t kSqrtDecl =
    OAR_KIT_KERNEL("sqrt", 1, 1, OAR_KERNEL_DETERMINISTIC, 100, kSqrtTypes, .inplace = kInplace, .user = &kSqrt,
                   .prepare = prepare, .launch = launch, .release = release);
OAR_KIT_LISTED(kSqrtDecl);

}  // namespace
}  // namespace oarlock::onednn
