// oneDNN for the host CPU: matrix products with fused steps. Works with 2.6 and 3.x.
//
// oneDNN's elementwise ops and softmax are not offered: the simd pack is as fast, and oneDNN's relu and exp lose NaN
// while its log is off by 17 ulp.
#include "pack.h"

namespace oarlock::onednn {
namespace {

oar_status_t pack_open(const oar_host_t* host, const oar_device_ref_t* device, const oar_options_t*,
                       oar_pack_t** out_pack) {
  if (device->info == nullptr || kit::view(device->info->kind) != "cpu") return OAR_REFUSED;
  return kit::guard(host, [&] { *out_pack = new oar_pack{host, dnnl::engine(dnnl::engine::kind::cpu, 0)}; });
}

void pack_close(oar_pack_t* pack) { delete pack; }

const oar_kernel_decl_t* const kDecls[] = {&matmul_decl};

oar_status_t declarations(oar_pack_t*, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  *out_n = sizeof(kDecls) / sizeof(kDecls[0]);
  *out_decls = kDecls;
  return OAR_OK;
}

constexpr oar_pack_table_t kPackTable = {
    sizeof(oar_pack_table_t), OAR_PACK_VERSION, pack_open, pack_close, nullptr, nullptr};
constexpr oar_kernel_table_t kKernelTable = {sizeof(oar_kernel_table_t), OAR_KERNEL_VERSION, declarations, nullptr};

}  // namespace
}  // namespace oarlock::onednn

OAR_KIT_PLUGIN("onednn", "Oarlock", "0.1.0", {OAR_TABLE_PACK, &oarlock::onednn::kPackTable},
               {OAR_TABLE_KERNEL, &oarlock::onednn::kKernelTable})
