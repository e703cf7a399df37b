// resize and its gradient, axis by axis; what stands between the axes is kept in the widest float there is.
#include <algorithm>

#include "pack.h"

namespace oarlock::opencl {
namespace {

// `manner` of kernels/resize.cl.
struct Manner {
  int32_t mode, coordinates, rounding, reserved = 0;
};

int place_in(std::string_view name, std::initializer_list<std::string_view> all) {
  int i = 0;
  for (const std::string_view one : all) {
    if (one == name) return i;
    ++i;
  }
  throw kit::Error(OAR_INVALID_ARGUMENT, "resize: there is no '" + std::string(name) + "'");
}

struct Resize final : Prepared {
  struct Pass {
    int64_t count, n, to, inner;
  };
  Manner manner;
  bool back;
  std::vector<Pass> passes;
  uint64_t room = 0;  // bytes of one of the two halves of the workspace
  cl_int between;
  Resize(oar_pack_t* p, const oar_call_t& call, bool b) : Prepared(p), back(b) {
    const oar_value_t &in = *call.inputs[0], &out = *call.outputs[0];
    manner.mode = place_in(kit::attr_string(call, 1), {"nearest", "linear", "cubic"});
    manner.coordinates =
        place_in(kit::attr_string(call, 2), {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"});
    manner.rounding = place_in(kit::attr_string(call, 3), {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
    between = p->device->has_f64 ? OAR_DTYPE_F64 : OAR_DTYPE_F32;
    std::vector<int64_t> shape(in.shape, in.shape + in.n_dims);
    for (uint32_t d = 2; d < in.n_dims; ++d) {
      if (in.shape[d] == out.shape[d]) continue;  // of equal sizes every element reads itself
      shape[d] = out.shape[d];
      const int64_t inner = oar_kit_count(in.n_dims - d - 1, shape.data() + d + 1);
      passes.push_back({oar_kit_count(in.n_dims, shape.data()), back ? out.shape[d] : in.shape[d],
                        back ? in.shape[d] : out.shape[d], inner});
    }
    if (passes.empty()) passes.push_back({oar_kit_count(in.n_dims, in.shape), 1, 1, 1});
    for (size_t i = 0; i + 1 < passes.size(); ++i)
      room = std::max(room, (static_cast<uint64_t>(passes[i].count) * 8 + 63) / 64 * 64);
  }
  void launch(const oar_frame_t& f) const override {
    const oar_view_t &in = *f.inputs[0], &out = *f.outputs[0];
    for (size_t i = 0; i < passes.size(); ++i) {
      const Pass& p = passes[i];
      const bool last = i + 1 == passes.size();
      Launch launch(f.stream, "resize", "", back ? "resize_back" : "resize_axis");
      if (i == 0) launch.view(&in);
      else launch.span(f.workspace, (i - 1) % 2 * room);
      if (last) launch.view(&out);
      else launch.span(f.workspace, i % 2 * room);
      launch.value<cl_long>(p.count).value<cl_long>(p.n).value<cl_long>(p.to).value<cl_long>(p.inner).value(manner);
      launch.value<cl_int>(i == 0 ? static_cast<cl_int>(in.dtype) : between)
          .value<cl_int>(last ? static_cast<cl_int>(out.dtype) : between)
          .items(p.count);
    }
  }
};

template <bool kBack>
oar_status_t prepare_resize(oar_pack_t* pack, const oar_kernel_decl_t*, const oar_call_t* call,
                            oar_prepared_t* out_prepared) {
  return kit::guard(pack->host, out_prepared->verdict, [&] {
    want_dense(out_prepared, call, 0);
    auto state = std::make_unique<Resize>(pack, *call, kBack);
    const uint64_t bytes = 2 * state->room;
    finish(out_prepared, std::move(state), bytes);
  });
}

constexpr uint64_t kFloatsMask[] = {kFloats};
const oar_kernel_decl_t kDecls[] = {
    declare_prepared("resize", kFloatsMask, prepare_resize<false>, nullptr, check_plain),
    declare_prepared("resize_gradient", kFloatsMask, prepare_resize<true>, nullptr, check_plain)};

}  // namespace

Declarations resize_declarations() { return {kDecls, sizeof(kDecls) / sizeof(kDecls[0])}; }

}  // namespace oarlock::opencl
