/* @NAME@ - kernels for the host CPU. The kernels are in kernels.@EXT@; README.md says what comes next. */
#include "kit_pack.h"

OAR_KIT_PACK("cpu"); /* the kind of device served: "cpu", "cuda", "opencl", ... */
OAR_KIT_PLUGIN("@NAME@", "@NAME@", "0.1.0", OAR_KIT_PACK_TABLES)
