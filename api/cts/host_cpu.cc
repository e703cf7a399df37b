#include "api/cts/host_cpu.h"

namespace oarlock::cts {

const oar_device_info_t& host_cpu() {
  static const oar_space_info_t space{sizeof(oar_space_info_t), OAR_SPACE_ADDRESSABLE | OAR_SPACE_HOST_ACCESS,
                                      OAR_STR("ram"), 0, 64};
  static const oar_space_info_t* const spaces[] = {&space};
  static const oar_device_info_t cpu{.struct_size = sizeof(oar_device_info_t),
                                     .dlpack_kind = 1,
                                     .kind = OAR_STR("cpu"),
                                     .name = OAR_STR("host CPU"),
                                     .uuid = OAR_STR("cpu"),
                                     .pci_address = {},
                                     .n_spaces = 1,
                                     .n_queues = 1,
                                     .spaces = spaces,
                                     .storage_dtypes = kKnownDtypes,
                                     .compute_dtypes = kKnownDtypes};
  return cpu;
}

}  // namespace oarlock::cts
