// softmax, log_softmax, cross_entropy and its gradient.
#include "pack.h"

namespace oarlock::opencl {
namespace {

constexpr int64_t kWideRow = 64;

struct Softmax final : Prepared {
  cl_int op;
  int64_t count = 1, n = 1, inner = 1;
  bool wide;
  Softmax(oar_pack_t* p, const oar_call_t& call, int which) : Prepared(p), op(which) {
    const oar_value_t& x = *call.inputs[0];
    int64_t axis = kit::attr_int(call, 0, -1);
    if (axis < 0) axis += x.n_dims;
    for (int64_t d = 0; d < x.n_dims; ++d) (d == axis ? n : count) *= x.shape[d];
    for (int64_t d = axis + 1; d < x.n_dims; ++d) inner *= x.shape[d];
    wide = p->device->cpu_shaped && x.dtype == OAR_DTYPE_F32 && inner == 1 && n >= kWideRow;
  }
  void launch(const oar_frame_t& f) const override {
    if (count == 0 || n == 0) return;
    const oar_view_t& x = *f.inputs[0];
    Launch launch(f.stream, "softmax", "", wide ? "wide_rows" : "lanes");
    launch.view(&x).view(f.outputs[0]);
    if (wide) return launch.value<cl_long>(n).value(op).groups({static_cast<size_t>(count)}, {1});
    launch.value<cl_long>(count).value<cl_long>(n).value<cl_long>(inner).value(static_cast<cl_int>(x.dtype)).value(op);
    launch.items(count);
  }
};

oar_status_t prepare_softmax(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                             oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    want_dense(out_prepared, call, 0);
    finish(out_prepared, std::make_unique<Softmax>(pack, *call, *static_cast<const int*>(decl->user)));
  });
}

oar_status_t check_softmax(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                           oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  if (call->inputs[0]->n_dims > 0) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_RANK, 0, "it has no axis");
}

struct CrossEntropy final : Prepared {
  int64_t rows, n;
  bool backward;
  CrossEntropy(oar_pack_t* p, const oar_call_t& call, bool back) : Prepared(p), backward(back) {
    const oar_value_t& logits = *call.inputs[back ? 1 : 0];
    n = logits.shape[logits.n_dims - 1];
    rows = oar_kit_count(logits.n_dims - 1, logits.shape);
  }
  void launch(const oar_frame_t& f) const override {
    const auto dtype = static_cast<cl_int>(f.inputs[0]->dtype);
    if (backward) {
      Launch(f.stream, "softmax", "", "cross_entropy_gradient")
          .view(f.inputs[0])
          .view(f.inputs[1])
          .view(f.inputs[2])
          .view(f.outputs[0])
          .value<cl_long>(rows)
          .value<cl_long>(n)
          .value(dtype)
          .value<cl_int>(static_cast<cl_int>(f.inputs[2]->dtype))
          .items(rows * n);
      return;
    }
    const oar_view_t *out = f.outputs[0], *logs = f.n_outputs > 1 ? f.outputs[1] : nullptr;
    Launch(f.stream, "softmax", "", "cross_entropy")
        .view(f.inputs[0])
        .view(f.inputs[1])
        .view(out)
        .view(logs)
        .value<cl_long>(rows)
        .value<cl_long>(n)
        .value(dtype)
        .value<cl_int>(static_cast<cl_int>(f.inputs[1]->dtype))
        .value<cl_int>((out != nullptr ? 1 : 0) | (logs != nullptr ? 2 : 0))
        .fault()
        .value<cl_int>(kFaultCrossEntropy)
        .items(rows);
  }
};

template <bool kBackward>
oar_status_t prepare_cross_entropy(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                                   oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    for (uint32_t i = 0; i < call->n_inputs; ++i) want_dense(out_prepared, call, i);
    finish(out_prepared, std::make_unique<CrossEntropy>(pack, *call, kBackward));
  });
}

constexpr uint64_t kFloatsMask[] = {kFloats};
constexpr uint64_t kLabelsMask[] = {kFloats, kInts, kFloats};
constexpr uint64_t kGradientMask[] = {kFloats, kFloats, kInts, kFloats};
constexpr int kOps[] = {0, 1};
const oar_kernel_decl_t kDecls[] = {
    declare_prepared("softmax", kFloatsMask, prepare_softmax, &kOps[0], check_softmax),
    declare_prepared("log_softmax", kFloatsMask, prepare_softmax, &kOps[1], check_softmax),
    declare_prepared("cross_entropy", kLabelsMask, prepare_cross_entropy<false>, nullptr, check_plain),
    declare_prepared("cross_entropy_gradient", kGradientMask, prepare_cross_entropy<true>, nullptr, check_plain)};

}  // namespace

Declarations softmax_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
