// max_pool, avg_pool and their gradients.
#include <algorithm>

#include "pack.h"

namespace oarlock::opencl {
namespace {

constexpr int kAxes = 3;

// `pooling` of kernels/pool.cl.
struct Pooling {
  int64_t planes, in[kAxes], kernel[kAxes], out[kAxes], stride[kAxes], before[kAxes], after[kAxes], dilation[kAxes];
};

// large: with the axes of x, small: with those of the result. kernel, stride, padding and dilation begin at attribute
// `first`.
Pooling pooling_of(const oar_call_t& call, const oar_value_t& large, const oar_value_t& small, uint32_t first) {
  Pooling g = {};
  const int axes = static_cast<int>(large.n_dims) - 2;
  g.planes = large.shape[0] * large.shape[1];
  auto list = [&](uint32_t attr, int64_t otherwise, bool behind, int64_t* out) {
    const auto given = kit::attr_ints(call, attr);
    const auto n = static_cast<int64_t>(given.size());
    for (int64_t d = 0; d < kAxes; ++d) {
      int64_t axis = d - (kAxes - axes);
      out[d] = otherwise;
      if (axis < 0 || n == 0) continue;
      if (behind && n == 2 * axes) axis += axes;
      out[d] = given[static_cast<size_t>(n == 1 ? 0 : axis)];
    }
  };
  list(first, 1, false, g.kernel);
  list(first + 1, 1, false, g.stride);
  list(first + 2, 0, false, g.before);
  list(first + 2, 0, true, g.after);
  list(first + 3, 1, false, g.dilation);
  for (int d = 0; d < kAxes; ++d) {
    const int axis = d - (kAxes - axes);
    g.in[d] = axis < 0 ? 1 : large.shape[2 + axis];
    g.out[d] = axis < 0 ? 1 : small.shape[2 + axis];
  }
  return g;
}

struct Pool final : Prepared {
  enum Op { kMax, kAverage, kAverageGradient };
  Op op;
  Pooling g;
  cl_int padding = 0;
  Pool(oar_pack_t* p, const oar_call_t& call, Op o) : Prepared(p), op(o) {
    const oar_value_t *in = call.inputs[0], *out = nullptr;
    for (uint32_t i = 0; out == nullptr; ++i) out = call.outputs[i];  // places have the result's shape
    g = op == kAverageGradient ? pooling_of(call, *out, *in, 1) : pooling_of(call, *in, *out, 0);
    if (op != kMax) padding = kit::attr_bool(call, op == kAverage ? 5 : 6);
  }
  void launch(const oar_frame_t& f) const override {
    const char* const names[] = {"max_pool", "avg_pool", "avg_pool_gradient"};
    const oar_view_t *out = f.outputs[0], *places = f.n_outputs > 1 ? f.outputs[1] : nullptr;
    Launch launch(f.stream, "pool", "", names[op]);
    launch.view(f.inputs[0]).view(out);
    if (op == kMax) launch.view(places);
    launch.value(g).value<cl_int>(static_cast<cl_int>(f.inputs[0]->dtype));
    launch.value<cl_int>(op == kMax ? (out != nullptr ? 1 : 0) | (places != nullptr ? 2 : 0) : padding);
    launch.items(count_of(out != nullptr ? *out : *places));
  }
};

struct MaxPoolGradient final : Prepared {
  int64_t planes, plane, windows;
  bool narrow;
  MaxPoolGradient(oar_pack_t* p, const oar_call_t& call) : Prepared(p) {
    const oar_value_t &dy = *call.inputs[0], &dx = *call.outputs[0];
    planes = dx.shape[0] * dx.shape[1];
    plane = oar_kit_count(dx.n_dims - 2, dx.shape + 2);
    windows = oar_kit_count(dy.n_dims - 2, dy.shape + 2);
    narrow = dx.dtype == OAR_DTYPE_F16 || dx.dtype == OAR_DTYPE_BF16;
  }
  void launch(const oar_frame_t& f) const override {
    const oar_view_t& dx = *f.outputs[0];
    Launch(f.stream, "pool", "", "max_pool_gradient")
        .view(f.inputs[0])
        .view(f.inputs[1])
        .view(&dx)
        .span(narrow ? f.workspace : span_of(dx))
        .value<cl_long>(planes)
        .value<cl_long>(plane)
        .value<cl_long>(windows)
        .value<cl_int>(static_cast<cl_int>(dx.dtype))
        .value<cl_int>(static_cast<cl_int>(narrow ? static_cast<uint32_t>(OAR_DTYPE_F32) : dx.dtype))
        .items(planes);
  }
};

oar_status_t check_pool(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  const uint32_t rank = call->inputs[0]->n_dims;
  if (rank >= 2 && rank <= 2 + kAxes) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "up to %d axes behind [N, C], not %d", kAxes,
                        static_cast<int>(rank) - 2);
}

template <Pool::Op kOp>
oar_status_t prepare_pool(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                          oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    want_dense(out_prepared, call, 0);
    finish(out_prepared, std::make_unique<Pool>(pack, *call, kOp));
  });
}

oar_status_t prepare_max_pool_gradient(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                                       oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    want_dense(out_prepared, call, 0);
    want_dense(out_prepared, call, 1);
    auto state = std::make_unique<MaxPoolGradient>(pack, *call);
    const int64_t bytes = state->narrow ? state->planes * state->plane * 4 : 0;
    finish(out_prepared, std::move(state), static_cast<uint64_t>(bytes));
  });
}

constexpr uint64_t kFloatsMask[] = {kFloats};
constexpr uint64_t kMaxMask[] = {kNumeric, kNumeric, kI64};
constexpr uint64_t kMaxGradientMask[] = {kNumeric, kI64, kNumeric};
const oar_kernel_decl_t kDecls[] = {
    declare_prepared("max_pool", kMaxMask, prepare_pool<Pool::kMax>, nullptr, check_pool),
    declare_prepared("max_pool_gradient", kMaxGradientMask, prepare_max_pool_gradient, nullptr, check_plain),
    declare_prepared("avg_pool", kFloatsMask, prepare_pool<Pool::kAverage>, nullptr, check_pool),
    declare_prepared("avg_pool_gradient", kFloatsMask, prepare_pool<Pool::kAverageGradient>, nullptr, check_pool)};

}  // namespace

Declarations pool_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
