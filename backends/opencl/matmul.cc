// Matrix products: any dtype and strides by one kernel, f32 by one for the kind of device.
#include "pack.h"

namespace oarlock::opencl {
namespace {

constexpr int64_t kRows = 8, kColumns = 32, kTile = 16;  // as in kernels/matmul.cl

struct State {
  oar_pack_t* pack;
  bool wide, tiled;
};

// The axes before the matrix.
Axes batch_of(const Axes& a) { return {a.rank - 2, a.shape, a.strides}; }

bool batches(const Axes& a, const Axes& b, const Axes& out, Geometry* g) {
  return make_geometry(out.rank - 2, out.shape, {batch_of(a), batch_of(b), batch_of(out)}, true, g);
}

oar_status_t check_matmul(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                          oar_verdict_t* out_verdict) {
  if (const oar_status_t plain = check_plain(pack, decl, call, out_verdict); plain != OAR_OK) return plain;
  Geometry g;
  if (batches(axes_of(*call->inputs[0]), axes_of(*call->inputs[1]), axes_of(*call->outputs[0]), &g)) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "its batches lie in more than %d stretches of axes",
                        kMaxAxes);
}

oar_status_t prepare_matmul(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t &a = *call->inputs[0], &out = *call->outputs[0];
    const int64_t m = out.shape[out.n_dims - 2], n = out.shape[out.n_dims - 1], k = a.shape[a.n_dims - 1];
    const int64_t batch = oar_kit_count(out.n_dims - 2, out.shape);
    const bool f32 = a.dtype == OAR_DTYPE_F32 && k > 0 && batch > 0;
    const bool large = f32 && m >= kRows && m * n * k >= 32768;
    const bool cpu = pack->device->listed->is_cpu;
    auto state = std::make_unique<State>(State{pack, large && cpu, large && !cpu});
    if (state->wide) {
      out_prepared->workspace_bytes =
          static_cast<uint64_t>(batch * ((n + kColumns - 1) / kColumns) * kColumns * k) * sizeof(float);
      out_prepared->workspace_alignment = 64;
    }
    out_prepared->state = state.release();
  });
}

oar_status_t launch_matmul(void* context, const oar_frame_t* frame) {
  const auto& state = *static_cast<const State*>(context);
  return kit::guard(state.pack->host, [&] {
    const oar_view_t &a = *frame->inputs[0], &b = *frame->inputs[1], &out = *frame->outputs[0];
    const int ra = a.n_dims, rb = b.n_dims, ro = out.n_dims;
    const int64_t m = out.shape[ro - 2], n = out.shape[ro - 1], k = a.shape[ra - 1];
    const auto dtype = static_cast<cl_int>(a.dtype);
    Geometry g;
    if (!batches(axes_of(a), axes_of(b), axes_of(out), &g))
      throw kit::Error(OAR_INVALID_ARGUMENT, "matmul: a launch of other strides than were checked");
    if (g.n == 0 || m == 0 || n == 0) return;
    if (state.wide) {
      const int64_t panels = (n + kColumns - 1) / kColumns;
      Launch(frame->stream, "matmul", "", "pack")
          .view(&b)
          .span(frame->workspace)
          .value(g)
          .value<cl_long>(n)
          .value<cl_long>(k)
          .value<cl_long>(b.strides[rb - 2])
          .value<cl_long>(b.strides[rb - 1])
          .value(dtype)
          .items(g.n * panels * k * kColumns);
      Launch(frame->stream, "matmul", "", "product_wide")
          .view(&a)
          .span(frame->workspace)
          .view(&out)
          .value(g)
          .value<cl_long>(m)
          .value<cl_long>(n)
          .value<cl_long>(k)
          .value<cl_long>(a.strides[ra - 2])
          .value<cl_long>(a.strides[ra - 1])
          .value<cl_long>(out.strides[ro - 2])
          .groups({static_cast<size_t>(panels), static_cast<size_t>((m + kRows - 1) / kRows), static_cast<size_t>(g.n)},
                  {1, 1, 1});
      return;
    }
    Launch launch(frame->stream, "matmul", "", state.tiled ? "product_tiled" : "product");
    launch.view(&a)
        .view(&b)
        .view(&out)
        .value(g)
        .value<cl_long>(m)
        .value<cl_long>(n)
        .value<cl_long>(k)
        .value<cl_long>(a.strides[ra - 2])
        .value<cl_long>(a.strides[ra - 1])
        .value<cl_long>(b.strides[rb - 2])
        .value<cl_long>(b.strides[rb - 1])
        .value<cl_long>(out.strides[ro - 2]);
    if (state.tiled) {
      const auto up = [](int64_t size) { return static_cast<size_t>((size + kTile - 1) / kTile * kTile); };
      return launch.groups({up(n), up(m), static_cast<size_t>(g.n)},
                           {static_cast<size_t>(kTile), static_cast<size_t>(kTile), 1});
    }
    launch.value<cl_long>(out.strides[ro - 1]).value(dtype).items(g.n * m * n);
  });
}

void release_matmul(void* state) { delete static_cast<State*>(state); }

constexpr uint64_t kNumbersMask[] = {kNumeric};

constexpr oar_kernel_decl_t declare_matmul() {
  oar_kernel_decl_t decl = declare("matmul", kNumbersMask, nullptr, nullptr, check_matmul);
  decl.flags &= ~static_cast<uint32_t>(OAR_KERNEL_ANY_SHAPE);
  decl.prepare = prepare_matmul;
  decl.launch = launch_matmul;
  decl.release = release_matmul;
  return decl;
}
const oar_kernel_decl_t kDecls[] = {declare_matmul()};

}  // namespace

Declarations matmul_declarations() { return {kDecls, 1}; }

}  // namespace oarlock::opencl
