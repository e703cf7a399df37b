// Reductions over axes.
#include <algorithm>

#include "pack.h"

namespace oarlock::opencl {
namespace {

// `reduction` of kernels/reduce.cl.
struct Reduction {
  int64_t outer = 1, inner = 1, parts = 1, stretch = 0;
  int32_t outer_rank = 0, inner_rank = 0;
  int64_t outer_shape[kMaxAxes] = {}, outer_x[kMaxAxes] = {}, inner_shape[kMaxAxes] = {}, inner_x[kMaxAxes] = {};
};

// Splits x's axes into those that stay and those that are folded, merged where they lie together.
bool split(const Axes& x, const bool* reduced, Reduction* out) {
  Reduction r;
  for (uint32_t d = 0; d < x.rank; ++d) {
    (reduced[d] ? r.inner : r.outer) *= x.shape[d];
    if (x.shape[d] == 1) continue;
    int32_t& rank = reduced[d] ? r.inner_rank : r.outer_rank;
    int64_t* shape = reduced[d] ? r.inner_shape : r.outer_shape;
    int64_t* stride = reduced[d] ? r.inner_x : r.outer_x;
    if (rank > 0 && stride[rank - 1] == x.strides[d] * x.shape[d]) {
      shape[rank - 1] *= x.shape[d];
      stride[rank - 1] = x.strides[d];
      continue;
    }
    if (rank == kMaxAxes) return false;
    shape[rank] = x.shape[d];
    stride[rank++] = x.strides[d];
  }
  r.stretch = r.inner;
  *out = r;
  return true;
}

bool split_call(const oar_call_t& call, const Axes& x, Reduction* out) {
  bool reduced[64];
  if (x.rank > 64) return false;
  const oar_attr_t* axes = oar_kit_attr(&call, 0, OAR_ATTR_INTS);
  std::fill(reduced, reduced + 64, axes == nullptr);
  for (uint64_t i = 0; axes != nullptr && i < axes->count; ++i) {
    const int64_t axis = axes->value.ints[i];
    reduced[axis < 0 ? axis + x.rank : axis] = true;
  }
  return split(x, reduced, out);
}

// Few results of many elements are folded in parts, so that every unit has work.
void divide(const oar_device_t& device, Reduction* r) {
  const int64_t wanted = static_cast<int64_t>(device.listed->units) * (device.cpu_shaped ? 512 : 1024);
  if (r->outer == 0 || r->outer >= wanted / 2 || r->inner < 4096) return;
  r->parts = std::min(wanted / r->outer, r->inner / 512);
  r->stretch = (r->inner + r->parts - 1) / r->parts;
  r->parts = (r->inner + r->stretch - 1) / r->stretch;
}

struct State {
  oar_pack_t* pack;
  Reduction r;
  int op;
};

oar_status_t check_reduce(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  Reduction r;
  if (split_call(*call, axes_of(*call->inputs[0]), &r)) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "it lies in more than %d stretches of axes", kMaxAxes);
}

oar_status_t prepare_reduce(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    auto state = std::make_unique<State>(State{pack, {}, *static_cast<const int*>(decl->user)});
    split_call(*call, axes_of(*call->inputs[0]), &state->r);
    divide(*pack->device, &state->r);
    if (state->r.parts > 1) {
      out_prepared->workspace_bytes = static_cast<uint64_t>(state->r.outer * state->r.parts) * 8;
      out_prepared->workspace_alignment = 64;
    }
    out_prepared->state = state.release();
  });
}

oar_status_t launch_reduce(void* context, const oar_frame_t* frame) {
  const auto& state = *static_cast<const State*>(context);
  return kit::guard(state.pack->host, [&] {
    const oar_view_t &x = *frame->inputs[0], &out = *frame->outputs[0];
    const auto dtype = static_cast<cl_int>(x.dtype);
    const Reduction& r = state.r;
    const oar_span_t to = r.parts > 1 ? frame->workspace : span_of(out);
    Launch(frame->stream, "reduce", "", "reduce")
        .view(&x)
        .span(to)
        .value(r)
        .value<cl_int>(state.op)
        .value(dtype)
        .items(r.outer * r.parts);
    if (r.parts == 1) return;
    Launch(frame->stream, "reduce", "", "reduce_parts")
        .span(to)
        .view(&out)
        .value<cl_long>(r.outer)
        .value<cl_long>(r.parts)
        .value<cl_int>(state.op)
        .value(dtype)
        .items(r.outer);
  });
}

void release_reduce(void* state) { delete static_cast<State*>(state); }

bool split_argmax(const oar_call_t& call, const Axes& x, Reduction* out) {
  bool reduced[64];
  int64_t axis = 0;
  if (x.rank > 64) return false;
  const bool one = oar_kit_attr_int(&call, 0, &axis);
  std::fill(reduced, reduced + 64, !one);
  if (one) reduced[axis < 0 ? axis + x.rank : axis] = true;
  return split(x, reduced, out);
}

oar_status_t check_argmax(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  Reduction r;
  if (split_argmax(*call, axes_of(*call->inputs[0]), &r)) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "it lies in more than %d stretches of axes", kMaxAxes);
}

oar_status_t run_argmax(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_frame_t* frame) {
  return kit::guard(pack->host, [&] {
    const oar_view_t& x = *frame->inputs[0];
    Reduction r;
    if (!split_argmax(*frame->call, axes_of(x), &r))
      throw kit::Error(OAR_INVALID_ARGUMENT, "argmax: unchecked strides");
    Launch(frame->stream, "reduce", "", "argmax")
        .view(&x)
        .view(frame->outputs[0])
        .value(r)
        .value<cl_int>(static_cast<cl_int>(x.dtype))
        .items(r.outer);
  });
}

constexpr uint64_t kNumbersMask[] = {kNumeric};
constexpr uint64_t kPlaceMask[] = {kNumeric, kI64};
constexpr int kOps[] = {0, 1, 2};

constexpr oar_kernel_decl_t declare_reduce(const char* op, const int* which, uint32_t line = __builtin_LINE()) {
  oar_kernel_decl_t decl = declare(op, kNumbersMask, nullptr, which, check_reduce);
  decl.flags &= ~static_cast<uint32_t>(OAR_KERNEL_ANY_SHAPE);
  decl.prepare = prepare_reduce;
  decl.launch = launch_reduce;
  decl.release = release_reduce;
  decl.source_line = line;
  return decl;
}

const oar_kernel_decl_t kDecls[] = {declare_reduce("sum", &kOps[0]), declare_reduce("max", &kOps[1]),
                                    declare_reduce("product", &kOps[2]),
                                    declare("argmax", kPlaceMask, run_argmax, nullptr, check_argmax)};

}  // namespace

Declarations reduce_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
