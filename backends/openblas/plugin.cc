// OpenBLAS for the host CPU: matrix products of f32 and f64. Each kernel's file lists it.
#include <cblas.h>
#include <omp.h>

#include "pack.h"

namespace oarlock::openblas {

ThreadLimit::ThreadLimit(int most) {
  const int now = omp_get_max_threads();
  if (most < 1 || most >= now) return;
  before_ = now;
  omp_set_num_threads(most);
}
ThreadLimit::~ThreadLimit() {
  if (before_ != 0) omp_set_num_threads(before_);
}

namespace {

oar_status_t pack_open(const oar_host_t* host, const oar_device_ref_t* device, const oar_options_t*,
                       oar_pack_t** out_pack) {
  if (device->info == nullptr || kit::view(device->info->kind) != "cpu") return OAR_REFUSED;
  return kit::guard(host, [&] {
    // One with threads of its own, which may be what the loader found, knows no limit by call.
    if (openblas_get_parallel() == OPENBLAS_THREAD) openblas_set_num_threads(1);
    *out_pack = new oar_pack{host};
  });
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
}  // namespace oarlock::openblas

OAR_KIT_PLUGIN("openblas", "Oarlock", "0.1.0", {OAR_TABLE_PACK, &oarlock::openblas::kPackTable},
               {OAR_TABLE_KERNEL, &oarlock::openblas::kKernelTable})
