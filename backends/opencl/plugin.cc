// Devices with an OpenCL 1.2 driver, and their kernels.
#include "pack.h"

namespace oarlock::opencl {

oar_status_t check_plain(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict) {
  if (call->n_epilogue != 0) return oar_kit_refuse(out_verdict, OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
  for (uint32_t i = 0; i < call->n_inputs + call->n_outputs; ++i) {
    const oar_value_t* value = oar_kit_operand(call, i);
    if (value == nullptr) continue;
    if (value->layout >= OAR_LAYOUT_OPAQUE)
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "operands must be strided");
    if (i >= call->n_inputs && !oar_kit_value_contiguous(value))
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "results must be contiguous");
  }
  return OAR_OK;
}

oar_status_t check_dense(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                         oar_verdict_t* out_verdict) {
  const oar_status_t plain = check_plain(pack, decl, call, out_verdict);
  return plain != OAR_OK ? plain : oar_kit_check_contiguous(call, out_verdict);
}

oar_status_t check_walk(oar_pack_t* pack, const oar_kernel_decl_t* decl, const oar_call_t* call,
                        oar_verdict_t* out_verdict) {
  const oar_status_t plain = check_plain(pack, decl, call, out_verdict);
  if (plain != OAR_OK) return plain;
  const oar_value_t& out = *call->outputs[0];
  Geometry g;
  const Axes o = axes_of(out), a = call->n_inputs > 0 ? axes_of(*call->inputs[0]) : o;
  const Axes b = call->n_inputs > 1 ? axes_of(*call->inputs[1]) : o,
             c = call->n_inputs > 2 ? axes_of(*call->inputs[2]) : o;
  if (make_geometry(out.n_dims, out.shape, {a, b, c, o}, true, &g)) return OAR_OK;
  return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, 0, "its operands lie in more than %d stretches of axes",
                        kMaxAxes);
}

oar_status_t launch_prepared(void* state, const oar_frame_t* frame) {
  const auto& prepared = *static_cast<const Prepared*>(state);
  return kit::guard(prepared.pack->host, [&] { prepared.launch(*frame); });
}

void release_prepared(void* state) { delete static_cast<Prepared*>(state); }

void finish(oar_prepared_t* out_prepared, std::unique_ptr<Prepared> state, uint64_t workspace_bytes) {
  out_prepared->workspace_bytes = workspace_bytes;
  out_prepared->workspace_alignment = workspace_bytes != 0 ? 64 : 0;
  out_prepared->state = state.release();
}

void want_dense(oar_prepared_t* out_prepared, const oar_call_t* call, uint32_t i) {
  const oar_value_t* value = call->inputs[i];
  if (value == nullptr || oar_kit_value_contiguous(value)) return;
  out_prepared->inputs[i]->layout = OAR_LAYOUT_STRIDED;
  oar_kit_strides(value->n_dims, value->shape, out_prepared->inputs[i]->strides);
}

Geometry walk_of(const oar_view_t& shape, std::initializer_list<Axes> operands, bool merge) {
  Geometry g;
  if (!make_geometry(static_cast<uint32_t>(shape.n_dims), shape.shape, operands, merge, &g))
    throw kit::Error(OAR_INVALID_ARGUMENT, "opencl: a launch of other strides than were checked");
  return g;
}

namespace {

struct Lists {
  std::vector<const oar_kernel_decl_t*> all, without_f64;
  std::deque<oar_kernel_decl_t> decls;
  std::deque<std::vector<uint64_t>> masks;
};

const Lists& lists() {
  static const Lists* made = [] {
    auto* l = new Lists;
    for (const Declarations& family :
         {element_declarations(), move_declarations(), reduce_declarations(), scan_declarations(), sort_declarations(),
          resize_declarations(), index_declarations(), matmul_declarations(), conv_declarations(), norm_declarations(),
          softmax_declarations(), pool_declarations(), optimise_declarations()})
      for (size_t i = 0; i < family.count; ++i) {
        const oar_kernel_decl_t& decl = family.decls[i];
        l->all.push_back(&decl);
        std::vector<uint64_t>& masks = l->masks.emplace_back(decl.dtypes, decl.dtypes + decl.n_masks);
        if (decl.dtypes[0] != kWhole)  // what only moves needs no arithmetic
          for (size_t k = 0; k < masks.size(); ++k)
            if ((decl.host_inputs >> k & 1) == 0) masks[k] &= ~kF64;
        // In float alone these lose their digits below 0.
        if (oar_kit_str_is(decl.op, "digamma") || oar_kit_str_is(decl.op, "polygamma")) continue;
        oar_kernel_decl_t& plain = l->decls.emplace_back(decl);
        plain.dtypes = masks.data();
        l->without_f64.push_back(&plain);
      }
    return l;
  }();
  return *made;
}

oar_status_t pack_open(const oar_host_t* host, const oar_device_ref_t* ref, const oar_options_t* options,
                       oar_pack_t** out_pack) {
  if (ref->device == nullptr || ref->info == nullptr || kit::view(ref->info->kind) != "opencl") return OAR_REFUSED;
  if (const oar_status_t status = oar_kit_options_check(host, options); status != OAR_OK) return status;
  return kit::guard(host, [&] { *out_pack = new oar_pack{host, ref->device}; });
}

void pack_close(oar_pack_t* pack) { delete pack; }

oar_status_t declarations(oar_pack_t* pack, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  return kit::guard(pack != nullptr ? pack->host : nullptr, [&] {
    const auto& list = pack != nullptr && !pack->device->has_f64 ? lists().without_f64 : lists().all;
    *out_n = static_cast<uint32_t>(list.size());
    *out_decls = list.data();
  });
}

constexpr oar_pack_table_t kPackTable = {
    sizeof(oar_pack_table_t), OAR_PACK_VERSION, pack_open, pack_close, nullptr, nullptr};
constexpr oar_kernel_table_t kKernelTable = {sizeof(oar_kernel_table_t), OAR_KERNEL_VERSION, declarations, nullptr};

}  // namespace
}  // namespace oarlock::opencl

OAR_KIT_PLUGIN("opencl", "Oarlock", "0.1.0", {OAR_TABLE_DEVICE, &oarlock::opencl::kDeviceTable},
               {OAR_TABLE_MEMORY, &oarlock::opencl::kMemoryTable}, {OAR_TABLE_STREAM, &oarlock::opencl::kStreamTable},
               {OAR_TABLE_PACK, &oarlock::opencl::kPackTable}, {OAR_TABLE_KERNEL, &oarlock::opencl::kKernelTable})
