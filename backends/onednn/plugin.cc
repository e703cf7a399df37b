// oneDNN for the host CPU: matrix products and convolutions with fused steps, and the elementwise functions that it gets
// right. Works with 2.6 and 3.x. Each kernel's file lists it.
#include "pack.h"

namespace oarlock::onednn {
namespace {

oar_status_t pack_open(const oar_host_t* host, const oar_device_ref_t* device, const oar_options_t*,
                       oar_pack_t** out_pack) {
  if (device->info == nullptr || kit::view(device->info->kind) != "cpu") return OAR_REFUSED;
  return kit::guard(
      host, [&] { *out_pack = new oar_pack{.host = host, .engine = dnnl::engine(dnnl::engine::kind::cpu, 0)}; });
}

void pack_close(oar_pack_t* pack) { delete pack; }

oar_status_t declarations(oar_pack_t*, uint32_t* out_n, const oar_kernel_decl_t* const** out_decls) {
  *out_decls = oar_kit_listed(out_n);
  return OAR_OK;
}

constexpr oar_pack_table_t kPackTable = {
    sizeof(oar_pack_table_t), OAR_PACK_VERSION, pack_open, pack_close, nullptr, nullptr};
constexpr oar_kernel_table_t kKernelTable = {sizeof(oar_kernel_table_t), OAR_KERNEL_VERSION, declarations, nullptr};

}  // namespace
}  // namespace oarlock::onednn

OAR_KIT_PLUGIN("onednn", "Oarlock", "0.1.0", {OAR_TABLE_PACK, &oarlock::onednn::kPackTable},
               {OAR_TABLE_KERNEL, &oarlock::onednn::kKernelTable})
