// Kernels for the host CPU on Google Highway, chosen at run time for AVX-512, AVX2 or anything else. Dense, broadcast
// and strided operands of every elementwise op, reductions, softmax, losses, small matrix products.
#include <algorithm>
#include <vector>

#include <hwy/highway.h>

#include <kit_list.h>

#include "pack.h"

namespace oarlock::simd {

oar_status_t fail(oar_pack_t* pack, oar_status_t status, const char* text) {
  return oar_kit_error(pack->host, status, 0, "%s", text);
}

void parallel(oar_pack_t* pack, int64_t n, int64_t grain, Body body, void* context) {
  if (n <= grain) body(context, 0, n);
  else pack->host->parallel_for(pack->host, n, grain, body, context);
}

oar_status_t check_plain(oar_pack_t*, const oar_kernel_decl_t*, const oar_call_t* call, oar_verdict_t* out_verdict) {
  if (call->n_epilogue != 0) return oar_kit_refuse(out_verdict, OAR_REASON_EPILOGUE, -1, "this kernel fuses nothing");
  for (uint32_t i = 0; i < call->n_inputs + call->n_outputs; ++i) {
    const oar_value_t* value = oar_kit_operand(call, i);
    if (value == nullptr) continue;
    if (value->layout >= OAR_LAYOUT_OPAQUE)
      return oar_kit_refuse(out_verdict, OAR_REASON_LAYOUT, static_cast<int>(i), "operands must be strided");
    if (value->n_dims > kMaxRank)
      return oar_kit_refuse(out_verdict, OAR_REASON_RANK, i, "at most %d dimensions, not %u", kMaxRank, value->n_dims);
  }
  return OAR_OK;
}

namespace {

oar_status_t pack_open(const oar_host_t* host, const oar_device_ref_t* device, const oar_options_t*,
                       oar_pack_t** out_pack) {
  if (device->info == nullptr || kit::view(device->info->kind) != "cpu") return OAR_REFUSED;
  return kit::guard(host, [&] {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    auto* pack = new oar_pack{host, {}};
    for (auto* fill : {arithmetic_fill, integer_fill, transcendental_fill, select_fill, cast_fill, reduce_fill,
                       softmax_fill, matmul_fill, update_fill, pool_fill, optimise_fill, activation_fill,
                       layer_norm_fill, attention_fill, loss_fill})
      fill(&pack->kernels);
    *out_pack = pack;
  });
}

void pack_close(oar_pack_t* pack) { delete pack; }

const std::vector<const oar_kernel_decl_t*>& all_declarations() {
  static const std::vector<const oar_kernel_decl_t*> all = [] {
    std::vector<const oar_kernel_decl_t*> list;
    for (const Declarations& family :
         {element_declarations(), move_declarations(), reduce_declarations(), softmax_declarations(),
          matmul_declarations(), update_declarations(), pool_declarations(), optimise_declarations(),
          argmax_declarations(), layer_norm_declarations(), attention_declarations(), index_declarations(),
          loss_declarations()})
      for (size_t i = 0; i < family.count; ++i) list.push_back(&family.decls[i]);
    uint32_t n = 0;  // and those of files that list themselves
    const oar_kernel_decl_t* const* listed = oar_kit_listed(&n);
    list.insert(list.end(), listed, listed + n);
    return list;
  }();
  return all;
}

oar_status_t declarations(oar_pack_t* pack, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  return kit::guard(pack != nullptr ? pack->host : nullptr, [&] {
    *out_n = static_cast<uint32_t>(all_declarations().size());
    *out_decls = all_declarations().data();
  });
}

constexpr oar_pack_table_t kPackTable = {
    sizeof(oar_pack_table_t), OAR_PACK_VERSION, pack_open, pack_close, nullptr, nullptr};
constexpr oar_kernel_table_t kKernelTable = {sizeof(oar_kernel_table_t), OAR_KERNEL_VERSION, declarations, nullptr};

}  // namespace
}  // namespace oarlock::simd

OAR_KIT_PLUGIN("simd", "Oarlock", "0.1.0", {OAR_TABLE_PACK, &oarlock::simd::kPackTable},
               {OAR_TABLE_KERNEL, &oarlock::simd::kKernelTable})
