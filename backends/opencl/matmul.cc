// Matrix products: any dtype and strides by one kernel, f32 by one for the kind of device.
#include "pack.h"

namespace oarlock::opencl {
namespace {

constexpr int64_t kRows = 8, kColumns = 32, kTile = 16;  // as in kernels/matmul.cl

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

struct Product final : Prepared {
  Geometry g;
  int64_t m, n, k, a[2], b[2], out[2];  // rows, columns, what is summed; strides of rows and columns
  bool wide = false, tiled = false;
  explicit Product(oar_pack_t* p) : Prepared(p) {}
  int64_t panels() const { return (n + kColumns - 1) / kColumns; }

  // The arguments that all products share; b of a packed one goes without strides.
  Launch& sizes(Launch& launch) const {
    launch.value(g).value<cl_long>(m).value<cl_long>(n).value<cl_long>(k).value<cl_long>(a[0]).value<cl_long>(a[1]);
    if (!wide) launch.value<cl_long>(b[0]).value<cl_long>(b[1]);
    return launch.value<cl_long>(out[0]);
  }
  void launch(const oar_frame_t& frame) const override {
    const oar_view_t &x = *frame.inputs[0], &y = *frame.inputs[1], &to = *frame.outputs[0];
    const auto dtype = static_cast<cl_int>(x.dtype);
    if (g.n == 0 || m == 0 || n == 0) return;
    const auto batch = static_cast<size_t>(g.n);
    if (wide) {
      Launch(frame.stream, "matmul", "", "pack")
          .view(&y)
          .span(frame.workspace)
          .value(g)
          .value<cl_long>(n)
          .value<cl_long>(k)
          .value<cl_long>(b[0])
          .value<cl_long>(b[1])
          .value(dtype)
          .items(g.n * panels() * k * kColumns);
      Launch product(frame.stream, "matmul", "", "product_wide");
      sizes(product.view(&x).span(frame.workspace).view(&to))
          .groups({static_cast<size_t>(panels()), static_cast<size_t>((m + kRows - 1) / kRows), batch}, {1, 1, 1});
      return;
    }
    Launch product(frame.stream, "matmul", "", tiled ? "product_tiled" : "product");
    sizes(product.view(&x).view(&y).view(&to));
    if (tiled) {
      const auto up = [](int64_t size) { return static_cast<size_t>((size + kTile - 1) / kTile * kTile); };
      return product.groups({up(n), up(m), batch}, {static_cast<size_t>(kTile), static_cast<size_t>(kTile), 1});
    }
    product.value<cl_long>(out[1]).value(dtype).items(g.n * m * n);
  }
};

oar_status_t prepare_matmul(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    const oar_value_t &a = *call->inputs[0], &b = *call->inputs[1], &out = *call->outputs[0];
    auto p = std::make_unique<Product>(pack);
    std::vector<int64_t> dense(out.n_dims);
    oar_kit_strides(out.n_dims, out.shape, dense.data());
    if (!batches(axes_of(a), axes_of(b), {out.n_dims, out.shape, dense.data()}, &p->g))
      throw kit::Refusal(OAR_REASON_LAYOUT, 0, "its batches lie in too many stretches of axes");
    p->m = out.shape[out.n_dims - 2], p->n = out.shape[out.n_dims - 1], p->k = a.shape[a.n_dims - 1];
    for (uint32_t i = 0; i < 2; ++i) {
      p->a[i] = a.strides[a.n_dims - 2 + i];
      p->b[i] = b.strides[b.n_dims - 2 + i];
      p->out[i] = dense[out.n_dims - 2 + i];
    }
    const bool f32 = a.dtype == OAR_DTYPE_F32 && p->k > 0 && p->g.n > 0;
    const bool large = f32 && p->m >= kRows && p->m * p->n * p->k >= pack->device->special_work;
    p->wide = large && pack->device->cpu_shaped;
    p->tiled = large && !pack->device->cpu_shaped;
    const int64_t bytes = p->wide ? p->g.n * p->panels() * kColumns * p->k * 4 : 0;
    finish(out_prepared, std::move(p), static_cast<uint64_t>(bytes));
  });
}

constexpr uint64_t kNumbersMask[] = {kNumeric};
const oar_kernel_decl_t kDecls[] = {declare_prepared("matmul", kNumbersMask, prepare_matmul, nullptr, check_matmul)};

}  // namespace

Declarations matmul_declarations() { return {kDecls, 1}; }

}  // namespace oarlock::opencl
