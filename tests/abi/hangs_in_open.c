/* A device that is listed, and whose open never returns. */
#include <unistd.h>

#include "base_device.h"
#include "base_pack.h"

static oar_status_t OAR_CALL hanging_open(const oar_host_t* host, uint32_t index, const oar_options_t* options,
                                          oar_device_t** out_device) {
  (void)host, (void)index, (void)options, (void)out_device;
  while (pause() == -1) {}
  return OAR_INTERNAL;
}

BASE_PACK(base_run);
BASE_DEVICE(hanging_open, base_alloc);
OAR_KIT_PLUGIN("hangs_in_open", "Oarlock tests", "1.0", BASE_DEVICE_TABLES, BASE_PACK_TABLES)
