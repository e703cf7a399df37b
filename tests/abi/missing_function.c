/* A device whose memory table has no alloc. */
#include "base_device.h"
#include "base_pack.h"

BASE_PACK(base_run);
BASE_DEVICE(base_open, NULL);
OAR_KIT_PLUGIN("missing_function", "Oarlock tests", "1.0", BASE_DEVICE_TABLES, BASE_PACK_TABLES)
